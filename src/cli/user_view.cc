#include "cli/user_view.h"

#include <algorithm>
#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/command.h"
#include "cli/terminal.h"

namespace kudos::cli {
namespace {

// Contract: materialised + everything queued, clamped to the floor; never authorises a spend.
Total effective(const store::UserRow& user) {
  const Total sum = user.kudos + user.pending;
  if (is_system(user.id) || user.may_owe) return sum;
  // A balance that is below its floor already stays where it is.
  return std::max(sum, std::min(user.floor, user.kudos));
}

bool is_unlimited(const store::UserRow& user) { return is_system(user.id); }

std::string floor_text(const store::UserRow& user) { return is_unlimited(user) ? "none" : user.floor.to_string(); }

std::string name_of(const store::UserRow& user) {
  if (user.id == kTreasury) return "(treasury)";
  if (user.id == kSink) return "(sink)";
  return user.external_id.empty() ? "-" : printable(user.external_id);
}

std::string time_or_dash(const std::optional<Timestamp>& time) { return time ? time->to_string() : "-"; }

}  // namespace

boost::json::object balance_to_json(const store::UserRow& user) {
  boost::json::object object{{"user_id", user.id.value},
                             {"external_id", user.external_id},
                             {"kudos", user.kudos.to_string()},
                             {"evaluating_kudos", user.escrow.to_string()},
                             {"pending", user.pending.to_string()},
                             {"pending_evaluating", user.pending_escrow.to_string()},
                             {"effective", effective(user).to_string()},
                             {"floor", nullptr}};
  if (!is_unlimited(user)) object["floor"] = user.floor.to_string();
  return object;
}

boost::json::object to_json(const store::UserRow& user) {
  auto object = balance_to_json(user);
  object["account_class"] = user.account_class;
  object["floor_overridden"] = user.floor_overridden;
  object["trusted"] = user.trusted;
  object["deleted"] = user.deleted;
  object["created"] = user.created.to_string();
  object["last_active"] = nullptr;
  if (user.last_active) object["last_active"] = user.last_active->to_string();
  return object;
}

void print_balance(const store::UserRow& user, bool json) {
  if (json) return print_json(balance_to_json(user));
  print_balances(std::span(&user, 1));
}

void print_balances(std::span<const store::UserRow> users) {
  Table table({{"user", Align::right},
               {"name"},
               {"kudos", Align::right},
               {"queued", Align::right},
               {"effective", Align::right},
               {"in evaluation", Align::right},
               {"queued there", Align::right},
               {"floor", Align::right}});
  for (const auto& user : users)
    table.add_row({std::to_string(user.id.value), name_of(user), user.kudos.to_string(), user.pending.to_string(),
                   effective(user).to_string(), user.escrow.to_string(), user.pending_escrow.to_string(),
                   floor_text(user)});
  table.print();
}

void print_user(const store::UserRow& user, bool json) {
  if (json) return print_json(to_json(user));
  fmt::print("user         {}\nname         {}\nclass        {}{}{}\nfloor        {}{}\nkudos        {}\n",
             user.id.value, name_of(user), user.account_class, user.trusted ? ", trusted" : "",
             user.deleted ? ", deleted" : "", floor_text(user), user.floor_overridden ? " (overridden)" : "",
             user.kudos.to_string());
  fmt::print("evaluation   {}\nqueued       {}\nlast active  {}\ncreated      {}\n", user.escrow.to_string(),
             user.pending.to_string(), time_or_dash(user.last_active), user.created.to_string());
}

}  // namespace kudos::cli
