#include "core/mend.h"

#include <gtest/gtest.h>

#include "core/event_builder.h"
#include "core/fold.h"
#include "core/validate.h"

namespace kudos {
namespace {

const Uuid kWorker = Uuid::v5({}, "worker"), kTeam = Uuid::v5({}, "team");

// One of every projection, then one that can't fold.
Event spoilt_event() {
  EventBuilder builder;
  builder.job(Uuid::v5({}, "job"), "image");
  builder.spendable(EntryType::charge, {1}, Amount::whole(-5));
  builder.balance(EntryType::charge);
  builder.user_stat(EntryType::charge, {1}, "charged", Amount::whole(-5));
  builder.user_record({1}, "USAGE", "image", Amount::whole(2));
  builder.activity({1});
  builder.worker(kWorker, {2}, kTeam);
  builder.worker_stat(EntryType::generation, "generated", Amount::whole(4));
  builder.worker_contributions(Amount::whole(2));
  builder.worker_fulfilments(Amount::whole(1));
  builder.user_stat(EntryType::charge, {99}, "charged", Amount::whole(1));
  Event event = std::move(builder).take();
  event.id = Uuid::v5({}, "event");
  event.created = {1'700'000'000'000'000};
  return event;
}

TEST(Mend, KeepsWhatCanFoldAsReconciliationAndLeavesCurrencyAlone) {
  const Event event = spoilt_event();
  const Mending mending = mend(event, {{1}});
  EXPECT_TRUE(mending.event.postings.empty());
  EXPECT_EQ(mending.kept, (std::vector<std::int16_t>{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(mending.left_out, (std::vector<LeftOut>{{9, QuarantineReason::missing_user}}));
  EXPECT_EQ(mending.event.job_id, event.job_id);
  EXPECT_EQ(mending.event.wp_type, "image");
  for (std::size_t i = 0; i < mending.event.statistics.size(); ++i) {
    const StatPosting &now = mending.event.statistics[i], &was = event.statistics[i];
    EXPECT_EQ(now.entry_type, EntryType::reconciliation);
    EXPECT_EQ(now.line, static_cast<std::int16_t>(i + 1));
    EXPECT_EQ(now.target, was.target);
    EXPECT_EQ(now.amount, was.amount);
    EXPECT_TRUE(now.detail.starts_with(R"({"reason": "quarantine", "event_id": ")" + event.id.to_string() + '"'));
  }
  EXPECT_TRUE(validate(mending.event).has_value());
}

TEST(Mend, TheRepairFoldsWhatTheEventWouldHaveFolded) {
  Event whole = spoilt_event();
  whole.statistics.pop_back();
  whole.postings.clear();
  Event repair = mend(spoilt_event(), {{1}}).event;
  repair.created = {1'800'000'000'000'000};
  FoldTargets targets;
  targets.accounts[{1}] = {};
  targets.workers = {kWorker};
  targets.teams = {kTeam};
  const auto expected = fold(std::span(&whole, 1), targets), actual = fold(std::span(&repair, 1), targets);
  EXPECT_TRUE(actual.quarantined.empty());
  EXPECT_EQ(actual.user_stats, expected.user_stats);
  EXPECT_EQ(actual.user_records, expected.user_records);
  EXPECT_EQ(actual.worker_stats, expected.worker_stats);
  EXPECT_EQ(actual.workers.at(kWorker).contributions, expected.workers.at(kWorker).contributions);
  EXPECT_EQ(actual.workers.at(kWorker).fulfilments, expected.workers.at(kWorker).fulfilments);
  EXPECT_EQ(actual.teams.at(kTeam).kudos, expected.teams.at(kTeam).kudos);
  EXPECT_EQ(actual.accounts.at({1}).last_active, whole.created) << "the user was active then, not at the repair";
}

TEST(Mend, AMissingTargetIsFilledInAndAContradictoryOneIsNot) {
  Event event = spoilt_event();
  event.statistics[0].target.reset();
  event.statistics[1].target = Target::user_stat;
  const Mending mending = mend(event, {{1}, {99}});
  EXPECT_EQ(mending.event.statistics.front().target, Target::user_stat);
  EXPECT_EQ(mending.left_out, (std::vector<LeftOut>{{4, QuarantineReason::unknown_projection}}));
}

TEST(Mend, TheIdFollowsFromTheEvents) {
  EXPECT_EQ(mend(spoilt_event(), {}).event.id, mend(spoilt_event(), {{1}}).event.id);
  EXPECT_NE(repair_id(Uuid::v5({}, "event")), repair_id(Uuid::v5({}, "another")));
}

// A repair can itself be set aside (its user went away meanwhile) and be repaired: the time of the activity stays.
TEST(Mend, ARepairOfARepairKeepsTheTime) {
  const Event event = spoilt_event();
  const Mending first = mend(event, {{1}});
  Mending second = mend(first.event, {{1}});
  ASSERT_EQ(second.event.statistics.size(), first.event.statistics.size());
  second.event.created = {1'900'000'000'000'000};
  EXPECT_EQ(activity_time(second.event, second.event.statistics[2]), event.created);
}

TEST(Mend, ATouchInTheDetailIsKept) {
  Event event = spoilt_event();
  event.statistics[0].detail = R"({"touch_last_active": true})";
  const auto detail = mend(event, {{1}}).event.statistics.front().detail;
  EXPECT_NE(detail.find(R"("active_at": 1700000000000000, "touch_last_active": true})"), std::string::npos) << detail;
}

}  // namespace
}  // namespace kudos
