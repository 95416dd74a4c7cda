// Quarantine in the pure fold: valid events always fold, spoilt ones leave no trace in any counter, their currency
// folds, each has one reason.
#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/fold.h"
#include "spoilt_events.h"

namespace kudos::testing {
namespace {

FoldTargets all_targets() {
  FoldTargets targets;
  for (int i = 1; i <= kUsers; ++i) targets.accounts[UserId{i}] = {{}, {}, {}, {}, Shortfall::debt};
  for (int i = 0; i < kProducers; ++i) {
    targets.workers.insert(worker_id(i));
    targets.teams.insert(team_id(i));
  }
  return targets;
}

void add_production(Sums& sums, const std::string& name, const Production& made) {
  sums[name + "/kudos"] += made.kudos;
  sums[name + "/contributions"] += made.contributions;
  sums[name + "/fulfilments"] += made.fulfilments;
}

void add_counters(Sums& sums, const FoldOutcome& outcome) {
  for (const auto& [key, value] : outcome.user_stats)
    sums["stat/" + std::to_string(key.first.value) + "/" + key.second] += value;
  for (const auto& [key, value] : outcome.user_records)
    sums["record/" + std::to_string(key.first.value) + "/" + key.second.first + "/" + key.second.second] += value;
  for (const auto& [key, value] : outcome.worker_stats)
    sums["worker_stat/" + key.first.to_string() + "/" + key.second] += value;
  for (const auto& [id, made] : outcome.workers) add_production(sums, "worker/" + id.to_string(), made);
  for (const auto& [id, made] : outcome.teams) add_production(sums, "team/" + id.to_string(), made);
}

RC_GTEST_PROP(QuarantineProperty, SpoiltEventsLeaveTheirCurrencyAndNothingElse, ()) {
  std::vector<Case> cases = any_cases(60);
  std::vector<Event> events;
  std::vector<std::pair<std::int64_t, QuarantineReason>> expected, actual;
  for (Case& each : cases) {
    each.event.seq = {static_cast<std::int64_t>(events.size()) + 1};
    if (each.reason) expected.emplace_back(each.event.seq.value, *each.reason);
    events.push_back(each.event);
  }
  FoldTargets targets = all_targets();
  Sums sums;
  for (std::size_t at = 0; at < events.size();) {
    const auto size = std::min(*rc::gen::inRange<std::size_t>(1, 12), events.size() - at);
    const FoldOutcome outcome = fold(std::span(events).subspan(at, size), targets);
    for (const auto& [user, account] : outcome.accounts) targets.accounts[user] = account;
    for (const auto& each : outcome.quarantined) actual.emplace_back(each.seq.value, each.reason);
    add_counters(sums, outcome);
    at += size;
  }
  for (const auto& [user, account] : targets.accounts) {
    sums["user/" + std::to_string(user.value) + "/kudos"] = account.spendable;
    sums["user/" + std::to_string(user.value) + "/escrow"] = account.escrow;
  }
  drop_zeros(sums);
  RC_ASSERT(actual == expected);
  RC_ASSERT(sums == expected_sums(cases));
}

}  // namespace
}  // namespace kudos::testing
