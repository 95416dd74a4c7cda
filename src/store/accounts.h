// Load and store for accounts: users, workers, teams.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "db/connection.h"
#include "kudos/accounts.h"

namespace kudos::store {

// Inserts the users whose external id is new; the ids of all, in order. See kudos::ensure_users.
Result<std::vector<UserId>> ensure_users(db::Connection& connection, std::span<const NewUser> users);
Status ensure_teams(db::Connection& connection, std::span<const NewTeam> teams, std::span<const UserId> owners);
Status ensure_workers(db::Connection& connection, std::span<const NewWorker> workers, std::span<const UserId> owners);

// The ids of users by reference; refuses the first that doesn't exist (unknown_user).
Result<std::vector<UserId>> find_users(db::Connection& connection, std::span<const UserRef> users);
// Refuses the first team that doesn't exist (unknown_team).
Status require_teams(db::Connection& connection, std::span<const Uuid> teams);

}  // namespace kudos::store
