// An account as people see it: its row, and what it may spend.
#pragma once

#include <optional>

#include "db/connection.h"
#include "store/emission.h"
#include "store/queries.h"

namespace kudos::store {

struct AccountView {
  UserRow user;
  // Agrees with the row's balances. Nothing for treasury and sink: they have no floor, and nobody spends for them.
  std::optional<UserFunds> funds;
};

// Refuses a user that doesn't exist (unknown_user). Takes no lock, so a transaction that holds the payer doesn't stop
// it, and what it says may be outdated at once. Outside a transaction it reads one snapshot.
Result<AccountView> read_account(db::Connection& connection, const UserRef& user);

}  // namespace kudos::store
