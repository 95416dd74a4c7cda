#include "store/hold_health.h"

#include "base/try.h"

namespace kudos::store {
namespace {

// kudos_reservations_active_payer holds just the active rows. Judged at once, both conditions would tempt the planner
// into reading the history's index as well, which has all rows.
constexpr db::Statement kHoldHealth{"hold_health", R"(
SELECT count(*), (extract(epoch FROM clock_timestamp() - min(created)) * 1000000)::bigint
FROM (SELECT created, owner_event_id FROM @schema@.kudos_reservations WHERE state = 'active' OFFSET 0) active
WHERE owner_event_id IS NULL)"};

}  // namespace

Result<HoldHealth> read_hold_health(db::Connection& connection) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kHoldHealth));
  HoldHealth health{rows.int64(0, 0), std::nullopt};
  if (!rows.is_null(0, 1)) health.oldest_reservation_seconds = static_cast<double>(rows.int64(0, 1)) / 1e6;
  return health;
}

}  // namespace kudos::store
