#include "ledger/drain.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "store/health.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string timeout = "10m";
};

Result<int> drain(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const auto patience, parse_duration(options.timeout));
  KUDOS_ASSIGN(const auto settings, ledger::ProjectorOptions::from_environment());
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const std::int64_t pending, store::count_pending(connection));
  KUDOS_ASSIGN(auto projector, ledger::Projector::create(std::move(connection), settings));
  Progress bar("drain", pending);
  const auto start = std::chrono::steady_clock::now();
  KUDOS_ASSIGN(const auto report,
               ledger::drain(projector, patience, [&](const auto& now) { bar.update(now.folded_events); }));
  bar.finish();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (globals.json)
    print_json({{"folded_events", report.folded_events}, {"pending_events", 0}, {"seconds", seconds}});
  else
    fmt::print("nothing is pending; folded {} events in {}\n", human_count(report.folded_events),
               human_duration(seconds));
  return kDone;
}

}  // namespace

void add_drain(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("drain", "Fold everything that is pending now");
  command->add_option("--timeout", options->timeout, "Give up after this time")
      ->option_text("TIME=10m")
      ->check(check_duration);
  command->footer(
      "Works beside a running projector: then it waits for that one.\n\nExample:\n  kudos drain --timeout 1m");
  command->callback([&, options] { run = [&, options] { return drain(globals, *options); }; });
}

}  // namespace kudos::cli
