#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "cli/status_view.h"
#include "cli/terminal.h"

namespace kudos::cli {
namespace {

struct Options {
  bool watch = false;
};

// A terminal is redrawn; everybody else gets a line or an object each time.
void show(const Globals& globals, const store::Health& health, LiveScreen& screen) {
  if (globals.json) {
    print_json(to_json(health));
  } else if (stdout_is_terminal()) {
    screen.draw(describe(health, nullptr));
  } else {
    fmt::print("{}\n", summarize(health));
  }
  std::fflush(stdout);
}

Result<int> watch(const Globals& globals, db::Connection& connection) {
  StopSignals signals;
  LiveScreen screen;
  do {
    KUDOS_ASSIGN(const auto health, store::read_health(connection));
    show(globals, health, screen);
  } while (!signals.wait_for(std::chrono::seconds(1)) && !reader_gone(stdout));
  return kDone;
}

Result<int> status(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  if (options.watch) return watch(globals, connection);
  KUDOS_ASSIGN(const auto health, store::read_health(connection));
  if (globals.json)
    print_json(to_json(health));
  else
    fmt::print("{}", describe(health, nullptr));
  return kDone;
}

}  // namespace

void add_status(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("status", "Mode, queue, heartbeat, quarantine and journal of the ledger");
  command->add_flag("--watch", options->watch,
                    "Every second until Ctrl-C: redrawn on a terminal, else a line or an object");
  command->footer("Examples:\n  kudos status\n  kudos status --json\n  kudos status --watch");
  command->callback([&, options] { run = [&, options] { return status(globals, *options); }; });
}

}  // namespace kudos::cli
