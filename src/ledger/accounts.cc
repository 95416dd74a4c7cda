#include "kudos/accounts.h"

#include "base/try.h"
#include "core/event.h"
#include "core/validate.h"
#include "ledger/session_impl.h"
#include "store/accounts.h"

namespace kudos {
namespace {

constexpr std::size_t kMaxName = 200;

}  // namespace

Result<std::vector<UserId>> ensure_users(Session& session, std::span<const NewUser> users) {
  KUDOS_TRY(require_transaction(session.impl().connection));
  for (const NewUser& user : users) {
    KUDOS_TRY(validate_name(user.external_id, "the external id", kMaxName));
    if (user.id && user.id->value < 0)
      return fail(ErrorCode::system_account, "user numbers below 0 belong to system accounts");
  }
  return store::ensure_users(session.impl().connection, users);
}

Status ensure_teams(Session& session, std::span<const NewTeam> teams) {
  KUDOS_TRY(require_transaction(session.impl().connection));
  std::vector<UserRef> owners;
  for (const NewTeam& team : teams) {
    KUDOS_TRY(validate_name(team.name, "the team's name", kMaxName));
    owners.push_back(team.owner);
  }
  KUDOS_ASSIGN(const auto ids, store::find_users(session.impl().connection, owners));
  return store::ensure_teams(session.impl().connection, teams, ids);
}

Status ensure_workers(Session& session, std::span<const NewWorker> workers) {
  KUDOS_TRY(require_transaction(session.impl().connection));
  std::vector<UserRef> owners;
  std::vector<Uuid> teams;
  for (const NewWorker& worker : workers) {
    KUDOS_TRY(validate_name(worker.name, "the worker's name", kMaxName));
    KUDOS_TRY(validate_name(worker.worker_type, "the worker's type", kMaxWpType));
    owners.push_back(worker.owner);
    if (worker.team) teams.push_back(*worker.team);
  }
  KUDOS_ASSIGN(const auto ids, store::find_users(session.impl().connection, owners));
  KUDOS_TRY(store::require_teams(session.impl().connection, teams));
  return store::ensure_workers(session.impl().connection, workers, ids);
}

}  // namespace kudos
