#include "ledger/isolation.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace kudos::ledger {
namespace {

using namespace std::chrono_literals;
const Isolation::Clock::time_point kNow{1h};

TEST(IsolationTest, TheFirstFailuresArePlain) {
  Isolation isolation;
  EXPECT_FALSE(isolation.failed(FailureKind::unexpected, 80));
  EXPECT_EQ(isolation.at_most(), Isolation::kNoLimit);
  EXPECT_TRUE(isolation.failed(FailureKind::unexpected, 80));
  EXPECT_EQ(isolation.at_most(), 40);
}

TEST(IsolationTest, WhatPassesByItselfGetsMorePatience) {
  Isolation isolation;
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(isolation.failed(FailureKind::deadlock, 80));
  EXPECT_TRUE(isolation.failed(FailureKind::deadlock, 80));
}

TEST(IsolationTest, ALostConnectionBlamesNobody) {
  Isolation isolation;
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(isolation.failed(FailureKind::connection, 80));
    EXPECT_FALSE(isolation.failed(FailureKind::in_doubt, 80));
    EXPECT_FALSE(isolation.failed(FailureKind::unexpected, 0));
  }
}

TEST(IsolationTest, ASuccessForgivesEarlierFailures) {
  Isolation isolation;
  EXPECT_FALSE(isolation.failed(FailureKind::unexpected, 80));
  isolation.succeeded();
  EXPECT_FALSE(isolation.failed(FailureKind::unexpected, 80));
}

TEST(IsolationTest, TheRestGrowsWithEachAttemptUpToALimit) {
  Isolation isolation;
  isolation.set_aside({7}, 1, kNow);
  EXPECT_FALSE(isolation.due(kNow + 999ms));
  EXPECT_EQ(isolation.due(kNow + 1s), EventSeq{7});
  isolation.set_aside({7}, 4, kNow);
  EXPECT_FALSE(isolation.due(kNow + 7s));
  EXPECT_TRUE(isolation.due(kNow + 8s));
  isolation.set_aside({7}, 1000, kNow);
  EXPECT_FALSE(isolation.due(kNow + 299s));
  EXPECT_TRUE(isolation.due(kNow + 300s));
}

// Whatever is poisonous: exactly that is found, all else folds, and the batches grow again.
TEST(IsolationTest, FindsExactlyTheCulprits) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    std::set<std::int64_t> queue, poison, found, folded;
    for (std::int64_t seq = 1; seq <= 200; ++seq) queue.insert(seq);
    for (int i = 0; i < 5; ++i) poison.insert(1 + static_cast<std::int64_t>(random() % 200));
    Isolation isolation;
    int cycles = 0;
    for (; !queue.empty() && cycles < 400; ++cycles) {
      std::vector<std::int64_t> batch;
      for (const auto seq : queue)
        if (static_cast<std::int32_t>(batch.size()) < std::min(80, isolation.at_most())) batch.push_back(seq);
      if (std::ranges::none_of(batch, [&](auto seq) { return poison.contains(seq); })) {
        isolation.succeeded();
        for (const auto seq : batch) folded.insert(seq), queue.erase(seq);
        continue;
      }
      const bool act = isolation.failed(FailureKind::unexpected, static_cast<std::int32_t>(batch.size()));
      if (!act || batch.size() > 1) continue;
      found.insert(batch.front());
      queue.erase(batch.front());
      isolation.set_aside({batch.front()}, 1, kNow);
    }
    ASSERT_EQ(found, poison) << "seed " << seed;
    ASSERT_EQ(folded.size() + poison.size(), 200u) << "seed " << seed;
    ASSERT_LT(cycles, 120) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kudos::ledger
