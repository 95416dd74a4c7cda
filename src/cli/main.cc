// The `kudos` program: parses the command line and runs one command. Each command is a file of its own beside this one.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/core.h>
#include <system_error>

#include "cli/command.h"
#include "cli/terminal.h"

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
  using namespace kudos::cli;
  app.add_flag("--json", globals.json, "Answer in JSON, for programs");
  auto* url = app.add_option("--database-url", globals.database_url, "PostgreSQL to work on (URL or libpq keywords)")
                  ->option_text("URL")
                  ->check(check_filled);
  app.add_option("--data-dir", globals.data_dir, "Directory of the private PostgreSQL")
      ->option_text("DIR")
      ->check(check_path)
      ->excludes(url);
  app.add_option("--schema", globals.schema, "Schema of the ledger")->option_text("NAME=public")->check(check_schema);
  app.set_version_flag("--version", "kudos " KUDOS_VERSION);
}

void add_commands(CLI::App& app, const kudos::cli::Globals& globals, kudos::cli::Run& run) {
  using namespace kudos::cli;
  for (const auto add :
       {add_up,      add_migrate, add_projector, add_status,     add_drain,    add_wait,    add_mode,
        add_user,    add_worker,  add_team,      add_balance,    add_top,      add_changes, add_charge,
        add_reserve, add_extend,  add_capture,   add_release,    add_transfer, add_holds,   add_settle,
        add_uptime,  add_grant,   add_event,     add_quarantine, add_import,   add_replay,  add_settings})
    add(app, globals, run);
  mention_global_options(app);
  app.footer(kFooter);  // after them: a command made later would inherit it
}

// A caller may have closed them; then the connection to PostgreSQL would get their number, and our output with it.
void open_standard_streams() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR))
    if (fd > 2) {
      ::close(fd);
      return;
    }
}

int run_command(const kudos::cli::Globals& globals, const kudos::cli::Run& run) {
  const auto status = run();
  if (status) return *status;
  report(globals, status.error());
  return kudos::cli::kFailed;
}

// A full disk must not look like success. A reader who has seen enough is no failure.
int flush_output(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  if (kudos::cli::reader_gone(stdout)) return status;
  fmt::print(stderr, "kudos: the output can't be written{}\n",
             errno == 0 ? std::string() : std::string(": ") + std::strerror(errno));
  return kudos::cli::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kudos::cli;
  open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"Exact credit accounting for services that meter work.", "kudos"};
  app.require_subcommand(1);
  app.fallthrough();
  Globals globals;
  Run run;
  add_global_options(app, globals);
  add_commands(app, globals, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return flush_output(app.exit(error));
    report_usage(app, error);
    return kUsage;
  }
  try {
    return flush_output(run_command(globals, run));
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return flush_output(kDone);
    fmt::print(stderr, "kudos: {}\n", error.what());
    return kFailed;
  }
}
