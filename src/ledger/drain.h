// Folding until nothing is left.
#pragma once

#include <chrono>
#include <functional>

#include "ledger/projector.h"

namespace kudos::ledger {

struct DrainReport {
  std::int64_t folded_events = 0;  // by this call; another projector may have folded the rest
  std::int64_t pending_events = 0;
};

// Folds, or watches another projector fold, until no event is pending; timed_out when that takes longer than `patience`
// (what was folded stays folded). `progress` is told the state after every cycle and may be empty.
Result<DrainReport> drain(Projector& projector, std::chrono::milliseconds patience,
                          const std::function<void(const DrainReport&)>& progress);

}  // namespace kudos::ledger
