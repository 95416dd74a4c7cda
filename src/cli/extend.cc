// extend: more for a hold, or more time.
#include "base/try.h"
#include "cli/command.h"
#include "cli/issue_hold.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string hold, amount, expires;
  ChangeOptions change;
};

Result<int> extend(const Globals& globals, const Options& options) {
  Extend command;
  command.hold = options.hold;
  if (!options.amount.empty()) {
    KUDOS_ASSIGN(command.amount, Amount::parse(options.amount));
  }
  KUDOS_ASSIGN(command.lifetime, lifetime_of(options.expires));
  command.options = options.change.event_options();
  return issue_hold(globals, options.change, command);
}

void require_something(const Options& options) {
  if (options.amount.empty() && options.expires.empty())
    throw CLI::RequiredError("--amount, --expires or both are required", CLI::ExitCodes::RequiredError);
}

}  // namespace

void add_extend(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("extend", "Raise what a hold claims, or move its deadline");
  command->add_option("hold", options->hold, "The hold's id")->option_text("ID")->required()->check(check_filled);
  command->add_option("--amount", options->amount, "What it claims in all from now on, not what is added")
      ->option_text("AMOUNT")
      ->check(check_filled);
  declare_expires(*command, options->expires);
  options->change.declare_eventless(*command);
  command->footer(
      "At least one of --amount and --expires. The difference must be available. A deadline is counted from now and\n"
      "only moves outwards; a hold without one stays without.\n\n"
      "Examples:\n  kudos extend job-7 --amount 20\n  kudos extend job-7 --amount 25 --expires 10m --dry-run");
  command->callback([&, options] {
    require_something(*options);
    run = [&, options] { return extend(globals, *options); };
  });
}

}  // namespace kudos::cli
