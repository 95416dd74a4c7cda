// user erase: wipes what is personal; the facts stay.
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/core.h>
#include <iostream>

#include "base/try.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/user_view.h"
#include "store/accounts.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string user;
  bool yes = false;
};

std::string title(const store::UserRow& user) {
  const std::string number = "user " + std::to_string(user.id.value);
  return user.external_id.empty() ? number : number + " (ext:" + printable(user.external_id) + ")";
}

// It can't be undone, so a script must say that it means it.
Status require_consent(const Options& options) {
  if (options.yes || ::isatty(STDIN_FILENO) == 1) return {};
  return fail(ErrorCode::invalid_request, "erasing a user can't be undone, and there is nobody to ask",
              "Give --yes if it is meant.");
}

Status confirm(const store::UserRow& user, const Options& options) {
  if (options.yes) return {};
  fmt::print(stderr,
             "This wipes the external id, the profile and all metadata of {}. Postings and balances stay.\n"
             "It can't be undone. Type yes to go on: ",
             title(user));
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "yes") return {};
  return fail(ErrorCode::invalid_request, "it wasn't confirmed: nothing was erased");
}

void show(const Globals& globals, const store::UserRow& user, std::int64_t events) {
  if (globals.json) return print_json({{"user_id", user.id.value}, {"erased", true}, {"events_wiped", events}});
  fmt::print("{} was erased; events that lost their metadata: {}\n", title(user), human_count(events));
}

Result<int> erase(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const UserRef user, UserRef::parse(options.user));
  KUDOS_TRY(require_consent(options));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto row, store::read_user(connection, user));
  KUDOS_TRY(confirm(row, options));
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_ASSIGN(const std::int64_t events, store::erase_user(connection, UserRef::number(row.id)));
  KUDOS_TRY(connection.execute(db::kCommit));
  show(globals, row, events);
  return kDone;
}

}  // namespace

void add_user_erase(CLI::App& user, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = user.add_subcommand("erase", "Wipe a person's metadata, external id and profile");
  command->add_option("user", options->user, "Number, or ext:NAME")->option_text("USER")->required()->check(check_utf8);
  command->add_flag("--yes", options->yes, "Don't ask; needed where nobody can be asked");
  command->footer(
      "Postings, hashes and totals stay and still verify. A reason given with --reason is part of the facts.\n\n"
      "Example:\n  kudos user erase ext:alice");
  command->callback([&, options] { run = [&, options] { return erase(globals, *options); }; });
}

}  // namespace kudos::cli
