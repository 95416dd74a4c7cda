// Binary parameters of one statement, in the order of $1, $2, … The statement casts each ($1::bigint[]), so that the
// server knows the type; the codec here must be that type's.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/timestamp.h"
#include "db/tid.h"
#include "kudos/amount.h"
#include "kudos/ids.h"
#include "kudos/uuid.h"

namespace kudos::db {

using Oid = std::uint32_t;

// One array parameter, built element by element.
class Array {
 public:
  explicit Array(Oid element_type) : type_(element_type) {}
  static Array booleans() { return Array(16); }
  static Array bytes() { return Array(17); }
  static Array int64s() { return Array(20); }
  static Array int16s() { return Array(21); }
  static Array int32s() { return Array(23); }
  static Array texts() { return Array(25); }
  static Array tids() { return Array(27); }
  static Array numerics() { return Array(1700); }
  static Array timestamps() { return Array(1184); }
  static Array uuids() { return Array(2950); }

  void null();
  void add(bool value);
  void add(std::int16_t value);
  void add(std::int32_t value);
  void add(std::int64_t value);
  void add(UserId value) { add(value.value); }
  void add(EventSeq value) { add(value.value); }
  void add(std::string_view text);  // also enum labels and bytea
  void add(const char* text) { add(std::string_view(text)); }
  void add(const Uuid& value);
  void add(Amount value) { add_hundredths(value.hundredths()); }
  void add(Total value) { add_hundredths(value.hundredths()); }
  void add(Timestamp value);
  void add(Tid value);
  template <class T>
  void add(const std::optional<T>& value) {
    if (value)
      add(*value);
    else
      null();
  }

  std::int32_t size() const { return count_; }

 private:
  friend class Params;
  void add_hundredths(Int128 hundredths);

  Oid type_;
  std::int32_t count_ = 0;
  bool has_null_ = false;
  std::string elements_;
};

class Params {
 public:
  Params& null();
  Params& add(bool value);
  Params& add(std::int32_t value);
  Params& add(std::int64_t value);
  Params& add(UserId value) { return add(value.value); }
  Params& add(EventSeq value) { return add(value.value); }
  Params& add(FoldId value) { return add(value.value); }
  Params& add(std::string_view text);  // text, bytea, enum labels
  Params& add(const char* text) { return add(std::string_view(text)); }
  Params& add(const Uuid& value);
  Params& add(Amount value);
  Params& add(Total value);
  Params& add(Timestamp value);
  Params& add(const Array& array);
  // Sent in the text format: for types without a codec here (multiranges, xid8, intervals).
  Params& add_text_format(std::string_view text);
  template <class T>
  Params& add(const std::optional<T>& value) {
    return value ? add(*value) : null();
  }

  int count() const { return static_cast<int>(values_.size()); }

 private:
  friend class Connection;
  Params& push(std::string bytes, int format = 1);

  std::vector<std::string> values_;
  std::vector<char> nulls_;
  std::vector<int> formats_;
};

}  // namespace kudos::db
