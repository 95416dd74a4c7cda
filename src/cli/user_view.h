// How a user is shown.
#pragma once

#include <boost/json/fwd.hpp>
#include <span>

#include "store/account_view.h"

namespace kudos::cli {

boost::json::object to_json(const store::AccountView& account);
void print_user(const store::AccountView& account, bool json);

// Materialised balance, what is promised of it, what may be spent, and what is queued.
boost::json::object balance_to_json(const store::AccountView& account);
void print_balance(const store::AccountView& account, bool json);
// One table, for people.
void print_balances(std::span<const store::AccountView> accounts);

}  // namespace kudos::cli
