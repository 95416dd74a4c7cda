// The physical place of a row version (PostgreSQL's `tid`): page and position in it.
#pragma once

#include <cstdint>

namespace kudos::db {

struct Tid {
  std::uint32_t block = 0;
  std::uint16_t offset = 0;  // from 1

  bool operator==(const Tid&) const = default;
};

}  // namespace kudos::db
