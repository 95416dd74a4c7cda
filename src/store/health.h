// Facts about the shared database: the queue, the heartbeat, the journal. Cheap at any size of the archive: pending
// work is looked up where the projector says that it can be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/canonical.h"
#include "db/connection.h"
#include "kudos/session.h"
#include "store/hold_health.h"

namespace kudos::store {

// A queue of unapplied postings. Events applied inline wait for the journal only and don't count.
struct Queue {
  std::int64_t rows = 0;
  std::optional<double> oldest_seconds;  // nothing: it's empty
};

// Events set aside with one reason. Reviewed ones stay: they are evidence.
struct SetAside {
  std::string reason;
  std::int64_t events = 0;
  std::int64_t open_events = 0;  // that nobody has reviewed
};

struct Health {
  Mode mode = Mode::shadow;
  std::int64_t pending_events = 0;
  Queue pending;  // currency and statistics
  Queue pending_currency;
  Queue pending_statistics;
  std::optional<double> heartbeat_seconds;  // nothing: no projector has ever run
  std::int64_t quarantined_events = 0;
  std::int64_t stuck_events = 0;      // pending, and can't be folded although others can
  std::int64_t quarantined_rows = 0;  // their statistics; their currency has folded
  std::int64_t open_quarantined_events = 0;
  std::int64_t open_quarantined_rows = 0;
  std::optional<double> oldest_quarantined_seconds, newest_quarantined_seconds;  // since they were set aside
  std::optional<double> oldest_open_quarantined_seconds;
  std::vector<SetAside> quarantined_by_reason;  // those that occur
  std::int64_t last_fold = 0;
  HoldHealth holds;
};

// The cost follows the length of the queue and the number of events that were ever set aside.
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
