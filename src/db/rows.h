// The rows of one statement, in the binary format. Reading a column as another type than it has is a programmer's
// error and stops the process.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "db/params.h"

struct pg_result;

namespace kudos::db {

class Rows {
 public:
  explicit Rows(pg_result* result);
  ~Rows();
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&& other) noexcept;

  int size() const;
  bool empty() const { return size() == 0; }
  // Rows changed by INSERT, UPDATE or DELETE.
  std::int64_t affected() const;

  bool is_null(int row, int column) const;
  bool boolean(int row, int column) const;
  std::int16_t int16(int row, int column) const;
  std::int32_t int32(int row, int column) const;
  std::int64_t int64(int row, int column) const;
  // Valid as long as these rows are.
  std::string_view text(int row, int column) const;
  Uuid uuid(int row, int column) const;
  Timestamp timestamp(int row, int column) const;
  Tid tid(int row, int column) const;
  // The value of a NUMERIC with at most two decimals.
  Total total(int row, int column) const;
  Amount amount(int row, int column) const;

  template <class Read>
  auto optional(int row, int column, Read read) const -> std::optional<decltype((this->*read)(row, column))> {
    if (is_null(row, column)) return std::nullopt;
    return (this->*read)(row, column);
  }

 private:
  const char* fixed(int row, int column, int bytes) const;

  pg_result* result_;
};

}  // namespace kudos::db
