#include "store/account_view.h"

#include "base/try.h"

namespace kudos::store {
namespace {

constexpr db::Statement kBeginSnapshot{"begin_snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};

// In a READ COMMITTED transaction a fold may come between the two statements: the balances are then those of the
// second.
void agree(UserRow& user, const UserFunds& funds) {
  user.kudos = funds.terms.balance;
  user.floor = funds.terms.floor;
  user.escrow = funds.escrow;
  user.pending = funds.queued;
}

Result<AccountView> read_both(db::Connection& connection, const UserRef& name) {
  AccountView account;
  KUDOS_ASSIGN(account.user, read_user(connection, name));
  if (is_system(account.user.id)) return account;
  KUDOS_ASSIGN(account.funds, peek_funds(connection, account.user.id));
  agree(account.user, *account.funds);
  return account;
}

}  // namespace

Result<AccountView> read_account(db::Connection& connection, const UserRef& user) {
  if (connection.in_transaction()) return read_both(connection, user);
  KUDOS_TRY(connection.execute(kBeginSnapshot));
  auto account = read_both(connection, user);
  connection.roll_back();
  return account;
}

}  // namespace kudos::store
