// Big-endian integers as PostgreSQL's binary formats use them.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <string>
#include <type_traits>

namespace kudos::db {

template <std::integral T>
constexpr T to_big_endian(T value) {
  if constexpr (std::endian::native == std::endian::little) return std::byteswap(value);
  return value;
}

template <std::integral T>
void put(std::string& out, T value) {
  const T big = to_big_endian(value);
  out.append(reinterpret_cast<const char*>(&big), sizeof big);
}

template <std::integral T>
T get(const char* at) {
  T big;
  std::memcpy(&big, at, sizeof big);
  return to_big_endian(big);
}

}  // namespace kudos::db
