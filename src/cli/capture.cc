// capture: charges what a hold was made for.
#include "base/try.h"
#include "cli/command.h"
#include "cli/issue_command.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string hold, amount, payee, reason;
  bool final = false, over = false, late = false;
  ChangeOptions change;
};

Result<int> capture(const Globals& globals, const Options& options) {
  Capture command;
  command.hold = options.hold;
  KUDOS_ASSIGN(command.amount, Amount::parse(options.amount));
  command.final = options.final;
  command.over = options.over;
  command.late = options.late;
  if (!options.payee.empty()) {
    KUDOS_ASSIGN(command.payee, UserRef::parse(options.payee));
  }
  command.reason = options.reason;
  command.options = options.change.event_options();
  return issue(globals, options.change, command);
}

void declare(CLI::App& command, Options& options) {
  command.add_option("hold", options.hold, "The hold's id")->option_text("ID")->required()->check(check_filled);
  command.add_option("amount", options.amount, "Kudos, above 0, at most two decimals")
      ->option_text("AMOUNT")
      ->required();
  command.add_flag("--final", options.final, "The last one: release the rest of the hold");
  command.add_flag("--over", options.over, "Take what exceeds the hold from what is available");
  command.add_flag("--late", options.late, "If the hold has ended: a plain charge, if that much is available");
  command.add_option("--to", options.payee, "Who gets them; without it the sink does")
      ->option_text("USER")
      ->check(check_filled);
  declare_reason(command, options.reason);
  options.change.declare(command);
}

}  // namespace

void add_capture(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("capture", "Charge a part or all of what a hold claims");
  declare(*command, *options);
  command->footer(
      "In parts, never more than is left of the hold unless --over says so. When all is taken, the hold has ended.\n\n"
      "Examples:\n  kudos capture job-7 4.50\n"
      "  kudos capture job-7 9 --final --over --late --to ext:bob --key job-7-end\n"
      "  kudos capture job-7 4.50 --dry-run");
  command->callback([&, options] { run = [&, options] { return capture(globals, *options); }; });
}

}  // namespace kudos::cli
