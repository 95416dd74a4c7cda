#include "cli/replay_feed.h"

#include <fmt/core.h>
#include <thread>

#include "base/try.h"

namespace kudos::cli {
namespace {

constexpr std::size_t kJobsPerTransaction = 250;
constexpr int kAttempts = 6;

// The one thing a person may change between two runs of a file that its keys don't tell apart.
Error explained(Error error) {
  if (error.code == ErrorCode::idempotency_conflict)
    error.hint = "The file was replayed before on other terms: give the same --opening-award as then.";
  return error;
}

}  // namespace

Result<sim::SettleCounts> Feeder::feed(std::span<const sim::TraceJob> jobs) {
  for (int attempt = 1;; ++attempt) {
    auto counts = try_feed(jobs);
    if (counts) return counts;
    if (counts.error().recovery == Recovery::none || attempt == kAttempts)
      return std::unexpected(explained(std::move(counts).error()));
    fmt::print(stderr, "replay: {}; trying again\n", counts.error().message);
    std::this_thread::sleep_for(std::chrono::milliseconds(100) * (1 << attempt));
  }
}

Status Feeder::open() {
  if (session_ && !connection_->is_broken()) return {};
  session_.reset();
  KUDOS_ASSIGN(auto connection, db::Connection::open(conninfo_, {.schema = globals_.schema}));
  connection_.emplace(std::move(connection));
  KUDOS_ASSIGN(auto session, Session::attach(connection_->raw(), {.schema = globals_.schema}));
  session_.emplace(std::move(session));
  return {};
}

Result<sim::SettleCounts> Feeder::try_feed(std::span<const sim::TraceJob> jobs) {
  KUDOS_TRY(open());
  auto counts = transact(jobs);
  if (!counts)
    connection_->roll_back();
  else
    settler_.committed();
  return counts;
}

Result<sim::SettleCounts> Feeder::transact(std::span<const sim::TraceJob> jobs) {
  KUDOS_TRY(connection_->execute(db::kBegin));
  KUDOS_ASSIGN(const auto counts, settler_.settle(*session_, jobs));
  KUDOS_TRY(connection_->execute(db::kCommit));
  return counts;
}

Result<std::vector<sim::TraceJob>> next_batch(sim::TraceReader& reader, bool skip_bad, ReplayTotals& totals) {
  std::vector<sim::TraceJob> jobs;
  while (jobs.size() < kJobsPerTransaction) {
    auto job = reader.next();
    if (!job && job.error().code == ErrorCode::bad_row && skip_bad) {
      totals.skipped_rows += 1;
      continue;
    }
    if (!job) return std::unexpected(std::move(job).error());
    if (!*job) break;
    jobs.push_back(std::move(**job));
  }
  return jobs;
}

}  // namespace kudos::cli
