// A set of sequence numbers as sorted, disjoint, inclusive ranges: PostgreSQL's int8multirange.
//
// Thread-safety: a plain value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kudos/error.h"
#include "kudos/ids.h"

namespace kudos {

struct SeqRange {
  std::int64_t first = 0;
  std::int64_t last = 0;  // inclusive
  auto operator<=>(const SeqRange&) const = default;
};

class SeqSet {
 public:
  SeqSet() = default;
  static SeqSet of(std::span<const EventSeq> seqs);            // in any order
  static SeqSet range(std::int64_t first, std::int64_t last);  // empty when first > last
  // The text form of int8multirange, e.g. "{[1,5),[9,10)}"; database_error for anything else.
  static Result<SeqSet> parse(std::string_view text);
  std::string to_string() const;

  bool empty() const { return ranges_.empty(); }
  bool contains(EventSeq seq) const;
  std::span<const SeqRange> ranges() const { return ranges_; }

  friend SeqSet operator|(const SeqSet& a, const SeqSet& b);
  friend SeqSet operator-(const SeqSet& a, const SeqSet& b);
  friend SeqSet operator&(const SeqSet& a, const SeqSet& b) { return a - (a - b); }
  bool operator==(const SeqSet&) const = default;

 private:
  void append(SeqRange range);  // starts at or behind the start of the last one

  std::vector<SeqRange> ranges_;
};

}  // namespace kudos
