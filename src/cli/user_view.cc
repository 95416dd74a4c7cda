#include "cli/user_view.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/command.h"
#include "cli/terminal.h"

namespace kudos::cli {
namespace {

using store::AccountView;

Total effective(const AccountView& account) {
  if (!account.funds) return account.user.kudos + account.user.pending;
  return effective_balance(account.funds->terms, account.funds->queued);
}

// What only accounts that spend have: their floor, what they promised, what they may spend.
using Term = Total (*)(const AccountView&);
Total floor_of(const AccountView& account) { return account.funds->terms.floor; }
Total held(const AccountView& account) { return account.funds->terms.promised; }
Total available(const AccountView& account) { return account.funds->terms.available(); }

std::string text_or(const AccountView& account, Term term, const char* none) {
  return account.funds ? term(account).to_string() : none;
}

boost::json::value json_or_null(const AccountView& account, Term term) {
  if (!account.funds) return nullptr;
  return boost::json::value(term(account).to_string());
}

std::string name_of(const store::UserRow& user) {
  if (user.id == kTreasury) return "(treasury)";
  if (user.id == kSink) return "(sink)";
  return user.external_id.empty() ? "-" : printable(user.external_id);
}

std::string time_or_dash(const std::optional<Timestamp>& time) { return time ? time->to_string() : "-"; }

std::string class_text(const store::UserRow& user) {
  return user.account_class + (user.trusted ? ", trusted" : "") + (user.deleted ? ", deleted" : "");
}

}  // namespace

boost::json::object balance_to_json(const AccountView& account) {
  const store::UserRow& user = account.user;
  return {{"user_id", user.id.value},
          {"external_id", user.external_id},
          {"kudos", user.kudos.to_string()},
          {"evaluating_kudos", user.escrow.to_string()},
          {"pending", user.pending.to_string()},
          {"pending_evaluating", user.pending_escrow.to_string()},
          {"held", json_or_null(account, held)},
          {"available", json_or_null(account, available)},
          {"effective", effective(account).to_string()},
          {"floor", json_or_null(account, floor_of)}};
}

boost::json::object to_json(const AccountView& account) {
  const store::UserRow& user = account.user;
  auto object = balance_to_json(account);
  object["account_class"] = user.account_class;
  object["floor_overridden"] = user.floor_overridden;
  object["trusted"] = user.trusted;
  object["deleted"] = user.deleted;
  object["created"] = user.created.to_string();
  object["last_active"] = nullptr;
  if (user.last_active) object["last_active"] = user.last_active->to_string();
  return object;
}

void print_balance(const AccountView& account, bool json) {
  if (json) return print_json(balance_to_json(account));
  print_balances(std::span(&account, 1));
}

void print_balances(std::span<const AccountView> accounts) {
  Table table({{"user", Align::right},
               {"name"},
               {"kudos", Align::right},
               {"queued", Align::right},
               {"held", Align::right},
               {"available", Align::right},
               {"effective", Align::right},
               {"in evaluation", Align::right},
               {"queued there", Align::right},
               {"floor", Align::right}});
  for (const auto& account : accounts) {
    const store::UserRow& user = account.user;
    table.add_row({std::to_string(user.id.value), name_of(user), user.kudos.to_string(), user.pending.to_string(),
                   text_or(account, held, "-"), text_or(account, available, "-"), effective(account).to_string(),
                   user.escrow.to_string(), user.pending_escrow.to_string(), text_or(account, floor_of, "none")});
  }
  table.print();
}

void print_user(const AccountView& account, bool json) {
  if (json) return print_json(to_json(account));
  const store::UserRow& user = account.user;
  fmt::print("user         {}\nname         {}\nclass        {}\nfloor        {}{}\nkudos        {}\n", user.id.value,
             name_of(user), class_text(user), text_or(account, floor_of, "none"),
             user.floor_overridden ? " (overridden)" : "", user.kudos.to_string());
  fmt::print("queued       {}\nheld         {}\navailable    {}\nevaluation   {}\n", user.pending.to_string(),
             text_or(account, held, "-"), text_or(account, available, "-"), user.escrow.to_string());
  fmt::print("last active  {}\ncreated      {}\n", time_or_dash(user.last_active), user.created.to_string());
}

}  // namespace kudos::cli
