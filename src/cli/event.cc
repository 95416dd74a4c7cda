#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/event_view.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string event;
};

Result<int> show(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const Uuid id, Uuid::parse(options.event));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto row, store::read_event(connection, id));
  if (globals.json)
    print_json(to_json(row));
  else
    fmt::print("{}", describe(row));
  return kDone;
}

}  // namespace

void add_event(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* group = app.add_subcommand("event", "Look at events");
  group->require_subcommand(1);
  group->footer("Example:\n  kudos event show 0199e6c2-3a4b-7c5d-8e6f-0123456789ab");
  auto* command = group->add_subcommand("show", "An event with its postings, its fold and its hash");
  command->add_option("event", options->event, "The event's id")->option_text("UUID")->required();
  command->footer("Example:\n  kudos event show 0199e6c2-3a4b-7c5d-8e6f-0123456789ab");
  command->callback([&, options] { run = [&, options] { return show(globals, *options); }; });
}

}  // namespace kudos::cli
