// settings: what holds for the whole ledger and can be changed while it works.
#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "store/control.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string name;
  std::optional<std::int32_t> seconds;
};

Result<int> settings(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  bool changed = false;
  if (options.seconds) {
    KUDOS_ASSIGN(changed, store::set_transfer_guard(connection, *options.seconds));
  }
  KUDOS_ASSIGN(const auto control, store::read_control(connection));
  const std::int32_t guard = control.transfer_guard_seconds;
  if (globals.json)
    print_json({{"transfer_guard_seconds", guard}, {"changed", changed}});
  else
    fmt::print("transfer-guard  {}\n", guard == 0 ? "off" : std::to_string(guard) + " s");
  return kDone;
}

}  // namespace

void add_settings(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("settings", "Show the ledger's settings, or change one");
  auto* name = command->add_option("name", options->name, "transfer-guard: how long a transfer back is refused")
                   ->option_text("[transfer-guard]")
                   ->check(CLI::IsMember({"transfer-guard"}));
  command->add_option("seconds", options->seconds, "0 to 86400; 0 turns it off")
      ->option_text("[SECONDS]")
      ->needs(name)
      ->check(CLI::Range(0, store::kLongestTransferGuard));
  command->footer(
      "Examples:\n  kudos settings\n  kudos settings transfer-guard 300\n  kudos settings transfer-guard 0");
  command->callback([&, options] { run = [&, options] { return settings(globals, *options); }; });
}

}  // namespace kudos::cli
