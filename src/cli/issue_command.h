// Emitting one command from the command line: transaction, dry run, answer.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "cli/command.h"
#include "kudos/commands.h"

namespace kudos::cli {

// The options of every command that changes accounting.
struct ChangeOptions {
  std::string key;
  std::string metadata;
  bool dry_run = false;

  void declare(CLI::App& command);
  // The same without --key.
  void declare_keyless(CLI::App& command);
  // The same without --metadata: for commands that leave no event to keep it with.
  void declare_eventless(CLI::App& command);
  EventOptions event_options() const;
};

// Options that several of them have: --reason, kept as detail; --type, of work.
void declare_reason(CLI::App& command, std::string& reason);
void declare_type(CLI::App& command, std::string& type, const std::string& what);
// --hold: a hold that the debit uses.
CLI::Option* declare_hold(CLI::App& command, std::string& hold);

// Emits `command`, which leaves an event, in a transaction of its own and prints what came of it, with the hold that it
// names, if any. With a dry run the postings and the resulting balances of all who take part are shown and nothing is
// committed.
Result<int> issue(const Globals& globals, const ChangeOptions& change, const Command& command);

boost::json::object receipt_to_json(const Receipt& receipt);
// "event …", for people.
std::string describe(const Receipt& receipt);

}  // namespace kudos::cli
