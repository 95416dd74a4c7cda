// Commands on holds that leave no event: transaction, dry run, answer.
#pragma once

#include "cli/command.h"
#include "cli/issue_command.h"

namespace kudos::cli {

// Reserves or extends in a transaction of its own and prints the hold as it is afterwards, and what its payer still has
// available. A dry run prints the same and commits nothing.
Result<int> issue_hold(const Globals& globals, const ChangeOptions& change, const Command& command);

// --expires: when a hold ends by itself.
CLI::Option* declare_expires(CLI::App& command, std::string& expires);
Result<std::optional<std::chrono::seconds>> lifetime_of(const std::string& expires);

}  // namespace kudos::cli
