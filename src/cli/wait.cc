#include "kudos/wait.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string event;
  std::string timeout = "30s";
};

void show(const Globals& globals, const std::optional<Uuid>& event, WaitOutcome outcome, double seconds) {
  const char* name = outcome == WaitOutcome::folded ? "folded" : "quarantined";
  if (globals.json) {
    boost::json::object object{{"event_id", nullptr}, {"outcome", name}, {"seconds", seconds}};
    if (event) object["event_id"] = event->to_string();
    return print_json(object);
  }
  const std::string what = event ? "event " + event->to_string() + " is" : "everything committed before is";
  const char* note = outcome == WaitOutcome::folded ? "" : "; its statistics were set aside";
  fmt::print("{} folded{}, after {}\n", what, note, human_duration(seconds));
}

Result<int> wait(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const auto timeout, parse_duration(options.timeout));
  std::optional<Uuid> event;
  if (!options.event.empty()) {
    KUDOS_ASSIGN(event, Uuid::parse(options.event));
  }
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema}));
  const auto start = std::chrono::steady_clock::now();
  auto outcome = WaitOutcome::folded;
  if (event) {
    KUDOS_ASSIGN(outcome, wait_for_event(session, *event, timeout));
  } else {
    KUDOS_TRY(wait_for_all(session, timeout));
  }
  show(globals, event, outcome, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return kDone;
}

}  // namespace

void add_wait(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("wait", "Wait until an event, or everything up to now, is folded");
  command->add_option("event", options->event, "The event's id; default: everything that is committed now")
      ->option_text("[UUID]")
      ->check(check_filled);
  command->add_option("--timeout", options->timeout, "Give up after this time (timed_out)")
      ->option_text("TIME=30s")
      ->check(check_duration);
  command->footer(
      "It folds nothing itself: a projector must run; `kudos drain` folds.\n\n"
      "Examples:\n  kudos wait\n  kudos wait 0199e6c2-3a4b-7c5d-8e6f-0123456789ab --timeout 5s");
  command->callback([&, options] { run = [&, options] { return wait(globals, *options); }; });
}

}  // namespace kudos::cli
