// charge: from one user to the sink or to another user.
#include "base/try.h"
#include "cli/command.h"
#include "cli/issue_command.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string payer;
  std::string amount;
  std::string payee;
  std::string reason;
  std::string hold;
  bool check = false;
  ChangeOptions change;
};

Result<int> charge(const Globals& globals, const Options& options) {
  Charge command;
  KUDOS_ASSIGN(command.payer, UserRef::parse(options.payer));
  KUDOS_ASSIGN(command.amount, Amount::parse(options.amount));
  if (!options.payee.empty()) {
    KUDOS_ASSIGN(command.payee, UserRef::parse(options.payee));
  }
  command.reason = options.reason;
  command.hold = options.hold;
  command.check = options.check;
  command.options = options.change.event_options();
  return issue(globals, options.change, command);
}

}  // namespace

void add_charge(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("charge", "Take kudos from a user for something used");
  command->add_option("payer", options->payer, "Number, or ext:NAME")
      ->option_text("PAYER")
      ->required()
      ->check(check_utf8);
  command->add_option("amount", options->amount, "Kudos, above 0, at most two decimals")
      ->option_text("AMOUNT")
      ->required();
  command->add_option("--to", options->payee, "Who gets them; without it the sink does")
      ->option_text("USER")
      ->check(check_filled);
  declare_reason(*command, options->reason);
  auto* hold = declare_hold(*command, options->hold);
  command->add_flag("--check", options->check, "Refuse unless that much is available")->excludes(hold);
  options->change.declare(*command);
  command->footer(
      "Without --check it is accepted whatever the balance is: a cost that became known late is a fact. With --hold\n"
      "it uses up what was reserved for it; `kudos capture` is the one that is checked against the hold.\n\n"
      "Examples:\n  kudos charge ext:alice 3 --reason 'storage, May' --key storage-alice-05\n"
      "  kudos charge 17 10 --to ext:bob --dry-run\n"
      "  kudos charge ext:alice 3 --check");
  command->callback([&, options] { run = [&, options] { return charge(globals, *options); }; });
}

}  // namespace kudos::cli
