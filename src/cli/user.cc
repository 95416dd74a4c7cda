#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/user_view.h"
#include "kudos/accounts.h"
#include "kudos/session.h"

namespace kudos::cli {
namespace {

struct CreateOptions {
  std::string name;
  std::string account_class = "standard";
  std::string floor;
  std::int64_t id = -1;
  bool trusted = false;
};

struct ShowOptions {
  std::string user;
};

Result<NewUser> parse(const CreateOptions& options) {
  NewUser user;
  user.external_id = options.name.starts_with("ext:") ? options.name.substr(4) : options.name;
  user.account_class = options.account_class;
  user.trusted = options.trusted;
  if (options.id >= 0) user.id = UserId{static_cast<std::int32_t>(options.id)};
  if (!options.floor.empty()) {
    KUDOS_ASSIGN(user.floor_override, Total::parse(options.floor));
  }
  return user;
}

Result<int> create(const Globals& globals, const CreateOptions& options) {
  KUDOS_ASSIGN(const NewUser user, parse(options));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema}));
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_ASSIGN(const UserId id, create_user(session, user));
  KUDOS_TRY(connection.execute(db::kCommit));
  KUDOS_ASSIGN(const auto row, store::read_account(connection, UserRef::number(id)));
  print_user(row, globals.json);
  return kDone;
}

Result<int> show(const Globals& globals, const ShowOptions& options) {
  KUDOS_ASSIGN(const UserRef user, UserRef::parse(options.user));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto row, store::read_account(connection, user));
  print_user(row, globals.json);
  return kDone;
}

void add_create(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<CreateOptions>();
  auto* command = app.add_subcommand("create", "Create a user with balance 0");
  command->add_option("name", options->name, "The host's own name for the user (external id)")
      ->option_text("NAME")
      ->required()
      ->check(check_utf8);
  command->add_option("--class", options->account_class, "standard, postpaid, registered, pseudonymous or anonymous")
      ->option_text("CLASS=standard")
      ->check(check_filled);
  command->add_option("--floor", options->floor, "Lowest balance, in place of the class's")
      ->option_text("AMOUNT")
      ->check(check_filled);
  command->add_option("--id", options->id, "Fix the number, 0 to 2147483647")
      ->option_text("N")
      ->check(CLI::Range(0, 2147483647));
  command->add_flag("--trusted", options->trusted, "Rewards are spendable at once");
  command->footer("Examples:\n  kudos user create alice\n  kudos user create acme --class postpaid --floor=-500");
  command->callback([&, options] { run = [&, options] { return create(globals, *options); }; });
}

void add_show(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<ShowOptions>();
  auto* command = app.add_subcommand("show", "Show a user");
  command->add_option("user", options->user, "Number, or ext:NAME")->option_text("USER")->required()->check(check_utf8);
  command->footer("Example:\n  kudos user show ext:alice --json");
  command->callback([&, options] { run = [&, options] { return show(globals, *options); }; });
}

}  // namespace

void add_user(CLI::App& app, const Globals& globals, Run& run) {
  auto* command = app.add_subcommand("user", "Create, show and erase users");
  command->require_subcommand(1);
  command->footer("Examples:\n  kudos user create alice\n  kudos user show ext:alice");
  add_create(*command, globals, run);
  add_show(*command, globals, run);
  add_user_erase(*command, globals, run);
}

}  // namespace kudos::cli
