// The part of `kudos replay` that stores: batches of jobs, each in a transaction of its own, under keys.
//
// Thread-safety: one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cli/command.h"
#include "kudos/session.h"
#include "sim/trace_settler.h"

namespace kudos::cli {

struct ReplayTotals {
  std::int64_t jobs = 0;
  std::int64_t stored = 0;
  std::int64_t replayed = 0;
  std::int64_t skipped_rows = 0;
  double seconds = 0;
  bool stopped = false;  // by a signal, before the end of the file
};

// Every job has a key, so a batch whose fate is unknown is simply sent again: what was stored is replayed.
class Feeder {
 public:
  Feeder(const Globals& globals, std::string conninfo, sim::TraceSettler settler)
      : globals_(globals), conninfo_(std::move(conninfo)), settler_(std::move(settler)) {}

  // Stores all of them or none, trying again what another attempt may mend.
  Result<sim::SettleCounts> feed(std::span<const sim::TraceJob> jobs);

 private:
  Status open();
  Result<sim::SettleCounts> try_feed(std::span<const sim::TraceJob> jobs);
  Result<sim::SettleCounts> transact(std::span<const sim::TraceJob> jobs);

  const Globals& globals_;
  std::string conninfo_;
  sim::TraceSettler settler_;
  std::optional<db::Connection> connection_;
  std::optional<Session> session_;
};

// The next batch; empty at the end of the file. Bad rows are counted and skipped when the caller wants that.
Result<std::vector<sim::TraceJob>> next_batch(sim::TraceReader& reader, bool skip_bad, ReplayTotals& totals);

}  // namespace kudos::cli
