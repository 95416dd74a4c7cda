// The `kudos` program: parses the command line and runs one command. Each command is a file of its own beside this one.
#include <fmt/core.h>

#include "cli/command.h"

namespace {

constexpr const char* kFooter = R"(Examples:
  kudos up --demo                         a private PostgreSQL, a projector and a simulated marketplace
  kudos user create alice --class registered
  kudos topup ext:alice 100.00 --key order-17
  kudos balance ext:alice --json
  kudos --database-url postgresql://localhost/shop migrate

The database: --database-url, else KUDOS_DATABASE_URL, else the PG* variables, else the private server that
`kudos up` runs in --data-dir. Exit status: 0 done, 1 refused or failed (the error's name is printed), 2 usage.)";

void add_global_options(CLI::App& app, kudos::cli::Globals& globals) {
  app.add_flag("--json", globals.json, "Answer in JSON, for programs");
  app.add_option("--database-url", globals.database_url, "PostgreSQL to work on (URL or libpq keywords)");
  app.add_option("--data-dir", globals.data_dir, "Directory of the private PostgreSQL");
  app.add_option("--schema", globals.schema, "Schema of the ledger")->capture_default_str();
  app.set_version_flag("--version", "kudos " KUDOS_VERSION);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kudos::cli;
  CLI::App app{"Exact credit accounting for services that meter work.", "kudos"};
  app.footer(kFooter);
  app.require_subcommand(1);
  app.fallthrough();
  Globals globals;
  Run run;
  add_global_options(app, globals);
  for (const auto add : {add_up, add_migrate, add_projector, add_status, add_drain, add_mode, add_replay, add_user,
                         add_balance, add_credits, add_event, add_top})
    add(app, globals, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  const auto status = run();
  if (status) return *status;
  report(globals, status.error());
  return kFailed;
}
