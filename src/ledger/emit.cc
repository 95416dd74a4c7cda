// Producers: from commands to what is stored, inside the caller's transaction: load, decide, store.
#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/try.h"
#include "core/decide.h"
#include "core/validate.h"
#include "kudos/session.h"
#include "ledger/execution.h"
#include "ledger/session_impl.h"
#include "store/accounts.h"
#include "store/decisions.h"
#include "store/emission.h"

namespace kudos {
namespace {

constexpr std::size_t kMaxName = 200;

// What can't be a name isn't looked up: the server would refuse the whole statement. `decide` refuses it.
bool can_be_name(const std::string& text) { return validate_name(text, "the name", kMaxName).has_value(); }
bool can_be_user(const UserRef& user) { return user.id || can_be_name(user.external_id); }

void drop_impossible_names(AdmissionNeeds& needs) {
  std::erase_if(needs.payers, [](const UserRef& user) { return !can_be_user(user); });
  std::erase_if(needs.transfers,
                [](const auto& pair) { return !can_be_user(pair.first) || !can_be_user(pair.second); });
  std::erase_if(needs.holds, [](const std::string& hold) { return !can_be_name(hold); });
  std::erase_if(needs.payer_holds, [](const std::string& hold) { return !can_be_name(hold); });
}

store::EmissionNeeds needs_of(std::span<const Command> commands, ledger::Run run) {
  store::EmissionNeeds needs;
  for (const Command& command : commands) {
    visit_accounts(
        command,
        [&](const UserRef& user) {
          if (can_be_user(user)) needs.users.insert(user);
        },
        [&](const Uuid& worker) { needs.workers.insert(worker); });
    const EventOptions& options = command_options(command);
    if (options.key || (options.event_id && run == ledger::Run::again))
      needs.event_ids.push_back(make_event_id(command));
    if (!leaves_no_event(command)) ++needs.events;
    needs.admission.may_make_hold = false;
    collect_needs(command, needs.admission);
    if (needs.admission.may_make_hold) ++needs.new_holds;
  }
  drop_impossible_names(needs.admission);
  return needs;
}

// The answer to a command whose event a twin stored between our look and our insert, which waited for it to commit.
Result<Receipt> answer_for_twin(const Receipt& own, const store::StoredEvents& twins,
                                const std::optional<Digest>& digest) {
  const StoredEvent& twin = twins.at(own.event_id);
  if (twin.request_digest == digest) {
    Receipt receipt = own;
    receipt.seq = twin.seq;
    receipt.replayed = true;
    return receipt;
  }
  return key_conflict(own.event_id);
}

Status replay_twins(db::Connection& connection, const std::unordered_set<EventSeq>& stored, Decisions& decisions) {
  std::map<Uuid, std::optional<Digest>> lost;
  for (const auto& [command, event] : decisions.events)
    if (!stored.contains(event.seq)) lost.emplace(event.id, event.request_digest);
  std::vector<Uuid> ids;
  for (const auto& [id, digest] : lost) ids.push_back(id);
  KUDOS_ASSIGN(const auto twins, store::find_events(connection, ids));
  // Also those receipts that had replayed this call's own loser.
  for (auto& receipt : decisions.receipts)
    if (receipt && twins.contains(receipt->event_id))
      receipt = answer_for_twin(*receipt, twins, lost.at(receipt->event_id));
  return {};
}

}  // namespace

Result<std::vector<Result<Receipt>>> ledger::execute(Session& session, std::span<const Command> commands,
                                                     Transaction transaction, Run run) {
  Session::Impl& impl = session.impl();
  const bool own = transaction == Transaction::own;
  auto needs = needs_of(commands, run);
  needs.begin = own;
  needs.keep_plans = !own && impl.connection.options().prepare;
  KUDOS_ASSIGN(auto context, store::load_for_emission(impl.connection, impl.keys, needs));
  if (context.mode != Mode::ledger)
    return fail(ErrorCode::shadow_mode_unsupported, "the ledger is in shadow mode, in which nothing can be emitted yet",
                "Switch it over with `kudos mode ledger`.");
  Decisions decisions = decide(std::move(context.state), commands);
  std::vector<std::string_view> metadata;
  for (const Command& command : commands) metadata.push_back(command_options(command).metadata);
  KUDOS_ASSIGN(const auto stored, store::store_decisions(impl.connection, impl.types, decisions, metadata,
                                                         {.commit = own, .keep_plans = needs.keep_plans}));
  if (stored.size() < decisions.events.size()) KUDOS_TRY(replay_twins(impl.connection, stored, decisions));
  return std::move(decisions.receipts);
}

Result<std::vector<Result<Receipt>>> emit(Session& session, std::span<const Command> commands) {
  KUDOS_TRY(require_transaction(session.impl().connection));
  return ledger::execute(session, commands, ledger::Transaction::callers, ledger::Run::again);
}

Result<Receipt> emit(Session& session, const Command& command) {
  KUDOS_ASSIGN(auto receipts, emit(session, std::span(&command, 1)));
  return std::move(receipts.front());
}

Result<Funds> read_funds(Session& session, const UserRef& user) {
  Session::Impl& impl = session.impl();
  KUDOS_TRY(require_transaction(impl.connection));
  KUDOS_ASSIGN(const auto ids, store::find_users(impl.connection, std::span(&user, 1)));
  if (is_system(ids.front())) return fail(ErrorCode::system_account, "system accounts have no funds to spend");
  KUDOS_ASSIGN(const auto found, store::load_funds(impl.connection, impl.keys, ids.front()));
  const PayerTerms& terms = found.terms;
  return Funds{terms.balance,  found.escrow,      terms.floor,
               terms.promised, terms.available(), effective_balance(terms, found.queued)};
}

}  // namespace kudos
