// Facts about the shared database: the queue, the heartbeat, the journal. Cheap at any size of the archive: pending
// work is looked up where the projector says that it can be.
#pragma once

#include <cstdint>
#include <optional>

#include "core/canonical.h"
#include "db/connection.h"
#include "kudos/session.h"
#include "store/hold_health.h"

namespace kudos::store {

struct Health {
  Mode mode = Mode::shadow;
  std::int64_t pending_events = 0;
  std::int64_t pending_rows = 0;  // postings of the pending events
  std::int64_t pending_currency_rows = 0;
  std::int64_t pending_statistic_rows = 0;
  std::optional<double> oldest_pending_seconds;
  std::optional<double> heartbeat_seconds;  // nothing: no projector has ever run
  std::int64_t quarantined_events = 0;
  std::int64_t stuck_events = 0;  // pending, and can't be folded although others can
  std::int64_t last_fold = 0;
  HoldHealth holds;
};

Result<Health> read_health(db::Connection& connection);

// Just the number of events that wait to be folded.
Result<std::int64_t> count_pending(db::Connection& connection);

// Sums over the whole archive: reads all of it.
struct ArchiveTotals {
  std::int64_t events = 0;
  std::int64_t currency_postings = 0;
  std::int64_t statistic_postings = 0;
  Total currency_sum;  // zero, or a credit was invented or lost
};
Result<ArchiveTotals> read_archive_totals(db::Connection& connection);

}  // namespace kudos::store
