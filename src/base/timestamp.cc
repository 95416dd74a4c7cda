#include "base/timestamp.h"

#include <chrono>
#include <fmt/chrono.h>

namespace kudos {

Timestamp Timestamp::now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()};
}

std::string Timestamp::to_string() const {
  constexpr std::int64_t kSecond = 1'000'000;
  std::int64_t seconds = micros / kSecond, rest = micros % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:06}Z", fmt::gmtime(static_cast<std::time_t>(seconds)), rest);
}

}  // namespace kudos
