#include "cli/delete_account.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/dry_run.h"
#include "cli/terminal.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string id;
  bool dry_run = false;
};

void show(const Globals& globals, const DeletionForm& form, const Uuid& id, const Deletion& gone, bool dry_run) {
  if (globals.json)
    return print_json({{std::string(form.what) + "_id", id.to_string()},
                       {"name", gone.name},
                       {"kudos", gone.kudos.to_string()},
                       {"contributions", gone.contributions.to_string()},
                       {"fulfilments", gone.fulfilments.to_string()},
                       {form.dependants_key, gone.dependants},
                       {"pending_events", gone.pending_events},
                       {"dry_run", dry_run}});
  if (dry_run) print_dry_run_notice();
  fmt::print("{} {} ({}) {} deleted: kudos {}, contributions {}, fulfilments {}\n", form.what, id.to_string(),
             printable(gone.name), dry_run ? "would be" : "is", gone.kudos.to_string(), gone.contributions.to_string(),
             gone.fulfilments.to_string());
  fmt::print("{}: {}\nevents that wait and fold without it: {}\n", form.dependants, human_count(gone.dependants),
             human_count(gone.pending_events));
}

Result<int> remove(const Globals& globals, const DeletionForm& form, const Options& options) {
  KUDOS_ASSIGN(const Uuid id, Uuid::parse(options.id));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema}));
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_ASSIGN(const Deletion gone, form.remove(session, id));
  if (options.dry_run)
    connection.roll_back();
  else
    KUDOS_TRY(connection.execute(db::kCommit));
  show(globals, form, id, gone, options.dry_run);
  return kDone;
}

}  // namespace

void add_deletion(CLI::App& group, const Globals& globals, Run& run, const DeletionForm& form) {
  auto options = std::make_shared<Options>();
  auto* command = group.add_subcommand("delete", std::string("Delete a ") + form.what + "; its facts stay");
  command->add_option("id", options->id, std::string("The ") + form.what + "'s id")->option_text("UUID")->required();
  command->add_flag("--dry-run", options->dry_run, "Show what would go, commit nothing");
  command->footer(form.footer);
  command->callback(
      [&globals, &run, form, options] { run = [&globals, form, options] { return remove(globals, form, *options); }; });
}

}  // namespace kudos::cli
