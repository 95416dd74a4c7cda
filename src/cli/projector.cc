#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "ledger/projector_loop.h"

namespace kudos::cli {
namespace {

Result<int> projector(const Globals& globals) {
  StopSignals signals;
  KUDOS_ASSIGN(const std::string conninfo, find_database(globals));
  KUDOS_ASSIGN(const auto options, ledger::ProjectorOptions::from_environment());
  KUDOS_TRY(connect(globals));
  ledger::ProjectorLoop loop({.conninfo = conninfo,
                              .connection = {.schema = globals.schema},
                              .projector = options,
                              .log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); }});
  loop.start();
  fmt::print(stderr, "projector: started; stop it with Ctrl-C or SIGTERM\n");
  while (!signals.wait_for(std::chrono::hours(1))) {
  }
  loop.stop();
  const auto stats = loop.stats();
  fmt::print(stderr, "projector: stopped after folding {} events in {} cycles\n", stats.events, stats.cycles);
  return kDone;
}

}  // namespace

void add_projector(CLI::App& app, const Globals& globals, Run& run) {
  auto* command = app.add_subcommand("projector", "Fold events into balances until it is stopped");
  command->footer(
      "Any number may run: one works, the others stand by and take over when it ends. A lost connection is opened\n"
      "again. Settings: KUDOS_APPLIER_BATCH_SIZE (postings, 1000), KUDOS_APPLIER_INTERVAL (seconds, 3),\n"
      "KUDOS_APPLIER_MAX_CATCHUP_CYCLES (10), KUDOS_TRUST_THRESHOLD (kudos of escrow above which a user becomes\n"
      "trusted; unset, nobody does).\n\nExample:\n  kudos projector --database-url "
      "postgresql://localhost/shop");
  command->callback([&] { run = [&] { return projector(globals); }; });
}

}  // namespace kudos::cli
