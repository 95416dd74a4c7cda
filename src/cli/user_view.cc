#include "cli/user_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/terminal.h"

namespace kudos::cli {
namespace {

// Contract: materialised + everything queued, clamped to the floor; never authorises a spend.
Total effective(const store::UserRow& user) {
  const Total sum = user.kudos + user.pending;
  // A balance that is below its floor already stays where it is.
  return std::max(sum, std::min(user.floor, user.kudos));
}

std::string time_or_dash(const std::optional<Timestamp>& time) { return time ? time->to_string() : "-"; }

}  // namespace

boost::json::object balance_to_json(const store::UserRow& user) {
  return {{"user_id", user.id.value},         {"external_id", user.external_id},
          {"kudos", user.kudos.to_string()},  {"evaluating_kudos", user.escrow.to_string()},
          {"pending", user.pending.to_string()}, {"pending_evaluating", user.pending_escrow.to_string()},
          {"effective", effective(user).to_string()}, {"floor", user.floor.to_string()}};
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
  Table table({{"user"}, {"kudos", Align::right}, {"in evaluation", Align::right}, {"queued", Align::right},
               {"effective", Align::right}, {"floor", Align::right}});
  table.add_row({user.external_id.empty() ? std::to_string(user.id.value) : user.external_id, user.kudos.to_string(),
                 user.escrow.to_string(), user.pending.to_string(), effective(user).to_string(),
                 user.floor.to_string()});
  table.print();
}

void print_user(const store::UserRow& user, bool json) {
  if (json) return print_json(to_json(user));
  const std::string name = user.external_id.empty() ? "-" : printable(user.external_id);
  fmt::print("user         {}\nname         {}\nclass        {}{}{}\nfloor        {}{}\nkudos        {}\n", user.id.value,
             name, user.account_class, user.trusted ? ", trusted" : "", user.deleted ? ", deleted" : "",
             user.floor.to_string(), user.floor_overridden ? " (overridden)" : "", user.kudos.to_string());
  fmt::print("evaluation   {}\nqueued       {}\nlast active  {}\ncreated      {}\n", user.escrow.to_string(),
             user.pending.to_string(), time_or_dash(user.last_active), user.created.to_string());
}

}  // namespace kudos::cli
