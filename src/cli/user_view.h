// How a user is shown.
#pragma once

#include <boost/json/fwd.hpp>
#include <span>

#include "store/queries.h"

namespace kudos::cli {

boost::json::object to_json(const store::UserRow& user);
void print_user(const store::UserRow& user, bool json);

// Materialised balance, and with what is queued.
boost::json::object balance_to_json(const store::UserRow& user);
void print_balance(const store::UserRow& user, bool json);
// One table, for people.
void print_balances(std::span<const store::UserRow> users);

}  // namespace kudos::cli
