#include "sim/audit.h"

namespace kudos::sim {
namespace {

// Half of a non-negative number of hundredths, a tie going to the even neighbour.
Int128 half_to_even(Int128 hundredths) {
  const Int128 below = hundredths / 2;
  const bool tie = hundredths % 2 == 1;
  return tie && below % 2 == 1 ? below + 1 : below;
}

}  // namespace

void Auditor::settled(const Settlement& job, const UserRef& owner, bool owner_trusted_or_anonymous) {
  if (job.outcome == JobOutcome::fake) return;
  const Total cost = job.outcome == JobOutcome::censored ? Total() : Total(job.cost);
  balances_[job.requester].spendable -= cost;

  const Int128 reward = job.reward.value_or(job.cost).hundredths();
  const Int128 escrow = owner_trusted_or_anonymous ? 0 : half_to_even(reward);
  ExpectedBalances& earned = balances_[owner];
  earned.escrow += Total::from_hundredths(escrow);
  earned.spendable += Total::from_hundredths(reward - escrow);
}

void Auditor::credited(const UserRef& user, Amount amount) { balances_[user].spendable += amount; }

}  // namespace kudos::sim
