#include <charconv>
#include <cstdlib>

#include "base/try.h"
#include "ledger/projector.h"

namespace kudos::ledger {
namespace {

Status read_variable(const char* name, std::int64_t smallest, std::int64_t largest, auto assign) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return {};
  std::int64_t value = 0;
  const std::string_view view = text;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || value < smallest || value > largest)
    return fail(ErrorCode::invalid_request, std::string(name) + " is '" + text + "'; a whole number from " +
                                                std::to_string(smallest) + " to " + std::to_string(largest) +
                                                " is expected");
  assign(value);
  return {};
}

Result<std::optional<Amount>> read_amount(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const auto amount = Amount::parse(text);
  if (amount && !amount->is_negative()) return *amount;
  return fail(ErrorCode::invalid_request,
              std::string(name) + " is '" + text + "'; an amount of kudos, not negative, is expected");
}

}  // namespace

Result<ProjectorOptions> ProjectorOptions::from_environment() {
  ProjectorOptions options;
  KUDOS_TRY(read_variable("KUDOS_APPLIER_BATCH_SIZE", 1, 1'000'000,
                          [&](auto value) { options.batch_postings = static_cast<std::int32_t>(value); }));
  KUDOS_TRY(read_variable("KUDOS_APPLIER_INTERVAL", 1, 3600,
                          [&](auto value) { options.interval = std::chrono::seconds(value); }));
  KUDOS_TRY(read_variable("KUDOS_APPLIER_MAX_CATCHUP_CYCLES", 1, 10'000,
                          [&](auto value) { options.max_catchup_cycles = static_cast<std::int32_t>(value); }));
  KUDOS_ASSIGN(options.trust.threshold, read_amount("KUDOS_TRUST_THRESHOLD"));
  return options;
}

}  // namespace kudos::ledger
