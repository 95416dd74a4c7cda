// 128-bit identifiers. Random ids are version 7 (time-ordered: neighbours in an index), ids made from a name are
// version 5 (SHA-1), so that the same idempotency key always makes the same event id.
//
// Thread-safety: plain values; `Uuid::v7()` may be called from any thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kudos/error.h"

namespace kudos {

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  static Uuid v7();
  static Uuid v5(const Uuid& name_space, std::string_view name);
  // Accepts the 36-character form in either case; invalid_request otherwise.
  static Result<Uuid> parse(std::string_view text);

  std::string to_string() const;
  bool is_nil() const { return *this == Uuid{}; }
  auto operator<=>(const Uuid&) const = default;
};

}  // namespace kudos

template <>
struct std::hash<kudos::Uuid> {
  std::size_t operator()(const kudos::Uuid& id) const noexcept {
    // The last eight bytes are random (v7) or digest (v5) bits.
    std::uint64_t tail = 0;
    for (int i = 8; i < 16; ++i) tail = tail << 8 | id.bytes[static_cast<std::size_t>(i)];
    return static_cast<std::size_t>(tail * 0x9E3779B97F4A7C15ull);
  }
};
