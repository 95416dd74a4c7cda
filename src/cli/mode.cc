#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/status_view.h"
#include "store/control.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string target;
  std::string timeout = "30s";
};

Result<int> show(const Globals& globals, db::Connection& connection, bool changed) {
  KUDOS_ASSIGN(const auto control, store::read_control(connection));
  const std::string since = control.changed_at.to_string();
  if (globals.json)
    print_json({{"mode", mode_name(control.mode)}, {"changed_at", since}, {"changed", changed}});
  else
    fmt::print("{} since {}\n", mode_name(control.mode), since);
  return kDone;
}

Result<int> mode(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const auto patience, parse_duration(options.timeout));
  KUDOS_ASSIGN(auto connection, connect(globals));
  if (options.target.empty()) return show(globals, connection, false);
  if (options.target == "shadow")
    return fail(ErrorCode::shadow_mode_unsupported, "switching to shadow mode isn't available in this version");
  KUDOS_ASSIGN(const auto before, store::read_control(connection));
  KUDOS_TRY(store::switch_to_ledger(connection, store::lock_keys(globals.schema), patience));
  return show(globals, connection, before.mode != Mode::ledger);
}

}  // namespace

void add_mode(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("mode", "Show who changes the read models, or switch it");
  command->add_option("target", options->target, "ledger: the projector changes them. shadow: the caller's transaction")
      ->option_text("[ledger|shadow]")
      ->check(CLI::IsMember({"ledger", "shadow"}));
  command->add_option("--timeout", options->timeout, "Wait this long for running mutations")
      ->option_text("TIME=30s")
      ->check(check_duration);
  command->footer("Examples:\n  kudos mode\n  kudos mode ledger");
  command->callback([&, options] { run = [&, options] { return mode(globals, *options); }; });
}

}  // namespace kudos::cli
