// Emitting one command from the command line: transaction, dry run, answer.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "kudos/commands.h"

namespace kudos::cli {

// The options of every command that changes accounting.
struct ChangeOptions {
  std::string key;
  std::string metadata;
  bool dry_run = false;

  void declare(CLI::App& command);
  EventOptions event_options() const;
};

// Emits `command` in a transaction of its own and prints what came of it. With a dry run the postings and the resulting
// balances of `users` are shown and nothing is committed.
Result<int> issue(const Globals& globals, const ChangeOptions& change, const Command& command,
                  const std::vector<UserRef>& users);

}  // namespace kudos::cli
