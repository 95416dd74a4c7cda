#include "cli/issue_command.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/event_view.h"
#include "cli/terminal.h"
#include "cli/user_view.h"

namespace kudos::cli {
namespace {

constexpr const char* kPrincipal = "cli";

boost::json::object receipt_to_json(const Receipt& receipt) {
  return {{"event_id", receipt.event_id.to_string()},
          {"seq", receipt.seq.value},
          {"replayed", receipt.replayed},
          {"stored", receipt.stored}};
}

Result<int> show_dry_run(const Globals& globals, db::Connection& connection, const Receipt& receipt,
                         const std::vector<UserRef>& users) {
  KUDOS_ASSIGN(const auto row, store::read_event(connection, receipt.event_id));
  boost::json::array balances;
  if (!globals.json) fmt::print("{}\n{}\n", style("dry run: nothing was committed", Style::yellow), describe(row));
  for (const UserRef& user : users) {
    KUDOS_ASSIGN(const auto account, store::read_user(connection, user));
    if (globals.json)
      balances.push_back(balance_to_json(account));
    else
      print_balance(account, false);
  }
  if (globals.json)
    print_json(
        {{"dry_run", true}, {"receipt", receipt_to_json(receipt)}, {"event", to_json(row)}, {"balances", balances}});
  return kDone;
}

void show(const Globals& globals, const Receipt& receipt) {
  if (globals.json) return print_json(receipt_to_json(receipt));
  fmt::print("event {}{}\n", receipt.event_id.to_string(), receipt.replayed ? " (replayed: it was there already)" : "");
}

}  // namespace

void ChangeOptions::declare(CLI::App& command) {
  command.add_option("--key", key, "Idempotency key: the same key never counts twice")
      ->option_text("KEY")
      ->check(check_filled);
  command.add_option("--metadata", metadata, "Flat JSON object of at most 2 KB, kept with the event")
      ->option_text("JSON")
      ->check(check_filled);
  command.add_flag("--dry-run", dry_run, "Show postings and resulting balances, commit nothing");
}

EventOptions ChangeOptions::event_options() const {
  EventOptions options;
  if (!key.empty()) options.key = {kPrincipal, key};
  options.metadata = metadata;
  return options;
}

Result<int> issue(const Globals& globals, const ChangeOptions& change, const Command& command,
                  const std::vector<UserRef>& users) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema}));
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_ASSIGN(const Receipt receipt, emit(session, command));
  if (change.dry_run) {
    auto shown = show_dry_run(globals, connection, receipt, users);
    connection.roll_back();
    return shown;
  }
  KUDOS_TRY(connection.execute(db::kCommit));
  show(globals, receipt);
  return kDone;
}

}  // namespace kudos::cli
