// topup and award: kudos from the treasury to a user.
#include "base/try.h"
#include "cli/command.h"
#include "cli/issue_command.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string user;
  std::string amount;
  ChangeOptions change;
};

template <class Credit>
Result<int> credit(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const UserRef user, UserRef::parse(options.user));
  KUDOS_ASSIGN(const Amount amount, Amount::parse(options.amount));
  Credit command;
  command.user = user;
  command.amount = amount;
  command.options = options.change.event_options();
  return issue(globals, options.change, command, {user});
}

template <class Credit>
void add_credit(CLI::App& app, const Globals& globals, Run& run, const std::string& name, const char* what) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand(name, what);
  command->add_option("user", options->user, "Number, or ext:NAME")->option_text("USER")->required()->check(check_utf8);
  command->add_option("amount", options->amount, "Kudos, above 0, at most two decimals")
      ->option_text("AMOUNT")
      ->required();
  options->change.declare(*command);
  command->footer("Examples:\n  kudos " + name + " ext:alice 100.00 --key order-17\n  kudos " + name +
                  " 17 5 --dry-run");
  command->callback([&, options] { run = [&, options] { return credit<Credit>(globals, *options); }; });
}

}  // namespace

void add_credits(CLI::App& app, const Globals& globals, Run& run) {
  add_credit<TopUp>(app, globals, run, "topup", "Credit a user with kudos that were paid for");
  add_credit<Award>(app, globals, run, "award", "Credit a user with kudos as a gift");
}

}  // namespace kudos::cli
