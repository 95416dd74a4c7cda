#include "core/fold.h"

#include <gtest/gtest.h>

#include "core/event_builder.h"
#include "core/floor.h"

namespace kudos {
namespace {

constexpr UserId kAlice{1};
const Uuid kWorker = Uuid::v5({}, "worker"), kTeam = Uuid::v5({}, "team");

Event charge(UserId user, Amount change) {
  EventBuilder builder;
  builder.spendable(EntryType::charge, user, change);
  builder.balance(EntryType::charge);
  Event event = std::move(builder).take();
  event.id = Uuid::v7();
  return event;
}

FoldTargets with_account(Total spendable, Total floor, Shortfall shortfall) {
  FoldTargets targets;
  targets.accounts[kAlice] = {spendable, {}, {}, floor, shortfall};
  return targets;
}

struct FloorCase {
  const char* what;
  std::int64_t balance, floor;
  Shortfall shortfall;
  std::int64_t change;
  std::int64_t expected_balance, expected_adjustment;
};

// Contract, "Floors and account classes"; V9 for the two about a floor above the balance.
const FloorCase kFloorCases[] = {
    {"a debit that fits", 100, 25, Shortfall::forgive, -50, 50, 0},
    {"a debit down to the floor", 100, 25, Shortfall::forgive, -75, 25, 0},
    {"what doesn't fit is forgiven", 100, 25, Shortfall::forgive, -90, 25, 15},
    {"at the floor all is forgiven", 25, 25, Shortfall::forgive, -10, 25, 10},
    {"below the floor a debit changes nothing", 10, 25, Shortfall::forgive, -5, 10, 5},
    {"V9: below the floor a credit isn't topped up", 0, 25, Shortfall::forgive, 10, 10, 0},
    {"a negative floor", 0, -50, Shortfall::forgive, -80, -50, 30},
    {"a debt class goes below", 10, 0, Shortfall::debt, -30, -20, 0},
    {"unlimited", 0, 0, Shortfall::unlimited, -30, -30, 0},
};

TEST(FoldTest, Floors) {
  for (const FloorCase& each : kFloorCases) {
    const auto targets = with_account(Total::whole(each.balance), Total::whole(each.floor), each.shortfall);
    const Event event = charge(kAlice, Amount::whole(each.change));
    const FoldOutcome outcome = fold(std::span(&event, 1), targets);
    EXPECT_EQ(outcome.accounts.at(kAlice).spendable, Total::whole(each.expected_balance)) << each.what;
    ASSERT_EQ(outcome.floor_adjustments.size(), each.expected_adjustment == 0 ? 0u : 1u) << each.what;
    if (each.expected_adjustment == 0) continue;
    const Event& adjustment = outcome.floor_adjustments.front();
    EXPECT_EQ(adjustment.postings.front().amount, Amount::whole(each.expected_adjustment)) << each.what;
    EXPECT_TRUE(currency_sum(adjustment).is_zero()) << each.what;
    EXPECT_NE(adjustment.postings.front().detail.find(event.id.to_string()), std::string::npos);
  }
}

// The net of an event counts, not the order of its lines.
TEST(FoldTest, AnEventsOwnCreditCoversItsDebit) {
  EventBuilder builder;
  builder.spendable(EntryType::charge, kAlice, Amount::whole(-100));
  builder.spendable(EntryType::charge, kAlice, Amount::whole(80));
  builder.balance(EntryType::charge);
  const Event event = std::move(builder).take();
  const FoldOutcome outcome = fold(std::span(&event, 1), with_account(Total::whole(30), {}, Shortfall::forgive));
  EXPECT_EQ(outcome.accounts.at(kAlice).spendable, Total::whole(10));
  EXPECT_TRUE(outcome.floor_adjustments.empty());
}

TEST(FoldTest, AForeignEventsHugeDebitIsForgivenInParts) {
  const Amount largest = Amount::from_hundredths(Amount::kLimit - 1);
  Event event;
  event.id = Uuid::v7();
  for (int i = 0; i < 3; ++i) {
    event.postings.push_back({.user = kAlice, .amount = -largest});
    event.postings.push_back({.user = kSink, .amount = largest});
  }
  number_lines(event);
  const FoldOutcome outcome = fold(std::span(&event, 1), with_account({}, {}, Shortfall::forgive));
  EXPECT_TRUE(outcome.accounts.at(kAlice).spendable.is_zero());
  ASSERT_EQ(outcome.floor_adjustments.size(), 1u);
  EXPECT_EQ(outcome.floor_adjustments.front().postings.size(), 6u);
  EXPECT_TRUE(currency_sum(outcome.floor_adjustments.front()).is_zero());
}

Event work_of(UserId owner, Timestamp created) {
  EventBuilder builder;
  builder.user_stat(EntryType::generation, owner, "accumulated", Amount::whole(7));
  builder.user_record(owner, "FULFILLMENT", "image", Amount::whole(1));
  builder.activity(owner);
  builder.worker(kWorker, owner, kTeam);
  builder.worker_stat(EntryType::generation, "generated", Amount::whole(10));
  builder.worker_contributions(*Amount::parse("1.25"));
  builder.worker_fulfilments(Amount::whole(1));
  Event event = std::move(builder).take();
  event.seq = {5};
  event.created = created;
  return event;
}

TEST(FoldTest, EveryStatisticReachesItsTarget) {
  auto targets = with_account({}, {}, Shortfall::forgive);
  targets.workers.insert(kWorker);
  targets.teams.insert(kTeam);
  const Event events[] = {work_of(kAlice, {200}), work_of(kAlice, {100})};
  const FoldOutcome outcome = fold(events, targets);
  EXPECT_EQ(outcome.user_stats.at({kAlice, "accumulated"}), Total::whole(14));
  EXPECT_EQ(outcome.user_records.at({kAlice, {"FULFILLMENT", "image"}}), Total::whole(2));
  EXPECT_EQ(outcome.accounts.at(kAlice).last_active, Timestamp{200}) << "never backwards";
  EXPECT_EQ(outcome.worker_stats.at({kWorker, "generated"}), Total::whole(20));
  for (const Production& production : {outcome.workers.at(kWorker), outcome.teams.at(kTeam)}) {
    EXPECT_EQ(production.kudos, Total::whole(20));
    EXPECT_EQ(production.contributions.to_string(), "2.50");
    EXPECT_EQ(production.fulfilments, Total::whole(2));
  }
}

TEST(FoldTest, ADeletedWorkersTeamStillGetsItsShare) {
  auto targets = with_account({}, {}, Shortfall::forgive);
  targets.teams.insert(kTeam);
  const Event event = work_of(kAlice, {1});
  const FoldOutcome outcome = fold(std::span(&event, 1), targets);
  EXPECT_TRUE(outcome.workers.empty());
  EXPECT_TRUE(outcome.worker_stats.empty());
  EXPECT_EQ(outcome.teams.at(kTeam).kudos, Total::whole(10));
  EXPECT_TRUE(outcome.quarantined.empty());
}

TEST(FoldTest, OnePoisonStatisticSetsAllOfItsEventAsideButNotItsCurrency) {
  Event poison = charge(kAlice, Amount::whole(-3));
  const Event good = work_of(kAlice, {1});
  poison.statistics = good.statistics;
  poison.statistics[1].stat_action = "NOT_A_TYPE";
  poison.seq = {4};
  const Event events[] = {poison, good};
  const FoldOutcome outcome = fold(events, with_account(Total::whole(10), {}, Shortfall::forgive));
  ASSERT_EQ(outcome.quarantined.size(), 1u);
  EXPECT_EQ(outcome.quarantined[0].seq, EventSeq{4});
  EXPECT_EQ(outcome.quarantined[0].reason, QuarantineReason::invalid_stat_record);
  EXPECT_EQ(outcome.accounts.at(kAlice).spendable, Total::whole(7));
  EXPECT_EQ(outcome.user_stats.at({kAlice, "accumulated"}), Total::whole(7)) << "of the good event only";
}

TEST(FoldTest, AStatisticOfAMissingUserIsSetAside) {
  const Event event = work_of(UserId{99}, {1});
  EXPECT_EQ(fold(std::span(&event, 1), {}).quarantined.at(0).reason, QuarantineReason::missing_user);
}

TEST(FoldTest, InlineEventsHaveHadTheirEffect) {
  Event event = charge(kAlice, Amount::whole(-3));
  event.applied_inline = true;
  EXPECT_TRUE(fold(std::span(&event, 1), {}).accounts.empty());
}

}  // namespace
}  // namespace kudos
