#include "sim/audit.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sim/marketplace.h"

namespace kudos::sim {
namespace {

const UserRef kAlice = UserRef::external("alice");
const UserRef kOwner = UserRef::external("owner");

TEST(Auditor, SettlementTable) {
  struct Case {
    JobOutcome outcome;
    const char* cost;
    const char* reward;  // empty: the default
    bool trusted;
    const char* requester;
    const char* spendable;
    const char* escrow;
  };
  const std::vector<Case> cases = {
      {JobOutcome::completed, "10.00", "", true, "-10.00", "10.00", "0.00"},
      {JobOutcome::completed, "10.00", "", false, "-10.00", "5.00", "5.00"},
      {JobOutcome::completed, "0.01", "", false, "-0.01", "0.01", "0.00"},  // 0.5 hundredths to 0
      {JobOutcome::completed, "0.03", "", false, "-0.03", "0.01", "0.02"},  // 1.5 to 2
      {JobOutcome::completed, "0.05", "", false, "-0.05", "0.03", "0.02"},  // 2.5 to 2
      {JobOutcome::completed, "10.00", "12.00", true, "-10.00", "12.00", "0.00"},
      {JobOutcome::completed, "10.00", "0.00", false, "-10.00", "0.00", "0.00"},
      {JobOutcome::cancelled, "10.00", "4.00", false, "-10.00", "2.00", "2.00"},
      {JobOutcome::censored, "10.00", "", false, "0.00", "5.00", "5.00"},
  };
  for (const Case& c : cases) {
    Settlement job;
    job.requester = kAlice;
    job.outcome = c.outcome;
    job.cost = *Amount::parse(c.cost);
    if (*c.reward != '\0') job.reward = *Amount::parse(c.reward);
    Auditor auditor;
    auditor.settled(job, kOwner, c.trusted);
    EXPECT_EQ(auditor.balances().at(kAlice).spendable.to_string(), c.requester) << c.cost;
    EXPECT_EQ(auditor.balances().at(kOwner).spendable.to_string(), c.spendable) << c.cost;
    EXPECT_EQ(auditor.balances().at(kOwner).escrow.to_string(), c.escrow) << c.cost;
  }
}

TEST(Auditor, FakeJobsLeaveNothing) {
  Settlement job;
  job.requester = kAlice;
  job.cost = Amount::whole(5);
  job.outcome = JobOutcome::fake;
  Auditor auditor;
  auditor.settled(job, kOwner, true);
  EXPECT_TRUE(auditor.balances().empty());
}

TEST(Auditor, SettlingWithOneselfAndCredits) {
  Settlement job;
  job.requester = kAlice;
  job.cost = Amount::whole(8);
  Auditor auditor;
  auditor.credited(kAlice, Amount::whole(100));
  auditor.settled(job, kAlice, false);
  auditor.credited(kAlice, -Amount::whole(1));
  EXPECT_EQ(auditor.balances().at(kAlice), (ExpectedBalances{Total::whole(95), Total::whole(4)}));
}

TEST(Auditor, NothingIsLostInARunOfTheMarketplace) {
  Marketplace market({});
  Auditor auditor;
  Total difference;  // rewards minus payments
  for (int i = 0; i < 5'000; ++i) {
    const Settlement job = market.next_settlement();
    const NewUser& owner = market.owner_of(job.worker);
    auditor.settled(job, UserRef::external(owner.external_id), owner.trusted);
    if (job.outcome != JobOutcome::censored) difference -= job.cost;
    difference += job.reward.value_or(job.cost);
  }
  Total sum;
  for (const auto& [user, balances] : auditor.balances()) sum += balances.spendable + balances.escrow;
  EXPECT_EQ(sum, difference);
}

}  // namespace
}  // namespace kudos::sim
