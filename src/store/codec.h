// What several statements pass and read in the same way: digests, and texts of which none is NULL.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/sha256.h"
#include "db/params.h"
#include "db/rows.h"

namespace kudos::store {

inline std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// Nothing for NULL.
inline std::optional<Digest> read_digest(const db::Rows& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::nullopt;
  Digest digest{};
  std::ranges::copy(rows.text(row, column).substr(0, digest.size()), digest.begin());
  return digest;
}

// An empty text is none.
inline void add_or_null(db::Array& array, std::string_view text) {
  if (text.empty())
    array.null();
  else
    array.add(text);
}

}  // namespace kudos::store
