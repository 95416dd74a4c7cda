// Producers: from commands to stored events, inside the caller's transaction.
#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.h"
#include "base/try.h"
#include "core/produce.h"
#include "core/request.h"
#include "core/validate.h"
#include "kudos/session.h"
#include "ledger/session_impl.h"
#include "store/emission.h"
#include "store/event_writer.h"

namespace kudos {
namespace {

constexpr std::size_t kMaxExternalId = 200;

void add_accounts(const Command& command, store::EmissionNeeds& needs) {
  visit_accounts(
      command,
      [&](const UserRef& user) {
        // What can't be an external id isn't looked up: the server would refuse the whole statement.
        if (user.id || validate_name(user.external_id, "the external id", kMaxExternalId)) needs.users.insert(user);
      },
      [&](const Uuid& worker) { needs.workers.insert(worker); });
}

// The outcome of one command on its way to storage.
struct Pending {
  Result<Receipt> receipt;
  std::optional<Event> event;  // to be stored under receipt's id
};

class Emission {
 public:
  Emission(Session::Impl& session, std::span<const Command> commands) : session_(session), commands_(commands) {}

  Result<std::vector<Result<Receipt>>> run() {
    KUDOS_TRY(require_transaction(session_.connection));
    KUDOS_ASSIGN(context_, store::load_for_emission(session_.connection, session_.keys, needs()));
    if (context_.mode != Mode::ledger)
      return fail(ErrorCode::shadow_mode_unsupported,
                  "the ledger is in shadow mode, in which nothing can be emitted yet",
                  "Switch it over with `kudos mode ledger`.");
    for (const Command& command : commands_) pending_.push_back(decide(command));
    KUDOS_TRY(store_events());
    std::vector<Result<Receipt>> receipts;
    for (Pending& pending : pending_) receipts.push_back(std::move(pending.receipt));
    return receipts;
  }

 private:
  store::EmissionNeeds needs() const {
    store::EmissionNeeds needs;
    for (const Command& command : commands_) {
      add_accounts(command, needs);
      if (command_options(command).key) needs.event_ids.push_back(make_event_id(command));
    }
    needs.events = static_cast<std::int32_t>(commands_.size());
    return needs;
  }

  Pending decide(const Command& command) {
    if (!command_options(command).key) return decide_new(command, std::nullopt);
    // The first result stands, even where the same command would be refused today.
    if (!users_known(command)) return decide_new(command, std::nullopt);
    const Digest digest = request_digest(command, context_.directory);
    const Uuid id = make_event_id(command);
    const auto stored = context_.stored.find(id);
    if (stored != context_.stored.end() && stored->second.request_digest == digest)
      return {replay(id, stored->second, digest), std::nullopt};
    Pending pending = decide_new(command, digest);
    // A request that can't be right is told so before it is told of the conflict.
    if (stored != context_.stored.end() && !is_malformed(pending.receipt))
      return {replay(id, stored->second, digest), std::nullopt};
    if (pending.event) context_.stored.emplace(id, store::StoredEvent{pending.event->seq, digest});
    return pending;
  }

  static bool is_malformed(const Result<Receipt>& receipt) {
    return !receipt && receipt.error().code < ErrorCode::wrong_isolation_level;
  }

  bool users_known(const Command& command) const {
    bool known = true;
    visit_accounts(
        command, [&](const UserRef& user) { known &= context_.directory.users.contains(user); }, [](const Uuid&) {});
    return known;
  }

  static Result<Receipt> replay(const Uuid& id, const store::StoredEvent& stored, const Digest& digest) {
    if (stored.request_digest == digest) return Receipt{id, stored.seq, true, true};
    return fail(ErrorCode::idempotency_conflict,
                "the idempotency key was used for another request (event " + id.to_string() + ")",
                "Use a new key for a new request.");
  }

  Pending decide_new(const Command& command, const std::optional<Digest>& digest) {
    auto produced = produce(command, context_.directory);
    if (!produced) return {std::unexpected(std::move(produced).error()), std::nullopt};
    if (!produced->stored) return {Receipt{produced->event.id, {}, false, false}, std::nullopt};
    Event& event = produced->event;
    event.seq = context_.seqs[next_seq_++];
    event.request_digest = digest;
    return {Receipt{event.id, event.seq, false, true}, std::move(event)};
  }

  // In the order of event ids, so that two batches with the same keys meet without a deadlock.
  std::vector<std::size_t> storage_order() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < pending_.size(); ++i)
      if (pending_[i].event) order.push_back(i);
    std::ranges::sort(order, {}, [&](std::size_t i) { return pending_[i].event->id; });
    return order;
  }

  Status store_events() {
    const auto order = storage_order();
    if (order.empty()) return {};
    store::EventWriter writer(session_.types);
    for (const std::size_t i : order) writer.add(*pending_[i].event, command_options(commands_[i]).metadata);
    writer.queue(session_.connection);
    KUDOS_ASSIGN(const auto results, session_.connection.flush());
    const auto stored = store::EventWriter::stored_seqs(results.front());
    if (stored.size() == order.size()) return {};
    return replay_twins(stored);
  }

  // A twin stored some of the keys between our look and our insert, which waited for it to commit.
  Status replay_twins(const std::unordered_set<EventSeq>& stored) {
    std::vector<Uuid> ids;
    for (const Pending& pending : pending_)
      if (pending.event && !stored.contains(pending.event->seq)) ids.push_back(pending.event->id);
    KUDOS_ASSIGN(const auto found, store::find_events(session_.connection, ids));
    for (Pending& pending : pending_) {
      // Also those that had replayed this call's own loser.
      if (!pending.receipt || !found.contains(pending.receipt->event_id)) continue;
      const auto digest =
          pending.event ? pending.event->request_digest : context_.stored.at(pending.receipt->event_id).request_digest;
      KUDOS_CHECK(digest.has_value());
      pending.receipt = replay(pending.receipt->event_id, found.at(pending.receipt->event_id), *digest);
    }
    return {};
  }

  Session::Impl& session_;
  std::span<const Command> commands_;
  store::EmissionContext context_;
  std::vector<Pending> pending_;
  std::size_t next_seq_ = 0;
};

}  // namespace

Result<std::vector<Result<Receipt>>> emit(Session& session, std::span<const Command> commands) {
  return Emission(session.impl(), commands).run();
}

Result<Receipt> emit(Session& session, const Command& command) {
  KUDOS_ASSIGN(auto receipts, emit(session, std::span(&command, 1)));
  return std::move(receipts.front());
}

}  // namespace kudos
