// grant: the monthly grant of a user. The month it is for is its key.
#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/dry_run.h"
#include "cli/issue_command.h"
#include "core/validate.h"
#include "store/accounts.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string user;
  std::string monthly;
  ChangeOptions change;
};

using Granted = std::optional<Receipt>;

Result<Granted> apply(db::Connection& connection, const UserRef& user, const Options& options) {
  if (options.monthly.empty()) return store::grant_due(connection, user, options.change.metadata);
  KUDOS_ASSIGN(const Amount amount, Amount::parse(options.monthly));
  return store::set_monthly_grant(connection, user, amount, options.change.metadata);
}

void show(const Globals& globals, const Options& options, const Granted& granted) {
  if (globals.json) {
    boost::json::object object{{"granted", granted.has_value()}};
    if (granted)
      for (auto& [name, value] : receipt_to_json(*granted)) object[name] = value;
    return print_json(object);
  }
  if (!options.monthly.empty()) fmt::print("the monthly grant is {} now\n", options.monthly);
  if (granted)
    fmt::print("{}\n", describe(*granted));
  else
    fmt::print("{}\n", options.monthly.empty() ? "no grant is due" : "nothing was granted at once");
}

Result<int> show_outlook(const Globals& globals, const Options& options, db::Connection& connection,
                         const Granted& granted) {
  if (granted) {
    KUDOS_ASSIGN(const auto outlook, look_ahead(connection, *granted));
    auto object = to_json(outlook);
    object["granted"] = true;
    if (globals.json)
      print_json(object);
    else
      print_outlook(outlook, false);
  } else if (globals.json) {
    print_json({{"dry_run", true}, {"granted", false}});
  } else {
    print_dry_run_notice();
    show(globals, options, granted);
  }
  return kDone;
}

Result<int> grant(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const UserRef user, UserRef::parse(options.user));
  KUDOS_TRY(validate_metadata(options.change.metadata));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_ASSIGN(const Granted granted, apply(connection, user, options));
  if (options.change.dry_run) return show_outlook(globals, options, connection, granted);
  KUDOS_TRY(connection.execute(db::kCommit));
  show(globals, options, granted);
  return kDone;
}

}  // namespace

void add_grant(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("grant", "Send the monthly grant that is due, or set it");
  command->add_option("user", options->user, "Number, or ext:NAME")->option_text("USER")->required()->check(check_utf8);
  command->add_option("--monthly", options->monthly, "What the user is granted each month from now on, 0 for nothing")
      ->option_text("AMOUNT")
      ->check(check_filled);
  options->change.declare_keyless(*command);
  command->footer(
      "Without --monthly: sends the grant of the oldest month that is due, if any; run it again for the next.\n"
      "With it: a raise grants the difference at once, a lowering nothing. No key is needed: a month counts once.\n\n"
      "Examples:\n  kudos grant ext:alice --monthly 50\n  kudos grant ext:alice");
  command->callback([&, options] { run = [&, options] { return grant(globals, *options); }; });
}

}  // namespace kudos::cli
