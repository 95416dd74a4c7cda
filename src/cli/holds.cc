// holds: what is reserved, and how holds ended.
#include <boost/json.hpp>

#include "base/try.h"
#include "cli/command.h"
#include "cli/hold_view.h"
#include "store/accounts.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string state, user, hold;
  bool all = false;
  std::int32_t limit = 100;
};

Result<store::HoldFilter> filter_of(db::Connection& connection, const Options& options) {
  store::HoldFilter filter{.own_of_events = options.all, .limit = options.limit};
  if (!options.state.empty()) filter.state = store::read_hold_state(options.state);
  if (!options.hold.empty()) filter.business_id = options.hold;
  if (!options.user.empty()) {
    KUDOS_ASSIGN(const UserRef user, UserRef::parse(options.user));
    KUDOS_ASSIGN(const auto ids, store::find_users(connection, std::span(&user, 1)));
    filter.payer = ids.front();
  }
  return filter;
}

Result<int> holds(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto filter, filter_of(connection, options));
  KUDOS_ASSIGN(const auto rows, store::list_holds(connection, filter));
  if (!globals.json) {
    print_holds(rows);
    return kDone;
  }
  boost::json::array array;
  for (const auto& row : rows) array.push_back(to_json(row));
  print_json(array);
  return kDone;
}

}  // namespace

void add_holds(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("holds", "List holds, the newest first");
  command->add_option("--state", options->state, "Only those in this state")
      ->option_text("active|consumed|released|expired")
      ->check(CLI::IsMember({"active", "consumed", "released", "expired"}));
  command->add_option("--user", options->user, "Only of this payer: number, or ext:NAME")
      ->option_text("USER")
      ->check(check_filled);
  command->add_option("--id", options->hold, "Only under this id, with those that ended before")
      ->option_text("ID")
      ->check(check_filled);
  command->add_flag("--all", options->all, "Also those that transfers make for themselves");
  command->add_option("--limit", options->limit, "How many, 1 to 10000")
      ->option_text("N=100")
      ->check(CLI::Range(1, 10'000));
  command->footer(
      "A hold whose deadline has passed is shown as active until a projector has swept it; it can't be captured any\n"
      "more.\n\n"
      "Examples:\n  kudos holds --state active\n  kudos holds --user ext:alice --limit 20 --json\n"
      "  kudos holds --id job-7");
  command->callback([&, options] { run = [&, options] { return holds(globals, *options); }; });
}

}  // namespace kudos::cli
