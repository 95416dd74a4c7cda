#include "ledger/drain.h"

#include <thread>

#include "base/try.h"
#include "store/health.h"

namespace kudos::ledger {
namespace {

constexpr std::chrono::milliseconds kPollInterval{20};
// After so many failures in a row the projector has isolated what can be isolated.
constexpr int kMostFailures = 10;

}  // namespace

Result<DrainReport> drain(Projector& projector, std::chrono::milliseconds patience,
                          const std::function<void(const DrainReport&)>& progress) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  DrainReport report;
  for (int failures = 0;;) {
    const auto cycle = projector.run_once();
    const bool busy = !cycle && cycle.error().code == ErrorCode::applier_busy;
    const bool transient = !cycle && cycle.error().recovery == Recovery::retry;
    failures = cycle || busy ? 0 : failures + 1;
    const bool hopeless = projector.connection().is_broken() || failures > kMostFailures;
    if (!cycle && !busy && !transient && hopeless) return std::unexpected(cycle.error());
    if (cycle) report.folded_events += cycle->events;
    // Counting costs as much as a cycle on a long queue: only when this one suggests an end.
    if (!cycle || !cycle->more) {
      KUDOS_ASSIGN(report.pending_events, store::count_pending(projector.connection()));
      if (report.pending_events == 0) return report;
    }
    if (progress) progress(report);
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorCode::timed_out, std::to_string(report.pending_events) + " events are still pending",
                  "Somebody may hold a row that they need: look for long transactions in pg_stat_activity. Events that "
                  "can't be folded are listed in kudos_stuck_events.");
    if (!cycle || cycle->events == 0) std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace kudos::ledger
