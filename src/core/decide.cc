#include "core/decide.h"

#include <algorithm>

#include "base/check.h"
#include "base/try.h"
#include "core/request.h"
#include "core/validate.h"

namespace kudos {
namespace {

constexpr std::chrono::seconds kLongestLifetime = std::chrono::days(3660);

// A hold that a debit uses up if it is active.
struct HoldUse {
  UserRef payer;
  std::string hold;
  bool must_exist = false;
};

std::optional<HoldUse> find_hold_use(const Command& command) {
  if (const auto* charge = std::get_if<Charge>(&command); charge && !charge->hold.empty())
    return HoldUse{charge->payer, charge->hold, true};
  if (const auto* job = std::get_if<Settlement>(&command); job && !job->hold.empty())
    return HoldUse{job->requester, job->hold, true};
  if (const auto* job = std::get_if<InterrogationSettlement>(&command))
    return HoldUse{job->requester, "interrogation:" + job->form.to_string(), false};
  if (const auto* tax = std::get_if<ActivationTax>(&command))
    return HoldUse{tax->requester, "upfront:" + tax->prompt.to_string(), false};
  return std::nullopt;
}

Status validate_lifetime(const std::optional<std::chrono::seconds>& lifetime) {
  if (!lifetime || (lifetime->count() > 0 && *lifetime <= kLongestLifetime)) return {};
  return fail(ErrorCode::invalid_request,
              "the lifetime is " + std::to_string(lifetime->count()) + " s; 1 s to 3660 days are allowed");
}

Status validate_key(const EventOptions& options) {
  if (!options.key) return {};
  return validate_key_names(*options.key);
}

std::optional<Timestamp> deadline(Timestamp now, const std::optional<std::chrono::seconds>& lifetime) {
  if (!lifetime) return std::nullopt;
  return Timestamp{now.micros + std::chrono::microseconds(*lifetime).count()};
}

std::unexpected<Error> insufficient(UserId payer, Total wanted, Total available) {
  return fail(ErrorCode::insufficient_funds,
              "user " + std::to_string(payer.value) + " has " + available.to_string() + " available, and " +
                  wanted.to_string() + " are wanted",
              "Income counts once it is folded. Lower the amount, or release holds.");
}

std::unexpected<Error> unknown_hold(const std::string& id) {
  return fail(ErrorCode::unknown_hold, "there is no hold " + id, "Reserve it first.");
}

std::unexpected<Error> ended(const Hold& hold, Timestamp now) {
  const HoldState state = is_due(hold, now) ? HoldState::expired : hold.state;
  return fail(ErrorCode::hold_ended, "hold " + hold.business_id + " has ended: it is " + std::string(label(state)),
              "A cost that became known late can be captured with `late`.");
}

// What one command would change, all of it or nothing.
struct Step {
  Receipt receipt;
  std::optional<Event> event;
  std::vector<Hold> holds;     // as they are afterwards
  std::vector<Hold> new_hold;  // at most one
  std::optional<Pair> transfer;
};

class Deciding {
 public:
  explicit Deciding(DecisionState state) : state_(std::move(state)) {
    for (const auto& [user, terms] : state_.payers) available_.emplace(user, terms.available());
  }

  Decisions run(std::span<const Command> commands) {
    out_.now = state_.now;
    for (std::size_t i = 0; i < commands.size(); ++i) out_.receipts.push_back(decide(i, commands[i]));
    return std::move(out_);
  }

 private:
  Result<Receipt> decide(std::size_t index, const Command& command) {
    const Uuid id = make_event_id(command);
    const auto first = find_first(id);
    const bool keyed = command_options(command).key.has_value();
    // An id that the caller fixed at random can only be there because this very command was stored.
    if (!keyed && first) return replay(*first, command, false);
    std::optional<Digest> digest;
    if (keyed && users_known(command)) digest = request_digest(command, state_.directory);
    // The first result stands, even where the same command would be refused today.
    if (digest && first && first->digest == digest) return replay(*first, command, true);
    auto step = propose(command, id);
    // A request that can't be right is told so before it is told of the conflict.
    if (digest && first && !is_malformed(step)) return key_conflict(id);
    if (!step) return std::unexpected(std::move(step).error());
    return apply(index, command, id, digest, *std::move(step));
  }

  // Keys ------------------------------------------------------------------------------------------------------------

  struct First {
    std::optional<Digest> digest;
    Receipt receipt;
  };

  std::optional<First> find_first(const Uuid& id) const {
    if (const auto event = state_.events.find(id); event != state_.events.end())
      return First{event->second.request_digest,
                   {.event_id = id, .seq = event->second.seq, .hold = event->second.hold}};
    if (const auto request = state_.requests.find(id); request != state_.requests.end())
      return First{request->second.request_digest,
                   {.event_id = id,
                    .stored = request->second.hold != 0,
                    .hold = request->second.hold,
                    .amount = request->second.amount}};
    return std::nullopt;
  }

  static Receipt replay(const First& first, const Command& command, bool replayed) {
    Receipt receipt = first.receipt;
    receipt.replayed = replayed;
    if (const auto* transfer = std::get_if<Transfer>(&command)) receipt.amount = transfer->amount;
    if (const auto* capture = std::get_if<Capture>(&command)) receipt.amount = capture->amount;
    if (const auto* charge = std::get_if<Charge>(&command)) receipt.amount = charge->amount;
    return receipt;
  }

  static bool is_malformed(const Result<Step>& step) {
    return !step && step.error().code < ErrorCode::wrong_isolation_level;
  }

  bool users_known(const Command& command) const {
    bool known = true;
    visit_accounts(
        command, [&](const UserRef& user) { known &= state_.directory.users.contains(user); }, [](const Uuid&) {});
    return known;
  }

  // Proposals: each says what would change, and changes nothing -------------------------------------------------------

  Result<Step> propose(const Command& command, const Uuid& id) const {
    if (const auto* transfer = std::get_if<Transfer>(&command)) return propose_transfer(*transfer, id);
    if (const auto* reserve = std::get_if<Reserve>(&command)) return propose_reserve(*reserve);
    if (const auto* extend = std::get_if<Extend>(&command)) return propose_extend(*extend);
    if (const auto* release = std::get_if<Release>(&command)) return propose_release(*release);
    if (const auto* capture = std::get_if<Capture>(&command)) return propose_capture(*capture);
    return propose_event(command);
  }

  Result<Step> propose_event(const Command& command) const {
    KUDOS_TRY(validate_use(command));
    KUDOS_ASSIGN(auto produced, produce(command, state_.directory));
    Step step;
    step.receipt.stored = produced.stored;
    if (!produced.stored) return step;
    step.event = std::move(produced.event);
    if (const auto* charge = std::get_if<Charge>(&command)) {
      step.receipt.amount = charge->amount;
      const UserId payer = state_.directory.users.at(charge->payer).id;
      if (charge->check) KUDOS_TRY(require_available(payer, charge->amount));
    }
    if (const auto use = find_hold_use(command)) KUDOS_TRY(use_hold(*use, step));
    return step;
  }

  static Status validate_use(const Command& command) {
    const auto use = find_hold_use(command);
    if (!use || !use->must_exist) return {};
    KUDOS_TRY(validate_hold_id(use->hold));
    const auto* charge = std::get_if<Charge>(&command);
    if (charge != nullptr && charge->check)
      return fail(ErrorCode::invalid_request, "a charge that names a hold can't be checked against what is available",
                  "Capture it with `over`: that checks what exceeds the hold.");
    return {};
  }

  // An unchecked debit that names a hold. One whose hold has ended is a plain debit: its cost is a fact all the same.
  Status use_hold(const HoldUse& use, Step& step) const {
    const auto found = state_.holds.find(use.hold);
    if (found == state_.holds.end()) {
      if (use.must_exist) return unknown_hold(use.hold);
      return {};
    }
    if (found->second.state != HoldState::active) return {};
    KUDOS_TRY(require_locked_row(found->second));
    Hold hold = found->second;
    const UserId payer = state_.directory.users.at(use.payer).id;
    if (hold.payer != payer)
      return fail(ErrorCode::wrong_payer, "hold " + use.hold + " belongs to user " + std::to_string(hold.payer.value) +
                                              ", not to user " + std::to_string(payer.value));
    name_hold(step, hold);
    return {};
  }

  // Lets the event's debits of the hold's payer name it.
  static void name_hold(Step& step, Hold hold) {
    for (Posting& posting : step.event->postings) {
      if (posting.user != hold.payer || posting.escrow || !posting.amount.is_negative()) continue;
      posting.hold_id = hold.id;
      if (hold.state == HoldState::active)
        capture_from(hold, -posting.amount);
      else
        hold.captured += -posting.amount;
    }
    step.receipt.hold = hold.id;
    step.holds.push_back(std::move(hold));
  }

  Result<Step> propose_transfer(const Transfer& transfer, const Uuid& id) const {
    KUDOS_ASSIGN(auto produced, produce(transfer, state_.directory));
    const UserId payer = state_.directory.users.at(transfer.payer).id;
    const UserId recipient = state_.directory.users.at(transfer.recipient).id;
    // A name may have gone over to another user between the look for whom to lock and the lock.
    if (!state_.locked_pairs.contains({payer, recipient})) return meanwhile("a name changed hands");
    if (state_.guards_transfers && state_.recent_transfers.contains({recipient, payer}))
      return fail(
          ErrorCode::reverse_transfer,
          "user " + transfer.recipient.to_string() + " gave to user " + transfer.payer.to_string() + " a moment ago",
          "Wait until the guard time has passed.");
    KUDOS_TRY(require_available(payer, transfer.amount));
    Hold own;
    own.id = next_hold_id();
    own.business_id = transfer_hold_id(payer, id);
    own.payer = payer;
    own.original = transfer.amount;
    own.captured = transfer.amount;
    own.owner_event = id;
    Step step;
    step.event = std::move(produced.event);
    step.event->postings.front().hold_id = own.id;
    step.receipt.hold = own.id;
    step.receipt.amount = transfer.amount;
    step.new_hold.push_back(std::move(own));
    step.transfer = Pair{payer, recipient};
    return step;
  }

  Result<Step> propose_reserve(const Reserve& reserve) const {
    KUDOS_TRY(validate_key(reserve.options));
    KUDOS_TRY(require_positive(reserve.amount, "the amount"));
    KUDOS_TRY(validate_hold_id(reserve.hold));
    KUDOS_TRY(validate_lifetime(reserve.lifetime));
    KUDOS_ASSIGN(const UserFacts* payer, find_user(state_.directory, reserve.payer));
    if (payer->deleted) return fail(ErrorCode::account_deleted, "user " + reserve.payer.to_string() + " is deleted");
    Step step;
    step.receipt.amount = reserve.amount;
    Total given_back;
    if (const auto found = state_.holds.find(reserve.hold);
        found != state_.holds.end() && found->second.state == HoldState::active) {
      const Hold& present = found->second;
      const bool due = is_due(present, state_.now) && present.payer == payer->id;
      if (!due) return join_hold(*payer, reserve, present);
      KUDOS_TRY(require_locked_row(present));
      given_back = claim_of(present);
      step.holds.push_back(expired(present));
    }
    KUDOS_TRY(require_available(payer->id, reserve.amount, given_back));
    Hold hold;
    hold.id = next_hold_id();
    hold.business_id = reserve.hold;
    hold.payer = payer->id;
    hold.original = reserve.amount;
    hold.expires = deadline(state_.now, reserve.lifetime);
    step.receipt.hold = hold.id;
    step.new_hold.push_back(std::move(hold));
    return step;
  }

  static Result<Step> join_hold(const UserFacts& payer, const Reserve& reserve, const Hold& present) {
    if (present.payer != payer.id || present.original != reserve.amount)
      return fail(ErrorCode::hold_conflict,
                  "hold " + reserve.hold + " is active for " +
                      (present.payer == payer.id ? present.original.to_string() : std::string("another payer")),
                  "Release it, extend it, or use another id.");
    Step step;
    step.receipt.hold = present.id;
    step.receipt.amount = reserve.amount;
    step.receipt.replayed = true;
    return step;
  }

  static Hold expired(Hold hold) {
    end_hold(hold, HoldState::expired, "deadline");
    return hold;
  }

  Result<Step> propose_extend(const Extend& extend) const {
    KUDOS_TRY(validate_key(extend.options));
    if (extend.amount) KUDOS_TRY(require_positive(*extend.amount, "the amount"));
    KUDOS_TRY(validate_hold_id(extend.hold));
    KUDOS_TRY(validate_lifetime(extend.lifetime));
    if (!extend.amount && !extend.lifetime)
      return fail(ErrorCode::invalid_request, "an extension gives a new amount, a new lifetime, or both");
    KUDOS_ASSIGN(const Hold* found, find_active(extend.hold));
    Hold hold = *found;
    const Amount amount = extend.amount.value_or(hold.original);
    if (amount < hold.original)
      return fail(ErrorCode::hold_conflict,
                  "hold " + extend.hold + " claims " + hold.original.to_string() + "; an extension can't lower it",
                  "Give the amount in all, not what is added.");
    const Total claimed = claim_of(hold);
    hold.original = amount;
    if (const Total more = claim_of(hold) - claimed; !more.is_zero()) KUDOS_TRY(require_available(hold.payer, more));
    // A hold without deadline keeps being without.
    if (hold.expires) hold.expires = std::max(hold.expires, deadline(state_.now, extend.lifetime));
    Step step;
    step.receipt.hold = hold.id;
    step.receipt.amount = amount;
    step.holds.push_back(std::move(hold));
    return step;
  }

  Result<Step> propose_release(const Release& release) const {
    KUDOS_TRY(validate_key(release.options));
    KUDOS_TRY(validate_hold_id(release.hold));
    Step step;
    const auto found = state_.holds.find(release.hold);
    step.receipt.stored = found != state_.holds.end() && found->second.state == HoldState::active;
    if (!step.receipt.stored) return step;
    Hold hold = found->second;
    KUDOS_TRY(require_locked(hold));
    step.receipt.hold = hold.id;
    step.receipt.amount = *claim_of(hold).to_amount();
    end_hold(hold, HoldState::released, "released");
    step.holds.push_back(std::move(hold));
    return step;
  }

  Result<Step> propose_capture(const Capture& capture) const {
    // What can't be right at all is said first.
    KUDOS_TRY(validate_key(capture.options));
    KUDOS_TRY(require_positive(capture.amount, "the amount"));
    KUDOS_TRY(validate_hold_id(capture.hold));
    KUDOS_TRY(validate_reason(capture.reason));
    KUDOS_TRY(validate_metadata(capture.options.metadata));
    const auto found = state_.holds.find(capture.hold);
    Charge charge;
    charge.amount = capture.amount;
    charge.payee = capture.payee;
    charge.reason = capture.reason;
    charge.options = capture.options;
    if (found == state_.holds.end()) return unknown_hold(capture.hold);
    const Hold& hold = found->second;
    KUDOS_TRY(require_locked(hold));
    charge.payer = UserRef::number(hold.payer);
    Step step;
    KUDOS_ASSIGN(auto produced, produce(charge, state_.directory));
    step.event = std::move(produced.event);
    step.receipt.amount = capture.amount;
    if (hold.state != HoldState::active || is_due(hold, state_.now))
      KUDOS_TRY(capture_late(capture, hold, step));
    else
      KUDOS_TRY(capture_active(capture, hold, step));
    return step;
  }

  Status capture_active(const Capture& capture, Hold hold, Step& step) const {
    const Total excess = Total(capture.amount) - std::min(Total(capture.amount), claim_of(hold));
    if (!excess.is_zero()) {
      if (!capture.over)
        return fail(ErrorCode::hold_exceeded,
                    "hold " + capture.hold + " has " + claim_of(hold).to_string() + " left, and " +
                        capture.amount.to_string() + " are wanted",
                    "Extend it first, or capture with `over`.");
      KUDOS_TRY(require_funds_over(hold.payer, excess));
    }
    name_hold(step, std::move(hold));
    Hold& after = step.holds.back();
    if (capture.final && after.state == HoldState::active) end_hold(after, HoldState::released, "final capture");
    return {};
  }

  // A plain charge under a fresh check. The debit names no hold, since an ended one promises nothing.
  Status capture_late(const Capture& capture, const Hold& hold, Step& step) const {
    if (!capture.late) return ended(hold, state_.now);
    Total given_back;
    if (hold.state == HoldState::active) {
      given_back = claim_of(hold);
      step.holds.push_back(expired(hold));
    }
    if (capture.over && may_owe(hold.payer)) return {};
    return require_available(hold.payer, capture.amount, given_back);
  }

  Status require_funds_over(UserId payer, Total excess) const {
    if (may_owe(payer)) return {};
    return require_available(payer, excess);
  }

  // Checks -----------------------------------------------------------------------------------------------------------

  bool may_owe(UserId payer) const { return state_.payers.at(payer).shortfall == Shortfall::debt; }

  Result<const Hold*> find_active(const std::string& id) const {
    const auto found = state_.holds.find(id);
    if (found == state_.holds.end()) return unknown_hold(id);
    KUDOS_TRY(require_locked(found->second));
    if (found->second.state != HoldState::active || is_due(found->second, state_.now))
      return ended(found->second, state_.now);
    return &found->second;
  }

  // An id may have gone over to another payer between the look for whom to lock and the lock.
  Status require_locked(const Hold& hold) const {
    if (state_.payers.contains(hold.payer)) return require_locked_row(hold);
    return changed_hands(hold);
  }

  // Or to another row, between the lock of the present one and the read.
  Status require_locked_row(const Hold& hold) const {
    if (hold.state != HoldState::active || state_.locked_holds.contains(hold.id)) return {};
    return changed_hands(hold);
  }

  static std::unexpected<Error> changed_hands(const Hold& hold) {
    return meanwhile("hold " + hold.business_id + " changed hands");
  }

  // The transaction must run again.
  static std::unexpected<Error> meanwhile(const std::string& what) {
    return std::unexpected(
        Error{ErrorCode::database_error, what + " meanwhile", "Run it again.", "40001", {}, Recovery::retry});
  }

  Status require_available(UserId payer, Total amount, Total given_back = {}) const {
    const auto running = available_.find(payer);
    if (running == available_.end()) return meanwhile("a name changed hands");
    const Total available = running->second + given_back;
    if (amount <= available) return {};
    return insufficient(payer, amount, available);
  }

  std::int64_t next_hold_id() const {
    KUDOS_CHECK(next_hold_ < state_.hold_ids.size());
    return state_.hold_ids[next_hold_];
  }

  // Changes -----------------------------------------------------------------------------------------------------------

  Receipt apply(std::size_t index, const Command& command, const Uuid& id, const std::optional<Digest>& digest,
                Step step) {
    step.receipt.event_id = id;
    for (Hold& hold : step.holds) replace_hold(std::move(hold));
    for (Hold& hold : step.new_hold) add_hold(std::move(hold));
    if (step.event) {
      step.event->id = id;
      step.event->seq = state_.seqs[next_seq_++];
      step.event->created = state_.now;
      step.event->request_digest = digest;
      step.receipt.seq = step.event->seq;
      if (step.transfer) note_transfer(*step.transfer, *step.event, step.receipt.amount);
      add_event(index, *std::move(step.event), digest, step.receipt.hold);
    } else if (leaves_no_event(command) && (digest || command_options(command).event_id)) {
      // Under an id that the caller fixed there is nothing to compare: it is this very command.
      const StoredRequest request{digest.value_or(Digest{}), step.receipt.hold, step.receipt.amount};
      state_.requests.emplace(id, request);
      out_.requests.push_back({id, request});
    }
    return step.receipt;
  }

  // What a hold stops claiming becomes available; the debits that name it are counted with their event.
  void replace_hold(Hold hold) {
    Hold& present = state_.holds.at(hold.business_id);
    if (const auto running = available_.find(hold.payer); running != available_.end())
      running->second += claim_of(present) - claim_of(hold);
    present = std::move(hold);
    const auto made_here = out_.new_holds.find(present.id);
    (made_here != out_.new_holds.end() ? made_here->second : out_.changed_holds[present.id]) = present;
  }

  void add_hold(Hold hold) {
    ++next_hold_;
    available_.at(hold.payer) -= claim_of(hold);
    state_.locked_holds.insert(hold.id);
    if (!hold.owner_event) state_.holds.insert_or_assign(hold.business_id, hold);
    out_.new_holds.emplace(hold.id, std::move(hold));
  }

  void add_event(std::size_t index, Event event, const std::optional<Digest>& digest, std::int64_t hold) {
    for (const Posting& posting : event.postings) {
      if (posting.escrow || !posting.amount.is_negative()) continue;
      if (const auto running = available_.find(posting.user); running != available_.end())
        running->second += posting.amount;
    }
    state_.events.emplace(event.id, StoredEvent{event.seq, digest, hold});
    out_.events.push_back({index, std::move(event)});
  }

  void note_transfer(const Pair& pair, const Event& event, Amount amount) {
    state_.recent_transfers.insert(pair);
    out_.transfers.push_back({event.seq, pair, amount});
  }

  DecisionState state_;
  std::unordered_map<UserId, Total> available_;
  std::size_t next_seq_ = 0, next_hold_ = 0;
  Decisions out_;
};

}  // namespace

std::unexpected<Error> key_conflict(const Uuid& event) {
  return fail(ErrorCode::idempotency_conflict,
              "the idempotency key was used for another request (event " + event.to_string() + ")",
              "Use a new key for a new request.");
}

Decisions decide(DecisionState state, std::span<const Command> commands) {
  return Deciding(std::move(state)).run(commands);
}

Total effective_balance(const PayerTerms& terms, Total queued) {
  const Total sum = terms.balance + queued;
  if (terms.shortfall != Shortfall::forgive) return sum;
  return std::max(sum, std::min(terms.balance, terms.floor));
}

bool leaves_no_event(const Command& command) {
  return std::holds_alternative<Reserve>(command) || std::holds_alternative<Extend>(command) ||
         std::holds_alternative<Release>(command);
}

void collect_needs(const Command& command, AdmissionNeeds& needs) {
  if (const auto* transfer = std::get_if<Transfer>(&command)) {
    needs.payers.insert(transfer->payer);
    needs.transfers.emplace(transfer->payer, transfer->recipient);
    needs.may_make_hold = true;
  } else if (const auto* reserve = std::get_if<Reserve>(&command)) {
    needs.payers.insert(reserve->payer);
    needs.holds.insert(reserve->hold);
    needs.may_make_hold = true;
  } else if (const auto* charge = std::get_if<Charge>(&command); charge != nullptr && charge->check) {
    needs.payers.insert(charge->payer);
  }
  std::visit(
      [&]<class Each>(const Each& each) {
        if constexpr (std::is_same_v<Each, Extend> || std::is_same_v<Each, Release> || std::is_same_v<Each, Capture>)
          needs.payer_holds.insert(each.hold);
      },
      command);
  if (const auto use = find_hold_use(command)) needs.holds.insert(use->hold);
}

}  // namespace kudos
