#include <boost/json.hpp>

#include "base/try.h"
#include "cli/delete_account.h"
#include "cli/make_account.h"
#include "kudos/accounts.h"

namespace kudos::cli {
namespace {

Result<int> create(const Globals& globals, const MakeOptions& options) {
  NewTeam team;
  team.name = options.name;
  KUDOS_ASSIGN(team.id, options.chosen_id());
  KUDOS_ASSIGN(team.owner, UserRef::parse(options.owner));
  const boost::json::object answer{{"team_id", team.id.to_string()}, {"name", team.name}};
  return make(globals, team.id, answer, [&](Session& session) { return create_team(session, team); });
}

}  // namespace

void add_team(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<MakeOptions>();
  auto* group = app.add_subcommand("team", "Create and delete teams");
  group->require_subcommand(1);
  auto* command = group->add_subcommand("create", "Create a team; prints its id");
  options->declare(*command, "team");
  for (CLI::App* each : {group, command}) each->footer("Example:\n  kudos team create reds --owner ext:alice");
  command->callback([&, options] { run = [&, options] { return create(globals, *options); }; });
  add_deletion(*group, globals, run,
               {"team", "workers that stay, without a team", "workers",
                "Examples:\n  kudos team delete 0199e6c2-3a4b-7c5d-8e6f-0123456789ab --dry-run\n"
                "  kudos team delete 0199e6c2-3a4b-7c5d-8e6f-0123456789ab",
                delete_team});
}

}  // namespace kudos::cli
