#include <algorithm>
#include <unordered_map>

#include "base/try.h"
#include "sim/trace_internal.h"

namespace kudos::sim::trace_internal {
namespace {

enum Column : std::size_t { kClient = 0, kStart = 1, kRate = 2 };

constexpr std::int64_t kWindowSeconds = 600;
constexpr std::size_t kRateDecimals = 12;
constexpr Int128 kRateUnit = amount_detail::pow10(kRateDecimals);

constexpr std::uint64_t kWorkers = 40;
constexpr std::uint64_t kWorkersPerOwner = 4;
constexpr std::uint64_t kOwnersPerTeam = 2;
constexpr std::uint64_t kMaxMegapixelsteps = 4;

// digits[.digits] requests a second in units of 10^-12; further decimals are cut off.
std::optional<Int128> parse_rate(std::string_view text) {
  const auto point = text.find('.');
  const auto whole = parse_digits(text.substr(0, point), 7);
  if (!whole) return std::nullopt;
  if (point == std::string_view::npos) return *whole * kRateUnit;
  const std::string_view decimals = text.substr(point + 1);
  if (decimals.empty() || decimals.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::string scaled(decimals.substr(0, kRateDecimals));
  scaled.append(kRateDecimals - scaled.size(), '0');
  return *whole * kRateUnit + *parse_digits(scaled, kRateDecimals);
}

// A line's window of requests that hasn't been handed out yet.
struct Window {
  std::int64_t line = 0;
  std::string client;
  std::int64_t requests = 0;
  std::int64_t taken_to = 0;  // index of the request looked at last, from 1

  std::int64_t left() const { return requests - taken_to; }
};

TraceJob to_job(const Window& window) {
  const auto line = static_cast<std::uint64_t>(window.line);
  const std::uint64_t hash = splitmix64(splitmix64(line) + static_cast<std::uint64_t>(window.taken_to));
  const std::uint64_t worker = hash % kWorkers;
  const std::uint64_t owner = worker / kWorkersPerOwner;
  const std::uint64_t size = splitmix64(hash);
  TraceJob job;
  job.line = window.line;
  job.key = std::to_string(window.line) + ":" + std::to_string(window.taken_to);
  job.requester = "client-" + window.client;
  job.worker = numbered("node-", worker + 1, 2);
  job.owner = numbered("operator-", owner + 1, 2);
  job.team = numbered("site-", owner / kOwnersPerTeam + 1, 1);
  job.worker_type = job.wp_type = "image";
  job.things = Amount::whole(1'000'000 * static_cast<std::int64_t>(size % kMaxMegapixelsteps + 1));
  job.cost = job.reward = Amount::from_hundredths(1'000 + splitmix64(size) % 1'000);
  return job;
}

class ServegenReader final : public CsvTraceReader {
 public:
  ServegenReader(CsvReader csv, std::int64_t one_in)
      : CsvTraceReader(std::move(csv)), one_in_(one_in), until_next_(one_in) {}

  Result<std::optional<TraceJob>> next() override;

 private:
  Result<Window> to_window(const CsvRow& row);
  std::int64_t draw(std::int64_t client, Int128 rate);

  std::int64_t one_in_;
  std::int64_t until_next_;  // the request this many further on is the next to be taken
  Window window_;
  // What a client's windows left over below one request, in units of 10^-12. Grows with the clients only.
  std::unordered_map<std::int64_t, Int128> carried_;
};

Result<std::optional<TraceJob>> ServegenReader::next() {
  while (window_.left() < until_next_) {
    until_next_ -= window_.left();
    window_ = {};
    KUDOS_ASSIGN(const std::optional<CsvRow> row, csv().next());
    if (!row) return std::nullopt;
    KUDOS_ASSIGN(window_, to_window(*row));
  }
  window_.taken_to += until_next_;
  until_next_ = one_in_;
  return to_job(window_);
}

Result<Window> ServegenReader::to_window(const CsvRow& row) {
  KUDOS_ASSIGN(const std::int64_t client, whole_number(csv(), "client", row.fields[kClient], 9));
  KUDOS_TRY(whole_number(csv(), "t_s", row.fields[kStart], 12));
  const auto rate = parse_rate(row.fields[kRate]);
  if (!rate) {
    return csv().bad_value("rate_rps", row.fields[kRate],
                           "a plain decimal from 0 to below 10000000 requests a second is expected");
  }
  return Window{row.line, std::to_string(client), draw(client, *rate), 0};
}

// A client's requests in one window: whole ones, with the rest kept for its next window.
std::int64_t ServegenReader::draw(std::int64_t client, Int128 rate) {
  Int128& carried = carried_[client];
  const Int128 requests = rate * kWindowSeconds + carried;
  carried = requests % kRateUnit;
  return static_cast<std::int64_t>(requests / kRateUnit);
}

}  // namespace

std::unique_ptr<TraceReader> make_servegen_reader(CsvReader csv, std::int64_t one_in) {
  return std::make_unique<ServegenReader>(std::move(csv), one_in);
}

}  // namespace kudos::sim::trace_internal
