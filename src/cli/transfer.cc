// transfer: from one user to another, out of what is available.
#include "base/try.h"
#include "cli/command.h"
#include "cli/issue_command.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string payer, recipient, amount;
  ChangeOptions change;
};

Result<int> transfer(const Globals& globals, const Options& options) {
  Transfer command;
  KUDOS_ASSIGN(command.payer, UserRef::parse(options.payer));
  KUDOS_ASSIGN(command.recipient, UserRef::parse(options.recipient));
  KUDOS_ASSIGN(command.amount, Amount::parse(options.amount));
  command.options = options.change.event_options();
  return issue(globals, options.change, command);
}

}  // namespace

void add_transfer(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("transfer", "Give kudos of one user to another");
  command->add_option("from", options->payer, "Who gives: number, or ext:NAME")
      ->option_text("FROM")
      ->required()
      ->check(check_utf8);
  command->add_option("to", options->recipient, "Who gets: number, or ext:NAME")
      ->option_text("TO")
      ->required()
      ->check(check_utf8);
  command->add_option("amount", options->amount, "Kudos, above 0, at most two decimals")
      ->option_text("AMOUNT")
      ->required();
  options->change.declare(*command);
  command->footer(
      "Refused unless that much is available, and for a while after a transfer the other way (`kudos settings`).\n\n"
      "Examples:\n  kudos transfer ext:alice ext:bob 5 --key gift-3\n  kudos transfer 17 ext:bob 2.50 --dry-run");
  command->callback([&, options] { run = [&, options] { return transfer(globals, *options); }; });
}

}  // namespace kudos::cli
