#include "base/try.h"
#include "cli/command.h"
#include "cli/user_view.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string user;
};

Result<int> balance(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const UserRef user, UserRef::parse(options.user));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto row, store::read_account(connection, user));
  print_balance(row, globals.json);
  return kDone;
}

}  // namespace

void add_balance(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("balance", "A user's balances");
  command->add_option("user", options->user, "Number, or ext:NAME; -1 is the treasury, -2 the sink")
      ->option_text("USER")
      ->required()
      ->check(check_utf8);
  command->footer(
      "\"kudos\" is the visible balance. \"held\" is what is promised already: active holds and queued debits;\n"
      "\"available\" is what may be spent. \"effective\" includes what is accepted but not folded yet.\n\n"
      "Examples:\n  kudos balance ext:alice\n  kudos balance 17 --json\n  kudos balance -1");
  command->callback([&, options] { run = [&, options] { return balance(globals, *options); }; });
}

}  // namespace kudos::cli
