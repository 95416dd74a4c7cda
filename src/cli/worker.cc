#include <boost/json.hpp>

#include "base/try.h"
#include "cli/delete_account.h"
#include "cli/issue_command.h"
#include "cli/make_account.h"
#include "kudos/accounts.h"

namespace kudos::cli {
namespace {

struct Options {
  MakeOptions make;
  std::string team;
  std::string type = "image";
};

boost::json::object answer_for(const NewWorker& worker) {
  boost::json::object answer{{"worker_id", worker.id.to_string()},
                             {"name", worker.name},
                             {"worker_type", worker.worker_type},
                             {"team_id", nullptr}};
  if (worker.team) answer["team_id"] = worker.team->to_string();
  return answer;
}

Result<int> create(const Globals& globals, const Options& options) {
  NewWorker worker;
  worker.name = options.make.name;
  worker.worker_type = options.type;
  KUDOS_ASSIGN(worker.id, options.make.chosen_id());
  KUDOS_ASSIGN(worker.owner, UserRef::parse(options.make.owner));
  if (!options.team.empty()) {
    KUDOS_ASSIGN(worker.team, Uuid::parse(options.team));
  }
  return make(globals, worker.id, answer_for(worker), [&](Session& session) { return create_worker(session, worker); });
}

}  // namespace

void add_worker(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* group = app.add_subcommand("worker", "Create and delete workers");
  group->require_subcommand(1);
  auto* command = group->add_subcommand("create", "Create a worker; prints its id");
  options->make.declare(*command, "worker");
  command->add_option("--team", options->team, "The team it works for")->option_text("UUID")->check(check_filled);
  declare_type(*command, options->type, "Of its work, default image");
  for (CLI::App* each : {group, command})
    each->footer(
        "Examples:\n  kudos worker create gpu-1 --owner ext:alice\n"
        "  kudos worker create gpu-2 --owner 17 --type text --team 0199e6c2-3a4b-7c5d-8e6f-0123456789ab");
  command->callback([&, options] { run = [&, options] { return create(globals, *options); }; });
  add_deletion(*group, globals, run,
               {"worker", "counters of its own that go too", "counters",
                "Events that wait still fold: the owner's part and the team's.\n\nExamples:\n"
                "  kudos worker delete 0199e6c2-3a4b-7c5d-8e6f-0123456789ab --dry-run\n"
                "  kudos worker delete 0199e6c2-3a4b-7c5d-8e6f-0123456789ab",
                delete_worker});
}

}  // namespace kudos::cli
