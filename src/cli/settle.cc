// settle: what one job moves between requester and worker.
#include "base/try.h"
#include "cli/command.h"
#include "cli/issue_command.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string requester, worker;
  std::string cost, reward;
  std::string things = "0";
  std::string job, type;
  std::string outcome = "completed";
  std::string hold;
  ChangeOptions change;
};

JobOutcome outcome_of(const std::string& name) {
  if (name == "cancelled") return JobOutcome::cancelled;
  if (name == "censored") return JobOutcome::censored;
  return name == "fake" ? JobOutcome::fake : JobOutcome::completed;
}

Result<Settlement> parse(const Options& options) {
  Settlement job;
  KUDOS_ASSIGN(job.requester, UserRef::parse(options.requester));
  KUDOS_ASSIGN(job.worker, Uuid::parse(options.worker));
  KUDOS_ASSIGN(job.cost, Amount::parse(options.cost));
  KUDOS_ASSIGN(job.things, Amount::parse(options.things));
  if (!options.reward.empty()) {
    KUDOS_ASSIGN(job.reward, Amount::parse(options.reward));
  }
  if (!options.job.empty()) {
    KUDOS_ASSIGN(job.job_id, Uuid::parse(options.job));
  }
  job.wp_type = options.type;
  job.outcome = outcome_of(options.outcome);
  job.hold = options.hold;
  job.options = options.change.event_options();
  return job;
}

Result<int> settle(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const Settlement job, parse(options));
  return issue(globals, options.change, job);
}

void declare(CLI::App& command, Options& options) {
  command.add_option("--requester", options.requester, "Who pays: number, or ext:NAME; required")
      ->option_text("USER")
      ->required()
      ->check(check_utf8);
  command.add_option("--worker", options.worker, "Who did the work; required")->option_text("UUID")->required();
  command.add_option("--cost", options.cost, "What the requester pays, 0 or more; required")
      ->option_text("AMOUNT")
      ->required();
  command.add_option("--reward", options.reward, "What the worker's owner earns, 0 or more; default: the cost")
      ->option_text("AMOUNT")
      ->check(check_filled);
  command.add_option("--things", options.things, "Work done, raw: pixelsteps of images, tokens of text")
      ->option_text("N=0")
      ->check(check_filled);
  command.add_option("--job", options.job, "The job's id, kept with the event")
      ->option_text("UUID")
      ->check(check_filled);
  declare_type(command, options.type, "Of work, default the worker's");
  command.add_option("--outcome", options.outcome, "How the job ended")
      ->option_text("completed|cancelled|censored|fake")
      ->check(CLI::IsMember({"completed", "cancelled", "censored", "fake"}));
  declare_hold(command, options.hold);
  options.change.declare(command);
}

}  // namespace

void add_settle(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("settle", "Settle one job between requester and worker");
  declare(*command, *options);
  command->footer(
      "A cancelled job burns the cost beyond the reward, a censored one costs the requester nothing, a fake one\n"
      "stores nothing. Reward beyond the cost comes from the treasury, cost beyond the reward goes to the sink.\n\n"
      "Example:\n  kudos settle --requester ext:alice --worker 0199e6c2-3a4b-7c5d-8e6f-0123456789ab --cost 12 \\\n"
      "      --reward 10 --things 5000000 --key job-7");
  command->callback([&, options] { run = [&, options] { return settle(globals, *options); }; });
}

}  // namespace kudos::cli
