#include "kudos/accounts.h"

#include "base/try.h"
#include "core/event.h"
#include "core/validate.h"
#include "ledger/session_impl.h"
#include "store/accounts.h"
#include "store/deletion.h"

namespace kudos {
namespace {

constexpr std::size_t kMaxName = 200;
constexpr std::int32_t kLargestFixedId = 1'000'000'000;

Status already_there(std::string_view what, const Uuid& id) {
  return fail(ErrorCode::already_exists, std::string(what) + " " + id.to_string() + " exists already");
}

// How many of them were new.
Result<std::int64_t> make_teams(Session& session, std::span<const NewTeam> teams) {
  KUDOS_TRY(require_transaction(session.impl().connection));
  std::vector<UserRef> owners;
  for (const NewTeam& team : teams) {
    KUDOS_TRY(validate_name(team.name, "the team's name", kMaxName));
    owners.push_back(team.owner);
  }
  KUDOS_ASSIGN(const auto ids, store::find_users(session.impl().connection, owners));
  return store::ensure_teams(session.impl().connection, teams, ids);
}

Result<std::int64_t> make_workers(Session& session, std::span<const NewWorker> workers) {
  KUDOS_TRY(require_transaction(session.impl().connection));
  std::vector<UserRef> owners;
  std::vector<Uuid> teams;
  for (const NewWorker& worker : workers) {
    KUDOS_TRY(validate_name(worker.name, "the worker's name", kMaxName));
    KUDOS_TRY(validate_wp_type(worker.worker_type));
    owners.push_back(worker.owner);
    if (worker.team) teams.push_back(*worker.team);
  }
  KUDOS_ASSIGN(const auto ids, store::find_users(session.impl().connection, owners));
  KUDOS_TRY(store::require_teams(session.impl().connection, teams));
  return store::ensure_workers(session.impl().connection, workers, ids);
}

}  // namespace

Result<std::vector<EnsuredUser>> ensure_users_reporting(Session& session, std::span<const NewUser> users) {
  KUDOS_TRY(require_transaction(session.impl().connection));
  for (const NewUser& user : users) {
    KUDOS_TRY(validate_name(user.external_id, "the external id", kMaxName));
    if (user.id && user.id->value < 0)
      return fail(ErrorCode::system_account, "user numbers below 0 belong to system accounts");
    if (user.id && user.id->value > kLargestFixedId)
      return fail(ErrorCode::invalid_request,
                  "the user number is " + std::to_string(user.id->value) + "; at most " +
                      std::to_string(kLargestFixedId) + " can be fixed",
                  "Numbers drawn later follow the largest: leave them room.");
  }
  return store::ensure_users(session.impl().connection, users);
}

Result<std::vector<UserId>> ensure_users(Session& session, std::span<const NewUser> users) {
  KUDOS_ASSIGN(const auto found, ensure_users_reporting(session, users));
  std::vector<UserId> ids;
  for (const EnsuredUser& user : found) ids.push_back(user.id);
  return ids;
}

Status ensure_teams(Session& session, std::span<const NewTeam> teams) {
  KUDOS_TRY(make_teams(session, teams));
  return {};
}

Status ensure_workers(Session& session, std::span<const NewWorker> workers) {
  KUDOS_TRY(make_workers(session, workers));
  return {};
}

Result<UserId> create_user(Session& session, const NewUser& user) {
  KUDOS_ASSIGN(const auto found, ensure_users_reporting(session, std::span(&user, 1)));
  if (found.front().created) return found.front().id;
  return fail(ErrorCode::already_exists, "user ext:" + user.external_id + " exists already, with number " +
                                             std::to_string(found.front().id.value));
}

Status create_team(Session& session, const NewTeam& team) {
  KUDOS_ASSIGN(const std::int64_t made, make_teams(session, std::span(&team, 1)));
  return made == 1 ? Status() : already_there("team", team.id);
}

Status create_worker(Session& session, const NewWorker& worker) {
  KUDOS_ASSIGN(const std::int64_t made, make_workers(session, std::span(&worker, 1)));
  return made == 1 ? Status() : already_there("worker", worker.id);
}

Result<Deletion> delete_worker(Session& session, const Uuid& worker) {
  KUDOS_TRY(pin_mode(session));
  KUDOS_ASSIGN(auto removed, store::remove_worker(session.impl().connection, worker));
  if (removed) return *std::move(removed);
  return fail(ErrorCode::unknown_worker, "there is no worker " + worker.to_string());
}

Result<Deletion> delete_team(Session& session, const Uuid& team) {
  KUDOS_TRY(pin_mode(session));
  KUDOS_ASSIGN(auto removed, store::remove_team(session.impl().connection, team));
  if (removed) return *std::move(removed);
  return fail(ErrorCode::unknown_team, "there is no team " + team.to_string());
}

}  // namespace kudos
