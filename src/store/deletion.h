// Deleting workers and teams (sql/functions/60_deletion.sql).
#pragma once

#include <optional>

#include "db/connection.h"
#include "kudos/accounts.h"

namespace kudos::store {

// Nothing when there is none of that id.
Result<std::optional<Deletion>> remove_worker(db::Connection& connection, const Uuid& worker);
Result<std::optional<Deletion>> remove_team(db::Connection& connection, const Uuid& team);

}  // namespace kudos::store
