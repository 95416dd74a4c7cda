// Points in time.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace kudos {

// Microseconds since 1970-01-01 00:00:00 UTC, the resolution of PostgreSQL's timestamptz.
struct Timestamp {
  std::int64_t micros = 0;
  auto operator<=>(const Timestamp&) const = default;

  static Timestamp now();
  // "2026-11-30 21:23:42.000123Z"
  std::string to_string() const;
};

}  // namespace kudos
