// Recorded usage as jobs: three public file formats read into one shape, so that `kudos replay` can settle them.
//
// A trace is read once, from start to end, in memory that doesn't grow with its length, and always gives the same jobs:
// what a format doesn't record (requesters, workers, prices) is derived from line numbers, never from a random source.
// The formulas are in docs/reference/traces.md.
//
// Thread-safety: a reader belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kudos/amount.h"
#include "kudos/commands.h"
#include "kudos/error.h"

namespace kudos::sim {

enum class TraceFormat : std::uint8_t {
  slurm,      // "slurm": job accounting of a compute cluster, one line a job
  azure_llm,  // "azure-llm": requests to a language model, one line a request, no users
  servegen,   // "servegen": request rates of clients, one line a client and 600 seconds
};

// Accepts the names above; invalid_request otherwise, with the names in the message.
Result<TraceFormat> parse_trace_format(std::string_view name);
std::string_view trace_format_name(TraceFormat format);

// One job, ready to be settled. Names are the hosts' own (`users.external_id`, `NewTeam::name`, `NewWorker::name`); a
// worker's name determines its owner, team and type.
struct TraceJob {
  std::int64_t line = 0;  // where it stands in the file, from 1, the header included
  std::string key;        // unique inside the file: "LINE", or "LINE:INDEX" where a line makes several jobs
  std::string requester;
  std::string owner;  // the worker's
  std::string team;   // the worker's; empty: none
  std::string worker;
  std::string worker_type;
  std::string wp_type;
  Amount cost;    // ≥ 0
  Amount reward;  // ≥ 0, at most the cost
  Amount things;  // ≥ 0, raw: CPU-seconds, tokens or pixelsteps
  JobOutcome outcome = JobOutcome::completed;
};

struct TraceOptions {
  // Take one request in this many. Only for servegen, whose lines stand for many requests; ≥ 1.
  std::int64_t one_in = 1;
};

class TraceReader {
 public:
  virtual ~TraceReader() = default;

  // The next job, nullopt at the end. After bad_row, whose message names file, line, column and value, the next call
  // goes on with the following row: a caller may skip and count. Any other error is final.
  virtual Result<std::optional<TraceJob>> next() = 0;

  // Progress, in bytes of the file. The total is its size when it was opened.
  virtual std::int64_t bytes_read() const = 0;
  virtual std::int64_t bytes_total() const = 0;
  // The line read last.
  virtual std::int64_t line() const = 0;
};

// Opens a file and checks its header line. Refuses a file that can't be read (file_unreadable), another header than
// the format's (wrong_format; says which known format the file looks like) and options that don't fit the format
// (invalid_request).
Result<std::unique_ptr<TraceReader>> open_trace(const std::string& path, TraceFormat format,
                                                const TraceOptions& options = {});

// SHA-256 of the file's content as 64 hexadecimal digits: names a recording, whatever its path. Reads the whole file
// in flat memory; file_unreadable.
Result<std::string> file_digest(const std::string& path);

}  // namespace kudos::sim
