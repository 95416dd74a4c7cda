#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "base/try.h"
#include "sim/trace_internal.h"

namespace kudos::sim::trace_internal {
namespace {

enum Column : std::size_t {
  kCluster = 0,
  kPartition = 2,
  kAccount = 4,
  kUser = 5,
  kElapsed = 9,
  kState = 10,
  kNcpus = 12
};

constexpr std::int64_t kSecondsPerKudos = 60;  // one kudos buys a CPU-minute
// Keeps a job far below the largest amount: 31 million CPU-years.
constexpr Int128 kMaxCpuSeconds = amount_detail::pow10(15);

constexpr std::array<std::string_view, 8> kUnfinishedStates = {"FAILED",    "CANCELLED",     "PREEMPTED", "TIMEOUT",
                                                               "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"};

std::optional<JobOutcome> parse_state(std::string_view state) {
  constexpr std::string_view kCancelledBy = "CANCELLED by ";
  if (state == "COMPLETED") return JobOutcome::completed;
  if (std::ranges::find(kUnfinishedStates, state) != kUnfinishedStates.end()) return JobOutcome::cancelled;
  if (state.starts_with(kCancelledBy) && parse_digits(state.substr(kCancelledBy.size()), 10)) {
    return JobOutcome::cancelled;
  }
  return std::nullopt;
}

// Seconds of HH:MM:SS.
std::optional<std::int64_t> parse_clock(std::string_view text) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hours = parse_digits(text.substr(0, 2), 2);
  const auto minutes = parse_digits(text.substr(3, 2), 2);
  const auto seconds = parse_digits(text.substr(6, 2), 2);
  if (!hours || !minutes || !seconds || *hours > 23 || *minutes > 59 || *seconds > 59) return std::nullopt;
  return (*hours * 60 + *minutes) * 60 + *seconds;
}

// Seconds of [D-]HH:MM:SS.
std::optional<std::int64_t> parse_elapsed(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return parse_clock(text);
  const auto days = parse_digits(text.substr(0, dash), 6);
  const auto clock = parse_clock(text.substr(dash + 1));
  if (!days || !clock) return std::nullopt;
  return *days * 86'400 + *clock;
}

class SlurmReader final : public CsvTraceReader {
 public:
  using CsvTraceReader::CsvTraceReader;

  Result<std::optional<TraceJob>> next() override {
    KUDOS_ASSIGN(const std::optional<CsvRow> row, csv().next());
    if (!row) return std::nullopt;
    return to_job(*row);
  }

 private:
  Result<TraceJob> to_job(const CsvRow& row);
  Status name_accounts(const CsvRow& row, TraceJob& job) const;
  Status price(const CsvRow& row, TraceJob& job) const;
  Result<std::int64_t> cpu_seconds(const CsvRow& row) const;

  // Who owns an account's workers: the first user seen in it. Grows with the accounts, not with the jobs.
  std::unordered_map<std::string, std::string> owners_;
};

Result<TraceJob> SlurmReader::to_job(const CsvRow& row) {
  TraceJob job;
  job.line = row.line;
  job.key = std::to_string(row.line);
  KUDOS_TRY(name_accounts(row, job));
  KUDOS_TRY(price(row, job));
  // Last, so that a refused row owns nothing.
  job.owner = owners_.try_emplace(job.team, job.requester).first->second;
  return job;
}

Status SlurmReader::name_accounts(const CsvRow& row, TraceJob& job) const {
  KUDOS_TRY(not_empty(csv(), "cluster", row.fields[kCluster]));
  KUDOS_TRY(not_empty(csv(), "partition", row.fields[kPartition]));
  KUDOS_TRY(not_empty(csv(), "account", row.fields[kAccount]));
  KUDOS_TRY(not_empty(csv(), "user", row.fields[kUser]));
  job.requester = row.fields[kUser];
  job.team = row.fields[kAccount];
  job.worker = row.fields[kCluster];
  job.worker.append("/").append(row.fields[kPartition]).append("/").append(job.team);
  job.worker_type = job.wp_type = "batch";
  return {};
}

Status SlurmReader::price(const CsvRow& row, TraceJob& job) const {
  const auto outcome = parse_state(row.fields[kState]);
  if (!outcome) return csv().bad_value("state", row.fields[kState], "no final state of a Slurm job has this name");
  KUDOS_ASSIGN(const std::int64_t seconds, cpu_seconds(row));
  job.outcome = *outcome;
  job.things = Amount::whole(seconds);
  KUDOS_ASSIGN(job.cost, job.things.scaled(1, kSecondsPerKudos));
  KUDOS_ASSIGN(job.reward, job.cost.scaled(1, job.outcome == JobOutcome::completed ? 1 : 2));
  return {};
}

Result<std::int64_t> SlurmReader::cpu_seconds(const CsvRow& row) const {
  const auto elapsed = parse_elapsed(row.fields[kElapsed]);
  if (!elapsed) return csv().bad_value("elapsed", row.fields[kElapsed], "a time as [D-]HH:MM:SS is expected");
  KUDOS_ASSIGN(const std::int64_t ncpus, whole_number(csv(), "ncpus", row.fields[kNcpus], 9));
  if (ncpus == 0 && *elapsed > 0) {
    return csv().bad_value("ncpus", row.fields[kNcpus], "a job that ran needs at least one");
  }
  const Int128 seconds = static_cast<Int128>(*elapsed) * ncpus;
  if (seconds > kMaxCpuSeconds) {
    return csv().bad_value("ncpus", row.fields[kNcpus], "times the elapsed time it's over 10^15 CPU-seconds");
  }
  return static_cast<std::int64_t>(seconds);
}

}  // namespace

std::unique_ptr<TraceReader> make_slurm_reader(CsvReader csv) { return std::make_unique<SlurmReader>(std::move(csv)); }

}  // namespace kudos::sim::trace_internal
