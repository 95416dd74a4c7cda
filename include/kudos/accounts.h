// Making the accounts that commands refer to: users, workers and teams. All functions are idempotent upserts that work
// inside the caller's transaction and leave existing rows' balances and counters alone. And deleting workers and teams.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kudos/amount.h"
#include "kudos/ids.h"
#include "kudos/session.h"
#include "kudos/uuid.h"

namespace kudos {

struct NewUser {
  std::string external_id = {};            // unique; how later calls find the user
  std::string account_class = "standard";  // a row of kudos_account_policies
  std::optional<Total> floor_override = {};
  bool trusted = false;
  std::optional<UserId> id = {};  // fix the number, e.g. 0 for the anonymous user
};

struct NewTeam {
  Uuid id = {};
  std::string name = {};
  UserRef owner = {};
};

struct NewWorker {
  Uuid id = {};
  std::string name = {};
  UserRef owner = {};
  std::optional<Uuid> team = {};
  std::string worker_type = {};  // "image", "text", "interrogation" or the host's own; at most 20 characters
};

// What `ensure_users_reporting` found or made.
struct EnsuredUser {
  UserId id;
  std::string account_class = {};  // as stored
  bool created = false;            // by this call; false: it was there, or another transaction made it meanwhile
};

// Creates the users that don't exist and returns the ids of all, in the order of `users`. An existing user keeps its
// row as it is. Refuses a class without policy (invalid_request) and a fixed number that another user has
// (already_exists; others of the call may have been made then, so roll back). Where another transaction is making the
// same user, it waits for its end.
Result<std::vector<UserId>> ensure_users(Session& session, std::span<const NewUser> users);
// The same, telling for each what it found.
Result<std::vector<EnsuredUser>> ensure_users_reporting(Session& session, std::span<const NewUser> users);
// Refuse an owner or team that doesn't exist (unknown_user, unknown_team).
Status ensure_teams(Session& session, std::span<const NewTeam> teams);
Status ensure_workers(Session& session, std::span<const NewWorker> workers);

// The same for one that must be new: of two callers at once, one is refused (already_exists). A refusal stores nothing.
Result<UserId> create_user(Session& session, const NewUser& user);
Status create_team(Session& session, const NewTeam& team);
Status create_worker(Session& session, const NewWorker& worker);

// What a deletion takes away. Facts stay: they name the worker or team as it was.
struct Deletion {
  std::string name = {};
  Total kudos = {}, contributions = {}, fulfilments = {};
  std::int64_t dependants = 0;      // a worker's counters, which go too; a team's workers, which stay without a team
  std::int64_t pending_events = 0;  // that wait and will find it gone: they fold all the same, without its part
};

// Delete a worker or a team, in the caller's READ COMMITTED transaction (not_in_transaction, wrong_isolation_level);
// unknown_worker, unknown_team. They wait for a fold that is writing the row, and a fold waits for none of them: it
// takes their events later. A deleted worker's pending events still credit its owner and its team (decision 0003). A
// plain DELETE is sound too, but doesn't say how many events were waiting.
Result<Deletion> delete_worker(Session& session, const Uuid& worker);
Result<Deletion> delete_team(Session& session, const Uuid& team);

}  // namespace kudos
