// What `kudos replay` says at its end.
#pragma once

#include "cli/command.h"
#include "cli/replay_feed.h"

namespace kudos::cli {

// Prints what was replayed, and what the ledger holds now; reads the whole archive for that.
Status print_summary(const Globals& globals, const ReplayTotals& totals);

}  // namespace kudos::cli
