#include "sim/marketplace.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

namespace kudos::sim {
namespace {

std::string text(const Settlement& job) {
  return job.requester.external_id + " " + job.worker.to_string() + " " + job.cost.to_string() + " " +
         job.reward.value_or(job.cost).to_string() + " " + job.things.to_string() + " " + job.job_id->to_string() +
         " " + std::to_string(static_cast<int>(job.outcome));
}

TEST(Marketplace, AccountsOfTheDefaultShape) {
  const Marketplace market({});
  ASSERT_EQ(market.users().size(), 61u);
  EXPECT_EQ(market.users()[0].external_id, "anonymous");
  EXPECT_EQ(market.users()[0].account_class, "anonymous");
  EXPECT_EQ(market.users()[0].id, UserId{0});
  std::set<std::string> names;
  for (const NewUser& user : market.users()) names.insert(user.external_id);
  EXPECT_EQ(names.size(), 61u);
  EXPECT_EQ(std::ranges::count(market.users(), "registered", &NewUser::account_class), 60);
  EXPECT_EQ(market.teams().size(), 5u);
  ASSERT_EQ(market.workers().size(), 24u);
  EXPECT_EQ(std::ranges::count(market.workers(), "image", &NewWorker::worker_type), 16);
  EXPECT_EQ(std::ranges::count(market.workers(), "text", &NewWorker::worker_type), 8);
}

TEST(Marketplace, WorkersRefer) {
  const Marketplace market({});
  std::set<std::string> owners, trusted;
  std::unordered_set<Uuid> workers;
  for (const NewWorker& worker : market.workers()) {
    workers.insert(worker.id);
    const NewUser& owner = market.owner_of(worker.id);
    EXPECT_EQ(worker.owner, UserRef::external(owner.external_id));
    EXPECT_NE(std::ranges::find(market.teams(), worker.team, &NewTeam::id), market.teams().end());
    owners.insert(owner.external_id);
    if (owner.trusted) trusted.insert(owner.external_id);
  }
  EXPECT_EQ(workers.size(), 24u);
  EXPECT_EQ(owners.size(), 12u);
  EXPECT_EQ(trusted.size(), 4u);
}

TEST(Marketplace, SameSeedSameJobs) {
  Marketplace one({}), same({}), other({.seed = 2});
  std::unordered_set<Uuid> ids;
  for (int i = 0; i < 1'000; ++i) {
    const Settlement job = one.next_settlement();
    EXPECT_EQ(text(job), text(same.next_settlement()));
    ids.insert(*job.job_id);
    ids.insert(*other.next_settlement().job_id);
  }
  EXPECT_EQ(ids.size(), 2'000u);
}

// Fixed for all platforms: the engine is the standard's, the draws are ours.
TEST(Marketplace, FirstJobOfSeedOne) {
  Marketplace market({});
  EXPECT_EQ(text(market.next_settlement()),
            "user-010 edd2a9e3-5e6b-5ab6-84ca-f5a3aee43c5e 64.33 64.33 1000000.00 "
            "ed88e4b2-9278-52c1-9b0d-7f647f877da4 0");
}

TEST(Marketplace, Shares) {
  constexpr int kJobs = 20'000;
  Marketplace market({});
  std::map<std::string, int> requesters;
  std::map<Uuid, int> workers;
  std::map<JobOutcome, int> outcomes;
  for (int i = 0; i < kJobs; ++i) {
    const Settlement job = market.next_settlement();
    ++requesters[job.requester.external_id];
    ++workers[job.worker];
    ++outcomes[job.outcome];
    ASSERT_GE(job.cost, Amount::whole(1));
    ASSERT_LE(job.cost, Amount::whole(80));
    ASSERT_LE(job.reward.value_or(job.cost), job.cost);
    ASSERT_TRUE(job.things.is_positive());
    ASSERT_EQ(job.reward.has_value(), job.outcome == JobOutcome::cancelled);
  }
  EXPECT_NEAR(requesters["anonymous"], kJobs * 33 / 100, 300);
  EXPECT_GT(requesters["user-001"], 8 * requesters["user-060"]);
  EXPECT_EQ(workers.size(), 24u);
  EXPECT_NEAR(workers[market.workers()[0].id], kJobs / 5, 300);
  EXPECT_NEAR(outcomes[JobOutcome::cancelled], kJobs * 4 / 100, 120);
  EXPECT_NEAR(outcomes[JobOutcome::censored], kJobs / 100, 60);
}

TEST(Marketplace, SmallestAndEdgeShapes) {
  Marketplace smallest({.users = 1, .workers = 1, .teams = 0, .seed = 3, .anonymous_percent = 0});
  const Settlement job = smallest.next_settlement();
  EXPECT_EQ(job.requester.external_id, "user-001");
  EXPECT_EQ(job.worker, smallest.workers()[0].id);
  EXPECT_FALSE(smallest.workers()[0].team.has_value());

  Marketplace anonymous({.anonymous_percent = 100});
  for (int i = 0; i < 200; ++i) EXPECT_EQ(anonymous.next_settlement().requester.external_id, "anonymous");
  EXPECT_DEATH(Marketplace({.users = 0}), "users");
}

}  // namespace
}  // namespace kudos::sim
