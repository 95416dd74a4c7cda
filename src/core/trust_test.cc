#include "core/trust.h"

#include <gtest/gtest.h>

namespace kudos {
namespace {

constexpr std::int64_t kDay = 24ll * 3600 * 1'000'000;
constexpr Timestamp kNow{100 * kDay};
const TrustPolicy kThreshold{Amount::whole(100)};

TrustCandidate somebody() {
  return {.user = {7}, .account_class = "registered", .created = {90 * kDay}, .escrow = Total::whole(101)};
}

struct Case {
  const char* name;
  void (*change)(TrustCandidate&);
  bool becomes_trusted;
  bool gets_its_escrow;
};

TEST(TrustTest, WhoIsPromoted) {
  const Case cases[] = {
      {"enough escrow", [](auto&) {}, true, true},
      {"just the threshold", [](auto& user) { user.escrow = Total::whole(100); }, false, false},
      {"a hundredth more", [](auto& user) { user.escrow = Total::from_hundredths(100'01); }, true, true},
      {"seven days old", [](auto& user) { user.created = {93 * kDay}; }, true, true},
      {"a moment younger", [](auto& user) { user.created = {93 * kDay + 1}; }, false, false},
      {"suspicious", [](auto& user) { user.suspicious = true; }, false, false},
      {"anonymous", [](auto& user) { user.account_class = "anonymous"; }, false, false},
      {"deleted", [](auto& user) { user.deleted = true; }, false, false},
      {"a worker is held", [](auto& user) { user.workers_held = true; }, false, false},
      {"a promotion in flight", [](auto& user) { user.in_flight = true; }, true, false},
      {"trusted", [](auto& user) { user.trusted = true; }, false, true},
      {"trusted, little escrow", [](auto& user) { user.trusted = true, user.escrow = Total::from_hundredths(1); },
       false, true},
      {"trusted, young and suspicious", [](auto& user) { user.trusted = user.suspicious = true, user.created = kNow; },
       false, true},
      {"trusted, in flight", [](auto& user) { user.trusted = user.in_flight = true; }, false, false},
      {"trusted, nothing there", [](auto& user) { user.trusted = true, user.escrow = {}; }, false, false},
      {"trusted, negative", [](auto& user) { user.trusted = true, user.escrow = Total::whole(-1); }, false, false},
  };
  for (const Case& row : cases) {
    TrustCandidate user = somebody();
    row.change(user);
    const auto decision = decide_trust(std::span(&user, 1), kThreshold, kNow, {3});
    EXPECT_EQ(!decision.promoted.empty(), row.becomes_trusted) << row.name;
    EXPECT_EQ(!decision.promotions.empty(), row.gets_its_escrow) << row.name;
  }
}

TEST(TrustTest, WithoutThresholdNobodyBecomesTrustedButTheTrustedGetTheirEscrow) {
  TrustCandidate users[] = {somebody(), somebody()};
  users[1].user = {8};
  users[1].trusted = true;
  const auto decision = decide_trust(users, {}, kNow, {3});
  EXPECT_TRUE(decision.promoted.empty());
  ASSERT_EQ(decision.promotions.size(), 1u);
  EXPECT_EQ(decision.promotions.front().postings.front().user, UserId{8});
}

TEST(TrustTest, APromotionMovesTheWholeEscrow) {
  const TrustCandidate user = somebody();
  const auto decision = decide_trust(std::span(&user, 1), kThreshold, kNow, {3});
  ASSERT_EQ(decision.promotions.size(), 1u);
  const Event& event = decision.promotions.front();
  ASSERT_EQ(event.postings.size(), 2u);
  EXPECT_TRUE(event.postings[0].escrow);
  EXPECT_EQ(event.postings[0].amount, Amount::whole(-101));
  EXPECT_FALSE(event.postings[1].escrow);
  EXPECT_EQ(event.postings[1].amount, Amount::whole(101));
  ASSERT_EQ(event.statistics.size(), 1u);
  EXPECT_EQ(event.statistics[0].stat_action, "accumulated");
  EXPECT_EQ(event.statistics[0].amount, Amount::whole(101));
  EXPECT_TRUE(currency_sum(event).is_zero());
}

TEST(TrustTest, IdsFollowFromTheUserAndTheLastFold) {
  const TrustCandidate user = somebody();
  const auto id_at = [&](std::int64_t fold) {
    return decide_trust(std::span(&user, 1), kThreshold, kNow, {fold}).promotions.front().id;
  };
  EXPECT_EQ(id_at(3), id_at(3));
  EXPECT_NE(id_at(3), id_at(4));
}

TEST(TrustTest, WhatOnePostingCantCarryFollowsLater) {
  TrustCandidate user = somebody();
  user.escrow = Total::from_hundredths(Amount::kLimit + 5);
  const auto decision = decide_trust(std::span(&user, 1), kThreshold, kNow, {3});
  EXPECT_EQ(decision.promotions.front().postings[1].amount, Amount::from_hundredths(Amount::kLimit - 1));
}

}  // namespace
}  // namespace kudos
