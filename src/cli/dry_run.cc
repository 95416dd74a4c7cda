#include "cli/dry_run.h"

#include <algorithm>
#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/event_view.h"
#include "cli/issue_command.h"
#include "cli/terminal.h"
#include "cli/user_view.h"

namespace kudos::cli {
namespace {

void add_once(std::vector<UserId>& users, UserId user) {
  if (!is_system(user) && std::ranges::find(users, user) == users.end()) users.push_back(user);
}

std::vector<UserId> participants(const Event& event) {
  std::vector<UserId> users;
  for (const Posting& posting : event.postings) add_once(users, posting.user);
  for (const StatPosting& statistic : event.statistics)
    if (statistic.user) add_once(users, *statistic.user);
  return users;
}

}  // namespace

Result<Outlook> look_ahead(db::Connection& connection, const Receipt& receipt) {
  Outlook outlook{receipt, std::nullopt, {}};
  if (!receipt.stored) return outlook;
  KUDOS_ASSIGN(outlook.event, store::read_event(connection, receipt.event_id));
  for (const UserId user : participants(outlook.event->event)) {
    KUDOS_ASSIGN(auto account, store::read_account(connection, UserRef::number(user)));
    outlook.accounts.push_back(std::move(account));
  }
  return outlook;
}

boost::json::object to_json(const Outlook& outlook) {
  boost::json::array balances;
  for (const auto& account : outlook.accounts) balances.push_back(balance_to_json(account));
  boost::json::object object{
      {"dry_run", true}, {"receipt", receipt_to_json(outlook.receipt)}, {"event", nullptr}, {"balances", balances}};
  if (outlook.event) object["event"] = to_json(*outlook.event);
  return object;
}

void print_outlook(const Outlook& outlook, bool json) {
  if (json) return print_json(to_json(outlook));
  print_dry_run_notice();
  if (!outlook.event || outlook.receipt.replayed) fmt::print("{}\n", describe(outlook.receipt));
  if (outlook.event) fmt::print("{}\n", describe(*outlook.event));
  if (!outlook.accounts.empty()) print_balances(outlook.accounts);
}

void print_dry_run_notice() { fmt::print("{}\n", style("dry run: nothing was committed", Style::yellow)); }

}  // namespace kudos::cli
