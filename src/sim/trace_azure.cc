#include "base/try.h"
#include "sim/trace_internal.h"

namespace kudos::sim::trace_internal {
namespace {

enum Column : std::size_t { kContext = 1, kGenerated = 2 };

constexpr std::size_t kTokenDigits = 12;
constexpr std::uint64_t kCallers = 200;
constexpr std::uint64_t kWorkers = 24;
constexpr std::uint64_t kWorkersPerOwner = 3;

// One in three is anonymous, the others crowd towards the low numbers: the square of a uniform draw.
std::string draw_requester(std::uint64_t hash) {
  if (hash % 3 == 0) return "anonymous";
  const std::uint64_t draw = splitmix64(hash) % 1'000;
  return numbered("caller-", kCallers * draw * draw / 1'000'000 + 1, 3);
}

void draw_names(TraceJob& job) {
  const std::uint64_t hash = splitmix64(static_cast<std::uint64_t>(job.line));
  const std::uint64_t worker = splitmix64(~hash) % kWorkers;
  const std::uint64_t owner = worker / kWorkersPerOwner;
  job.requester = draw_requester(hash);
  job.worker = numbered("gpu-", worker + 1, 2);
  job.owner = numbered("host-", owner + 1, 1);
  job.worker_type = job.wp_type = "text";  // and so without a team: only image workers carry one
}

class AzureReader final : public CsvTraceReader {
 public:
  using CsvTraceReader::CsvTraceReader;

  Result<std::optional<TraceJob>> next() override {
    KUDOS_ASSIGN(const std::optional<CsvRow> row, csv().next());
    if (!row) return std::nullopt;
    return to_job(*row);
  }

 private:
  Result<TraceJob> to_job(const CsvRow& row) const {
    KUDOS_ASSIGN(const auto context, whole_number(csv(), "ContextTokens", row.fields[kContext], kTokenDigits));
    KUDOS_ASSIGN(const auto generated, whole_number(csv(), "GeneratedTokens", row.fields[kGenerated], kTokenDigits));
    TraceJob job;
    job.line = row.line;
    job.key = std::to_string(row.line);
    draw_names(job);
    job.things = Amount::whole(generated);
    // (context / 10 + generated) / 10 kudos without a division: nothing to round.
    job.cost = job.reward = Amount::from_hundredths(context + 10 * generated);
    return job;
  }
};

}  // namespace

std::unique_ptr<TraceReader> make_azure_reader(CsvReader csv) { return std::make_unique<AzureReader>(std::move(csv)); }

}  // namespace kudos::sim::trace_internal
