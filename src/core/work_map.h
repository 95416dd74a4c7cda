// Where unapplied events can be: behind the frontier, or in one of the gaps before it. Pure.
//
// A sequence number below the frontier that was not seen may belong to a transaction that is still running, so it stays
// a gap until either its event is folded, or every transaction that was running when the gap was noticed has ended
// without it. That is sound because a producer gets its transaction id before it draws a sequence number. Gaps age in
// two generations: the older one has a horizon, the transaction id below which every possible owner lies.
//
// A map of where to look, not a watermark: nothing below the frontier is taken for applied because of its number.
// Source: design, "Where unapplied work can be".
#pragma once

#include <cstdint>

#include "core/seq_set.h"

namespace kudos {

struct WorkMap {
  std::int64_t frontier = 0;  // the highest sequence number folded
  SeqSet gaps;                // may hold unapplied events; their owners are older than `horizon`
  SeqSet young_gaps;          // the same, noticed later
  std::uint64_t horizon = 0;  // a transaction id

  SeqSet all_gaps() const { return gaps | young_gaps; }
  bool operator==(const WorkMap&) const = default;
};

// What one cycle saw and did.
struct Sighting {
  SeqSet settled;            // folded by this cycle, or numbers that it drew itself for floor adjustments
  std::int64_t highest = 0;  // how far behind the frontier was looked; 0 when nothing was there
  SeqSet waiting;  // events in the gaps that exist, unapplied, and were not folded by this cycle (locked, or too many)
  // Of a snapshot taken before or together with the look into the gaps: all transactions below xmin had ended.
  std::uint64_t snapshot_xmin = 0;
  // Of a snapshot taken after the claim: every transaction that can own a number below `highest` is below it.
  std::uint64_t snapshot_xmax = 0;
};

WorkMap advance(const WorkMap& map, const Sighting& sighting);

}  // namespace kudos
