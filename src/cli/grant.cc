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

Result<std::optional<Amount>> monthly_amount(const Options& options) {
  if (options.monthly.empty()) return std::nullopt;
  return Amount::parse(options.monthly);
}

Result<Granted> apply(db::Connection& connection, const UserRef& user, std::optional<Amount> monthly,
                      const std::string& metadata) {
  if (!monthly) return store::grant_due(connection, user, metadata);
  return store::set_monthly_grant(connection, user, *monthly, metadata);
}

void show(const Globals& globals, std::optional<Amount> monthly, const Granted& granted) {
  if (globals.json) {
    boost::json::object object{{"granted", granted.has_value()}};
    if (granted)
      for (auto& [name, value] : receipt_to_json(*granted)) object[name] = value;
    return print_json(object);
  }
  if (monthly) fmt::print("the monthly grant is {} now\n", monthly->to_string());
  if (granted)
    fmt::print("{}\n", describe(*granted));
  else
    fmt::print("{}\n", monthly ? "nothing was granted at once" : "no grant is due");
}

Result<int> show_outlook(const Globals& globals, std::optional<Amount> monthly, db::Connection& connection,
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
    show(globals, monthly, granted);
  }
  return kDone;
}

Result<int> grant(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const UserRef user, UserRef::parse(options.user));
  KUDOS_ASSIGN(const auto monthly, monthly_amount(options));
  KUDOS_TRY(validate_metadata(options.change.metadata));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_ASSIGN(const Granted granted, apply(connection, user, monthly, options.change.metadata));
  if (options.change.dry_run) return show_outlook(globals, monthly, connection, granted);
  KUDOS_TRY(connection.execute(db::kCommit));
  show(globals, monthly, granted);
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
      "With it: a raise grants at once what this month hasn't been granted yet, a lowering nothing. No key is\n"
      "needed: a month counts once.\n\n"
      "Examples:\n  kudos grant ext:alice --monthly 50\n  kudos grant ext:alice");
  command->callback([&, options] { run = [&, options] { return grant(globals, *options); }; });
}

}  // namespace kudos::cli
