// reserve: a claim on what a user has available.
#include "base/try.h"
#include "cli/command.h"
#include "cli/issue_hold.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string user, amount, hold, expires;
  ChangeOptions change;
};

Result<int> reserve(const Globals& globals, const Options& options) {
  Reserve command;
  KUDOS_ASSIGN(command.payer, UserRef::parse(options.user));
  KUDOS_ASSIGN(command.amount, Amount::parse(options.amount));
  KUDOS_ASSIGN(command.lifetime, lifetime_of(options.expires));
  command.hold = options.hold;
  command.options = options.change.event_options();
  return issue_hold(globals, options.change, command);
}

}  // namespace

void add_reserve(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("reserve", "Hold kudos of a user for a cost to come");
  command->add_option("user", options->user, "Number, or ext:NAME")->option_text("USER")->required()->check(check_utf8);
  command->add_option("amount", options->amount, "Kudos, above 0, at most two decimals")
      ->option_text("AMOUNT")
      ->required();
  command->add_option("--id", options->hold, "Your own name for the hold, unique among active ones; required")
      ->option_text("ID")
      ->required()
      ->check(check_filled);
  declare_expires(*command, options->expires);
  options->change.declare_eventless(*command);
  command->footer(
      "Refused unless that much is available. An active id again, for the same user and amount, is the same hold.\n\n"
      "Examples:\n  kudos reserve ext:alice 12.50 --id job-7 --expires 10m\n"
      "  kudos reserve 17 100 --id batch-3 --dry-run");
  command->callback([&, options] { run = [&, options] { return reserve(globals, *options); }; });
}

}  // namespace kudos::cli
