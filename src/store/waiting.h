// What a wait asks the database (sql/functions/70_waiting.sql).
#pragma once

#include <optional>
#include <string>

#include "db/connection.h"
#include "kudos/wait.h"

namespace kudos::store {

// How the event has folded; nothing while it hasn't. unknown_event when there is none.
Result<std::optional<WaitOutcome>> read_outcome(db::Connection& connection, const Uuid& event);

// The events that are committed and unapplied now, as text of an int8multirange.
Result<std::string> wait_position(db::Connection& connection);
// Whether all of them are applied.
Result<bool> folded_up_to(db::Connection& connection, std::string_view position);

}  // namespace kudos::store
