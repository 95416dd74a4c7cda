// Rule 7: given the order of events, the result depends on nothing else. Random sequences of events, cut into random
// batches, give the same accounts, counters and floor adjustments as one event at a time; and every event, adjustments
// included, sums to zero.
#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/event_builder.h"
#include "core/fold.h"

namespace kudos {
namespace {

constexpr int kUsers = 4, kWorkers = 2, kTeams = 2;

Uuid worker_id(int i) { return Uuid::v5({}, "worker" + std::to_string(i)); }
Uuid team_id(int i) { return Uuid::v5({}, "team" + std::to_string(i)); }

// Everything that folds change, kept across batches as the database keeps it.
struct World {
  FoldTargets targets;
  std::map<UserStatKey, Total> user_stats;
  std::map<UserRecordKey, Total> user_records;
  std::map<Uuid, Production> workers, teams;
  std::map<WorkerStatKey, Total> worker_stats;
  std::vector<std::pair<Uuid, std::string>> adjustments;  // id, amount
  std::vector<std::pair<std::int64_t, QuarantineReason>> quarantined;

  void apply(std::span<const Event> batch) {
    const FoldOutcome outcome = fold(batch, targets);
    for (const auto& [user, account] : outcome.accounts) targets.accounts[user] = account;
    for (const auto& [key, value] : outcome.user_stats) user_stats[key] += value;
    for (const auto& [key, value] : outcome.user_records) user_records[key] += value;
    for (const auto& [key, value] : outcome.worker_stats) worker_stats[key] += value;
    for (const auto& [id, made] : outcome.workers) add(workers[id], made);
    for (const auto& [id, made] : outcome.teams) add(teams[id], made);
    for (const Event& event : outcome.floor_adjustments) {
      RC_ASSERT(currency_sum(event).is_zero());
      adjustments.emplace_back(event.id, event.postings.front().amount.to_string());
    }
    for (const auto& each : outcome.quarantined) quarantined.emplace_back(each.seq.value, each.reason);
  }

  static void add(Production& sum, const Production& made) {
    sum.kudos += made.kudos;
    sum.contributions += made.contributions;
    sum.fulfilments += made.fulfilments;
  }

  static auto numbers(const Production& production) {
    return std::tuple(production.kudos, production.contributions, production.fulfilments);
  }
  static auto numbers(const Account& account) {
    return std::tuple(account.spendable, account.escrow, account.last_active);
  }
  template <class Map>
  static bool same(const Map& a, const Map& b) {
    return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& entry) {
             return b.contains(entry.first) && numbers(b.at(entry.first)) == numbers(entry.second);
           });
  }
  bool operator==(const World& other) const {
    return same(targets.accounts, other.targets.accounts) && user_stats == other.user_stats &&
           user_records == other.user_records && worker_stats == other.worker_stats && same(workers, other.workers) &&
           same(teams, other.teams) && adjustments == other.adjustments && quarantined == other.quarantined;
  }
};

World make_world() {
  World world;
  const Total floor = Total::whole(*rc::gen::inRange(-60, 30));
  for (int i = 1; i <= kUsers; ++i) {
    const auto shortfall = *rc::gen::element(Shortfall::forgive, Shortfall::forgive, Shortfall::debt);
    world.targets.accounts[UserId{i}] = {Total::whole(*rc::gen::inRange(-40, 200)), {}, {}, floor, shortfall};
  }
  for (int i = 0; i < kWorkers; ++i)
    if (*rc::gen::arbitrary<bool>()) world.targets.workers.insert(worker_id(i));
  for (int i = 0; i < kTeams; ++i)
    if (*rc::gen::arbitrary<bool>()) world.targets.teams.insert(team_id(i));
  return world;
}

UserId any_user() { return {*rc::gen::inRange(1, kUsers + 1)}; }
Amount any_amount() { return Amount::from_hundredths(*rc::gen::inRange(-9000, 9000)); }

void add_statistics(EventBuilder& builder) {
  builder.user_stat(EntryType::generation, any_user(), "accumulated", any_amount());
  builder.user_record(any_user(), "USAGE", "image", any_amount());
  builder.activity(any_user());
  const int worker = *rc::gen::inRange(0, kWorkers);
  builder.worker(worker_id(worker), any_user(), team_id(*rc::gen::inRange(0, kTeams)));
  builder.worker_stat(EntryType::generation, "generated", any_amount());
  builder.worker_contributions(any_amount());
}

Event any_event(std::int64_t seq) {
  EventBuilder builder;
  const int postings = *rc::gen::inRange(0, 4);
  for (int i = 0; i < postings; ++i) {
    if (*rc::gen::inRange(0, 4) == 0)
      builder.escrow(EntryType::generation, any_user(), any_amount());
    else
      builder.spendable(EntryType::charge, any_user(), any_amount());
  }
  builder.balance(EntryType::charge);
  if (*rc::gen::arbitrary<bool>()) add_statistics(builder);
  Event event = std::move(builder).take();
  // Now and then a statistic that can't fold.
  if (!event.statistics.empty() && *rc::gen::inRange(0, 8) == 0) event.statistics.front().user = UserId{999};
  event.seq = {seq};
  event.id = Uuid::v5({}, std::to_string(seq));
  event.created = {1000 + *rc::gen::inRange(-5, 5)};
  return event;
}

std::vector<Event> any_events() {
  std::vector<Event> events;
  const int count = *rc::gen::inRange(0, 60);
  for (int i = 1; i <= count; ++i) events.push_back(any_event(i));
  return events;
}

RC_GTEST_PROP(FoldProperty, AnySplitIntoBatchesGivesTheSameState, ()) {
  const World start = make_world();
  const std::vector<Event> events = any_events();
  World single = start, batched = start, whole = start;
  for (const Event& event : events) single.apply(std::span(&event, 1));
  for (std::size_t at = 0; at < events.size();) {
    const auto size = std::min<std::size_t>(static_cast<std::size_t>(*rc::gen::inRange(1, 12)), events.size() - at);
    batched.apply(std::span(events).subspan(at, size));
    at += size;
  }
  whole.apply(events);
  RC_ASSERT(single == batched);
  RC_ASSERT(single == whole);
}

RC_GTEST_PROP(FoldProperty, ADebitNeverTakesAForgivingAccountBelowItsFloor, ()) {
  World world = make_world();
  for (const Event& event : any_events()) {
    const auto before = world.targets.accounts;
    world.apply(std::span(&event, 1));
    for (const auto& [user, account] : world.targets.accounts) {
      if (account.shortfall != Shortfall::forgive) continue;
      const Total was = before.at(user).spendable;
      RC_ASSERT(account.spendable >= std::min(was, account.floor));
    }
  }
}

// Balance = start + postings + adjustments: nothing is lost or invented.
RC_GTEST_PROP(FoldProperty, BalancesAreTheSumOfPostingsAndAdjustments, ()) {
  World world = make_world();
  const auto start = world.targets.accounts;
  const std::vector<Event> events = any_events();
  std::map<UserId, Total> expected;
  for (const Event& event : events) {
    RC_ASSERT(currency_sum(event).is_zero());
    for (const Posting& posting : event.postings)
      if (!is_system(posting.user) && !posting.escrow) expected[posting.user] += posting.amount;
    const FoldOutcome outcome = fold(std::span(&event, 1), world.targets);
    for (const Event& adjustment : outcome.floor_adjustments)
      for (const Posting& posting : adjustment.postings)
        if (!is_system(posting.user)) expected[posting.user] += posting.amount;
    world.apply(std::span(&event, 1));
  }
  for (const auto& [user, account] : world.targets.accounts)
    RC_ASSERT(account.spendable == start.at(user).spendable + expected[user]);
}

}  // namespace
}  // namespace kudos
