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
  options->change.declare(*command);
  command->footer(
      "It is accepted whatever the balance is: check what is available first.\n\n"
      "Examples:\n  kudos charge ext:alice 3 --reason 'storage, May' --key storage-alice-05\n"
      "  kudos charge 17 10 --to ext:bob --dry-run");
  command->callback([&, options] { run = [&, options] { return charge(globals, *options); }; });
}

}  // namespace kudos::cli
