// Load and store for accounts: users, workers, teams.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/connection.h"
#include "kudos/accounts.h"
#include "kudos/session.h"

namespace kudos::store {

// Inserts the users whose external id is new; what is there now, in order. See kudos::ensure_users_reporting.
Result<std::vector<EnsuredUser>> ensure_users(db::Connection& connection, std::span<const NewUser> users);
// How many of them were new.
Result<std::int64_t> ensure_teams(db::Connection& connection, std::span<const NewTeam> teams,
                                  std::span<const UserId> owners);
Result<std::int64_t> ensure_workers(db::Connection& connection, std::span<const NewWorker> workers,
                                    std::span<const UserId> owners);

// The ids of users by reference; refuses the first that doesn't exist (unknown_user).
Result<std::vector<UserId>> find_users(db::Connection& connection, std::span<const UserRef> users);
// Refuses the first team that doesn't exist (unknown_team).
Status require_teams(db::Connection& connection, std::span<const Uuid> teams);

struct AccountClass {
  std::string name;
  bool may_owe = false;  // its shortfall is debt
};

// The rows of kudos_account_policies, without the system's.
Result<std::vector<AccountClass>> read_account_classes(db::Connection& connection);

// The SQL functions for operators, inside the caller's transaction. After any error it is aborted, after a refusal too.
//
// kudos_grant: the monthly grant that is due; nothing when none is.
Result<std::optional<Receipt>> grant_due(db::Connection& connection, const UserRef& user, std::string_view metadata);
// kudos_monthly: what the user is granted each month from now on; nothing when that granted nothing at once.
Result<std::optional<Receipt>> set_monthly_grant(db::Connection& connection, const UserRef& user, Amount amount,
                                                 std::string_view metadata);
// kudos_erase: wipes metadata, external id and profile. How many events lost their metadata.
Result<std::int64_t> erase_user(db::Connection& connection, const UserRef& user);

}  // namespace kudos::store
