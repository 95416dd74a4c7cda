// An independent auditor: what balances must be, by arithmetic that shares no code with the core.
//
// Tests, chaos runs and benchmarks tell it each accepted event and compare its answer with the stored balances. It
// knows users only by the reference it's given, so name a user in one way throughout (by number or by external id).
// It ignores floors: compare it with runs in which none is reached.
//
// Thread-safety: an auditor belongs to one thread at a time.
#pragma once

#include <map>

#include "kudos/amount.h"
#include "kudos/commands.h"

namespace kudos::sim {

struct ExpectedBalances {
  Total spendable;
  Total escrow;
  auto operator<=>(const ExpectedBalances&) const = default;
};

class Auditor {
 public:
  // One settled job. `owner` is the worker's owner. Trusted and anonymous owners earn spendable kudos; of any other's
  // reward half goes to escrow, rounded half to even at two decimals.
  void settled(const Settlement& job, const UserRef& owner, bool owner_trusted_or_anonymous);

  // Spendable kudos from the treasury (a purchase, an award); negative for a tax.
  void credited(const UserRef& user, Amount amount);

  // Every user that an event touched, if only by 0.00. System accounts aren't kept.
  const std::map<UserRef, ExpectedBalances>& balances() const { return balances_; }

 private:
  std::map<UserRef, ExpectedBalances> balances_;
};

}  // namespace kudos::sim
