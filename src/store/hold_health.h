// What is reserved now, of which no event knows yet: holds that nobody ends grow old here.
#pragma once

#include <cstdint>
#include <optional>

#include "db/connection.h"
#include "kudos/error.h"

namespace kudos::store {

// Of active holds, without those that belong to an event: they end with its fold.
struct HoldHealth {
  std::int64_t active_reservations = 0;
  std::optional<double> oldest_reservation_seconds;  // since the oldest of them was made
};

// Reads the active holds only, whatever the number of ended ones.
Result<HoldHealth> read_hold_health(db::Connection& connection);

}  // namespace kudos::store
