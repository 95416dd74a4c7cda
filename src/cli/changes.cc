// topup, award, adjust, opening, style: kudos between the treasury or the sink and one user. The rows of a table.
#include <array>

#include "base/try.h"
#include "cli/command.h"
#include "cli/issue_command.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string user;
  std::string amount;
  std::string reason;
  std::string type;
  ChangeOptions change;
};

template <class Change>
Command make(const UserRef& user, Amount amount, const Options& options) {
  Change change;
  change.user = user;
  change.amount = amount;
  if constexpr (requires { change.reason; }) change.reason = options.reason;
  if constexpr (requires { change.wp_type; }) change.wp_type = options.type;
  change.options = options.change.event_options();
  return change;
}

struct Form {
  const char* name;
  const char* what;
  const char* amount;
  Command (*make)(const UserRef&, Amount, const Options&);
  bool has_reason = false;
  bool has_type = false;
  const char* examples;
};

constexpr const char* kAboveZero = "Kudos, above 0, at most two decimals";
constexpr std::array kForms = {
    Form{.name = "topup",
         .what = "Credit a user with kudos that were paid for",
         .amount = kAboveZero,
         .make = make<TopUp>,
         .examples = "  kudos topup ext:alice 100.00 --key order-17\n  kudos topup 17 5 --dry-run"},
    Form{.name = "award",
         .what = "Credit a user with kudos as a gift",
         .amount = kAboveZero,
         .make = make<Award>,
         .has_reason = true,
         .examples = "  kudos award ext:alice 20 --reason 'found a bug' --key bug-4\n  kudos award 17 5 --dry-run"},
    Form{.name = "adjust",
         .what = "Correct a user's balance, up or down",
         .amount = "Kudos, negative to take them away, not 0, at most two decimals",
         .make = make<AdminAdjustment>,
         .has_reason = true,
         .examples =
             "  kudos adjust ext:alice -12.50 --reason 'paid twice' --key case-9\n  kudos adjust 17 5 --dry-run"},
    Form{.name = "opening",
         .what = "What an account starts with",
         .amount = "Kudos, not 0; negative only for a class that may owe (postpaid)",
         .make = make<Opening>,
         .examples = "  kudos opening ext:alice 250 --key opening-alice\n  kudos opening ext:acme -40 --dry-run"},
    Form{.name = "style",
         .what = "Reward the maker of a style that was used",
         .amount = kAboveZero,
         .make = make<StyleReward>,
         .has_type = true,
         .examples = "  kudos style ext:alice 2.50 --key job-7\n  kudos style 17 1 --type text --dry-run"},
};

Result<int> change(const Globals& globals, const Form& form, const Options& options) {
  KUDOS_ASSIGN(const UserRef user, UserRef::parse(options.user));
  KUDOS_ASSIGN(const Amount amount, Amount::parse(options.amount));
  return issue(globals, options.change, form.make(user, amount, options));
}

void add_change(CLI::App& app, const Globals& globals, Run& run, const Form& form) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand(form.name, form.what);
  command->add_option("user", options->user, "Number, or ext:NAME")->option_text("USER")->required()->check(check_utf8);
  command->add_option("amount", options->amount, form.amount)->option_text("AMOUNT")->required();
  if (form.has_reason) declare_reason(*command, options->reason);
  if (form.has_type) declare_type(*command, options->type, "Of the style's work");
  options->change.declare(*command);
  command->footer(std::string("Examples:\n") + form.examples);
  command->callback([&, options] { run = [&, options] { return change(globals, form, *options); }; });
}

}  // namespace

void add_changes(CLI::App& app, const Globals& globals, Run& run) {
  for (const Form& form : kForms) add_change(app, globals, run, form);
}

}  // namespace kudos::cli
