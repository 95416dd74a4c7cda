// uptime: rewards a worker's owner for its being there.
#include "base/try.h"
#include "cli/command.h"
#include "cli/issue_command.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string worker;
  std::string amount;
  bool bypass_evaluation = false;
  ChangeOptions change;
};

Result<int> reward(const Globals& globals, const Options& options) {
  UptimeReward command;
  KUDOS_ASSIGN(command.worker, Uuid::parse(options.worker));
  KUDOS_ASSIGN(command.amount, Amount::parse(options.amount));
  command.bypass_evaluation = options.bypass_evaluation;
  command.options = options.change.event_options();
  return issue(globals, options.change, command);
}

}  // namespace

void add_uptime(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("uptime", "Reward a worker's owner for its being there");
  command->add_option("worker", options->worker, "The worker's id")->option_text("UUID")->required();
  command->add_option("amount", options->amount, "Kudos, above 0, at most two decimals")
      ->option_text("AMOUNT")
      ->required();
  command->add_flag("--bypass-evaluation", options->bypass_evaluation, "Spendable at once, whoever the owner is");
  options->change.declare(*command);
  command->footer(
      "Trusted and anonymous owners earn spendable kudos, all others kudos in evaluation.\n\n"
      "Example:\n  kudos uptime 0199e6c2-3a4b-7c5d-8e6f-0123456789ab 2.5 --key uptime-7-2026-05-01");
  command->callback([&, options] { run = [&, options] { return reward(globals, *options); }; });
}

}  // namespace kudos::cli
