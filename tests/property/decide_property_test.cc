// `decide` against a naive model. Random commands over few users and holds, cut into random batches, with random folds
// and passing time in between, give the answers of a model that does one command at a time and sums everything anew.
// At every moment the contract's formula of what is available (from what folds have consumed) says the same as the
// model's (from what was captured).
#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/decide.h"
#include "core/request.h"

namespace kudos {
namespace {

constexpr int kUsers = 3, kHolds = 3, kKeys = 4;
constexpr std::int64_t kSecond = 1'000'000;

UserRef user(int i) { return UserRef::number({i + 1}); }
std::string hold_id(int i) { return "h" + std::to_string(i); }

// What happens: a command, or time passes, or everything is folded.
struct Happening {
  enum Kind { reserve, extend, release, capture, transfer, charge, credit, fold, time, sweep } kind = time;
  int user = 0, other = 0, hold = 0, key = -1;
  std::int64_t amount = 1;
  bool a = false, b = false, c = false;
  bool ends_batch = false;
};

rc::Gen<Happening> a_happening() {
  return rc::gen::build<Happening>(
      rc::gen::set(&Happening::kind, rc::gen::weightedElement<Happening::Kind>({{4, Happening::reserve},
                                                                                {2, Happening::extend},
                                                                                {2, Happening::release},
                                                                                {5, Happening::capture},
                                                                                {4, Happening::transfer},
                                                                                {3, Happening::charge},
                                                                                {2, Happening::credit},
                                                                                {2, Happening::fold},
                                                                                {2, Happening::time},
                                                                                {1, Happening::sweep}})),
      rc::gen::set(&Happening::user, rc::gen::inRange(0, kUsers)),
      rc::gen::set(&Happening::other, rc::gen::inRange(0, kUsers)),
      rc::gen::set(&Happening::hold, rc::gen::inRange(0, kHolds)),
      rc::gen::set(&Happening::key, rc::gen::inRange(-kKeys, kKeys)),
      rc::gen::set(&Happening::amount, rc::gen::inRange<std::int64_t>(1, 60)),
      rc::gen::set(&Happening::a, rc::gen::arbitrary<bool>()), rc::gen::set(&Happening::b, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Happening::c, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Happening::ends_batch, rc::gen::arbitrary<bool>()));
}

std::optional<Command> command_of(const Happening& h) {
  const auto lifetime = h.c ? std::optional(std::chrono::seconds(1 + h.amount % 5)) : std::nullopt;
  std::optional<Command> command;
  switch (h.kind) {
    case Happening::reserve:
      command = Reserve{user(h.user), Amount::whole(h.amount), hold_id(h.hold), lifetime, {}};
      break;
    case Happening::extend:
      command = Extend{hold_id(h.hold),
                       h.a ? std::optional(Amount::whole(h.amount)) : std::nullopt,
                       h.a ? lifetime : std::chrono::seconds(3),
                       {}};
      break;
    case Happening::release:
      command = Release{hold_id(h.hold), {}};
      break;
    case Happening::capture:
      command = Capture{hold_id(h.hold), Amount::whole(h.amount), h.a, h.b, h.c, {}, {}, {}};
      break;
    case Happening::transfer:
      command = Transfer{user(h.user), user(h.other), Amount::whole(h.amount), {}};
      break;
    case Happening::charge:
      command = Charge{user(h.user), Amount::whole(h.amount), {}, {}, h.a ? hold_id(h.hold) : "", h.b && !h.a, {}};
      break;
    case Happening::credit:
      command = TopUp{user(h.user), Amount::whole(h.amount), {}};
      break;
    default:
      return std::nullopt;
  }
  if (h.key >= 0) std::visit([&](auto& each) { each.options.key = {"p", std::to_string(h.key)}; }, *command);
  return command;
}

// The naive model: plain integers, everything summed anew for each question.
struct Model {
  struct HoldRow {
    int payer;
    std::int64_t original, captured = 0;
    std::string state = "active";
    std::optional<std::int64_t> expires;
  };

  std::int64_t now = 1000 * kSecond;
  std::map<int, std::int64_t> balance, queued_debits, queued_credits;
  std::map<int, std::vector<HoldRow>> holds;  // by id, the last is the present one
  std::map<std::string, std::string> keys;    // kind/key → request

  static bool owes(int user) { return user == 2; }

  std::int64_t available(int user) const {
    std::int64_t claims = 0;
    for (const auto& [id, rows] : holds)
      for (const HoldRow& row : rows)
        if (row.payer == user && row.state == "active")
          claims += std::max<std::int64_t>(0, row.original - row.captured);
    return at(balance, user) - at(queued_debits, user) - claims;
  }
  static std::int64_t at(const std::map<int, std::int64_t>& map, int user) {
    const auto found = map.find(user);
    return found == map.end() ? 0 : found->second;
  }
  HoldRow* present(int id) { return holds[id].empty() ? nullptr : &holds[id].back(); }
  bool due(const HoldRow& row) const { return row.state == "active" && row.expires && *row.expires <= now; }
  void debit(int user, std::int64_t amount) { queued_debits[user] += amount; }
  static void use_up(HoldRow& row, std::int64_t amount) {
    row.captured += amount;
    if (row.captured >= row.original) row.state = "consumed";
  }

  // "ok", "replay" or the name of the refusal.
  std::string answer(const Happening& h, const std::string& request) {
    const std::string key = h.key < 0 ? "" : std::to_string(h.kind) + "/" + std::to_string(h.key);
    if (!key.empty() && keys.contains(key)) return keys[key] == request ? "replay" : "idempotency_conflict";
    const std::string result = carry_out(h);
    if (!key.empty() && (result == "ok" || result == "replay")) keys[key] = request;
    return result;
  }

  std::string carry_out(const Happening& h) {
    switch (h.kind) {
      case Happening::reserve:
        return reserve(h);
      case Happening::extend:
        return extend(h);
      case Happening::release: {
        HoldRow* row = present(h.hold);
        if (row != nullptr && row->state == "active") row->state = "released";
        return "ok";
      }
      case Happening::capture:
        return capture(h);
      case Happening::transfer:
        if (h.user == h.other) return "same_account";
        if (available(h.user) < h.amount) return "insufficient_funds";
        debit(h.user, h.amount);
        queued_credits[h.other] += h.amount;
        return "ok";
      case Happening::charge:
        return charge(h);
      default:
        queued_credits[h.user] += h.amount;
        return "ok";
    }
  }

  std::string reserve(const Happening& h) {
    HoldRow* row = present(h.hold);
    const bool ends = row != nullptr && due(*row) && row->payer == h.user;
    if (row != nullptr && row->state == "active" && !ends)
      return row->payer == h.user && row->original == h.amount ? "replay" : "hold_conflict";
    if (ends) row->state = "expired";
    if (available(h.user) < h.amount) {
      if (ends) row->state = "active";
      return "insufficient_funds";
    }
    HoldRow made{h.user, h.amount, 0, "active", std::nullopt};
    if (h.c) made.expires = now + (1 + h.amount % 5) * kSecond;
    holds[h.hold].push_back(made);
    return "ok";
  }

  std::string extend(const Happening& h) {
    HoldRow* row = present(h.hold);
    if (row == nullptr) return "unknown_hold";
    if (row->state != "active" || due(*row)) return "hold_ended";
    const std::int64_t amount = h.a ? h.amount : row->original;
    if (amount < row->original) return "hold_conflict";
    const std::int64_t before = std::max<std::int64_t>(0, row->original - row->captured);
    const std::int64_t more = std::max<std::int64_t>(0, amount - row->captured) - before;
    if (more > 0 && available(row->payer) < more) return "insufficient_funds";
    row->original = amount;
    const std::int64_t lifetime = !h.a ? 3 : h.c ? 1 + h.amount % 5 : 0;
    if (row->expires && lifetime > 0) row->expires = std::max(*row->expires, now + lifetime * kSecond);
    return "ok";
  }

  std::string capture(const Happening& h) {  // a: final, b: over, c: late
    HoldRow* row = present(h.hold);
    if (row == nullptr) return "unknown_hold";
    if (row->state != "active" || due(*row)) {
      if (!h.c) return "hold_ended";
      const std::string was = row->state;
      if (row->state == "active") row->state = "expired";
      if (available(row->payer) < h.amount && !(h.b && owes(row->payer))) {
        row->state = was;
        return "insufficient_funds";
      }
      debit(row->payer, h.amount);
      return "ok";
    }
    const std::int64_t left = std::max<std::int64_t>(0, row->original - row->captured);
    if (h.amount > left) {
      if (!h.b) return "hold_exceeded";
      if (available(row->payer) < h.amount - left && !owes(row->payer)) return "insufficient_funds";
    }
    use_up(*row, h.amount);
    debit(row->payer, h.amount);
    if (h.a && row->state == "active") row->state = "released";
    return "ok";
  }

  std::string charge(const Happening& h) {  // a: names the hold, b: checked
    if (h.a) {
      HoldRow* row = present(h.hold);
      if (row == nullptr) return "unknown_hold";
      if (row->state == "active") {
        if (row->payer != h.user) return "wrong_payer";
        use_up(*row, h.amount);
      }
    } else if (h.b && available(h.user) < h.amount) {
      return "insufficient_funds";
    }
    debit(h.user, h.amount);
    return "ok";
  }
};

// The database's part: keeps rows, and gives `decide` its state by the contract's formulas.
class Store {
 public:
  std::int64_t now = 1000 * kSecond;

  DecisionState load() const {
    DecisionState state;
    state.now = {now};
    state.guards_transfers = false;
    for (int a = 0; a < kUsers; ++a)
      for (int b = 0; b < kUsers; ++b) state.locked_pairs.emplace(UserId{a + 1}, UserId{b + 1});
    for (int i = 0; i < kUsers; ++i) {
      UserFacts facts;
      facts.id = {i + 1};
      facts.account_class = Model::owes(i) ? "postpaid" : "standard";
      state.directory.users.emplace(user(i), facts);
      PayerTerms terms;
      terms.balance = at(facts.id);
      terms.promised = promised(facts.id);
      terms.shortfall = Model::owes(i) ? Shortfall::debt : Shortfall::forgive;
      state.payers.emplace(facts.id, terms);
    }
    for (const auto& [id, hold] : holds_) {
      if (hold.owner_event) continue;
      state.locked_holds.insert(id);
      const auto present = state.holds.find(hold.business_id);
      if (present == state.holds.end() || present->second.state != HoldState::active)
        state.holds.insert_or_assign(hold.business_id, hold);
    }
    state.events = events_;
    state.requests = requests_;
    for (int i = 0; i < 100; ++i) {
      state.seqs.push_back({next_ + i});
      state.hold_ids.push_back(next_ + i);
    }
    return state;
  }

  void store(const Decisions& decisions) {
    next_ += 100;
    for (const auto& [command, event] : decisions.events) {
      RC_ASSERT(currency_sum(event).is_zero());
      queued_.push_back(event);
      if (event.request_digest) events_[event.id] = {event.seq, event.request_digest};
    }
    for (const auto& [id, hold] : decisions.changed_holds) holds_.at(id) = hold;
    for (const auto& [id, hold] : decisions.new_holds) RC_ASSERT(holds_.emplace(id, hold).second);
    for (const auto& [id, request] : decisions.requests) RC_ASSERT(requests_.emplace(id, request).second);
    std::set<std::string> active;
    for (const auto& [id, hold] : holds_)
      if (hold.state == HoldState::active) RC_ASSERT(active.insert(hold.business_id).second);
  }

  void fold() {
    for (const Event& event : queued_)
      for (const Posting& posting : event.postings) {
        balances_[posting.user] += posting.amount;
        if (posting.hold_id && posting.amount.is_negative())
          fold_into(holds_.at(*posting.hold_id), -posting.amount, event.id);
      }
    queued_.clear();
  }

  void sweep() {
    for (auto& [id, hold] : holds_)
      if (is_due(hold, {now})) end_hold(hold, HoldState::expired, "deadline");
  }

  Total at(UserId user) const {
    const auto found = balances_.find(user);
    return found == balances_.end() ? Total() : found->second;
  }

  // The contract: the larger of the remainder and the queued debits that name it; others for themselves.
  Total promised(UserId user) const {
    std::map<std::int64_t, Total> queued;
    Total free;
    for (const Event& event : queued_)
      for (const Posting& posting : event.postings) {
        if (posting.user != user || !posting.amount.is_negative()) continue;
        const bool active = posting.hold_id && holds_.at(*posting.hold_id).state == HoldState::active;
        (active ? queued[*posting.hold_id] : free) += -posting.amount;
      }
    for (const auto& [id, hold] : holds_)
      if (hold.payer == user && hold.state == HoldState::active)
        free += std::max(Total(hold.original) - hold.consumed, queued[id]);
    return free;
  }

 private:
  std::map<UserId, Total> balances_;
  std::vector<Event> queued_;
  std::map<std::int64_t, Hold> holds_;
  std::map<Uuid, StoredEvent> events_;
  std::map<Uuid, StoredRequest> requests_;
  std::int64_t next_ = 1;
};

class Comparison {
 public:
  void happen(const Happening& h) {
    if (auto command = command_of(h)) {
      batch_.push_back(*std::move(command));
      happenings_.push_back(h);
      if (h.ends_batch) flush();
      return;
    }
    flush();
    if (h.kind == Happening::fold) {
      store_.fold();
      for (auto* queued : {&model_.queued_debits, &model_.queued_credits})
        for (auto& [user, amount] : *queued) {
          model_.balance[user] += queued == &model_.queued_debits ? -amount : amount;
          amount = 0;
        }
    } else if (h.kind == Happening::time) {
      store_.now = model_.now += h.amount * kSecond / 10;
    } else {
      store_.sweep();
      for (auto& [id, rows] : model_.holds)
        for (auto& row : rows)
          if (model_.due(row)) row.state = "expired";
    }
    compare_funds();
  }

  void flush() {
    if (batch_.empty()) return;
    const DecisionState state = store_.load();
    const Decisions decisions = decide(state, batch_);
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      const auto& receipt = decisions.receipts[i];
      const std::string got =
          receipt ? (receipt->replayed ? "replay" : "ok") : std::string(error_name(receipt.error().code));
      const std::string expected = model_.answer(happenings_[i], request_of(happenings_[i]));
      if (got != expected) RC_FAIL("command " + std::to_string(i) + ": " + got + ", the model says " + expected);
    }
    store_.store(decisions);
    batch_.clear();
    happenings_.clear();
    compare_funds();
  }

 private:
  static std::string request_of(const Happening& h) {
    const auto command = command_of(h);
    Directory directory;
    for (int i = 0; i < kUsers; ++i) directory.users[user(i)].id = {i + 1};
    // The same request is the same canonical form: that is a definition, not what is tested here.
    return canonical_request(*command, directory);
  }

  void compare_funds() const {
    for (int i = 0; i < kUsers; ++i) {
      const UserId id{i + 1};
      RC_ASSERT(store_.at(id) - store_.promised(id) == Total::whole(model_.available(i)));
    }
  }

  Store store_;
  Model model_;
  std::vector<Command> batch_;
  std::vector<Happening> happenings_;
};

RC_GTEST_PROP(DecideProperty, AgreesWithANaiveModelHoweverItIsBatched, ()) {
  Comparison comparison;
  for (int i = 0; i < kUsers; ++i) comparison.happen({.kind = Happening::credit, .user = i, .amount = 50});
  comparison.happen({.kind = Happening::fold});
  for (const Happening& h : *rc::gen::container<std::vector<Happening>>(a_happening())) comparison.happen(h);
  comparison.flush();
}

}  // namespace
}  // namespace kudos
