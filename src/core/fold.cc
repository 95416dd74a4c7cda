#include "core/fold.h"

#include <algorithm>

#include "base/check.h"
#include "core/classify.h"
#include "core/floor.h"
#include "core/mend.h"

namespace kudos {
namespace {

class Folding {
 public:
  explicit Folding(const FoldTargets& targets) : targets_(targets) {}

  void apply(const Event& event) {
    apply_currency(event);
    if (const auto reason = find_event_defect(event)) {
      outcome_.quarantined.push_back({event.seq, *reason});
      return;
    }
    for (const StatPosting& statistic : event.statistics) apply_statistic(event, statistic);
  }

  FoldOutcome take() && { return std::move(outcome_); }

 private:
  Account& account(UserId user) {
    const auto [entry, inserted] = outcome_.accounts.try_emplace(user);
    if (inserted) {
      const auto loaded = targets_.accounts.find(user);
      KUDOS_CHECK(loaded != targets_.accounts.end());
      entry->second = loaded->second;
    }
    return entry->second;
  }

  void apply_currency(const Event& event) {
    nets_.clear();
    for (const Posting& posting : event.postings) {
      if (is_system(posting.user)) continue;
      if (posting.escrow)
        account(posting.user).escrow += posting.amount;
      else
        net_of(posting.user) += posting.amount;
    }
    for (const auto& [user, net] : nets_) apply_net(event, user, net);
    for (const Posting& posting : event.postings)
      if (posting.hold_id && !posting.escrow && posting.amount.is_negative()) consume_hold(event, posting);
  }

  void consume_hold(const Event& event, const Posting& posting) {
    const auto loaded = targets_.holds.find(*posting.hold_id);
    if (loaded == targets_.holds.end()) return;
    const auto entry = outcome_.holds.try_emplace(*posting.hold_id, loaded->second).first;
    fold_into(entry->second, -posting.amount, event.id);
  }

  // Few users an event: a linear search beats a map.
  Total& net_of(UserId user) {
    const auto found = std::ranges::find(nets_, user, &std::pair<UserId, Total>::first);
    return found != nets_.end() ? found->second : nets_.emplace_back(user, Total()).second;
  }

  void apply_net(const Event& event, UserId user, Total net) {
    Account& target = account(user);
    const Total forgiven = forgiven_part(target, net);
    target.spendable += net + forgiven;
    if (!forgiven.is_zero())
      outcome_.floor_adjustments.push_back(floor_adjustment(event, user, forgiven, target.floor));
  }

  std::optional<QuarantineReason> find_event_defect(const Event& event) const {
    for (const StatPosting& statistic : event.statistics) {
      if (const auto reason = find_defect(statistic)) return reason;
      if (statistic.user && !targets_.accounts.contains(*statistic.user)) return QuarantineReason::missing_user;
    }
    return std::nullopt;
  }

  void touch(UserId user, Timestamp at) {
    auto& last_active = account(user).last_active;
    last_active = std::max(last_active.value_or(at), at);
  }

  void apply_statistic(const Event& event, const StatPosting& statistic) {
    if (statistic.user && touches_last_active(statistic)) touch(*statistic.user, activity_time(event, statistic));
    switch (*statistic.target) {
      case Target::user_stat:
        outcome_.user_stats[{*statistic.user, statistic.stat_action}] += statistic.amount;
        break;
      case Target::user_record:
        outcome_.user_records[{*statistic.user, {statistic.stat_action, statistic.record}}] += statistic.amount;
        break;
      case Target::user_activity:
        break;  // the touch is all
      case Target::worker_stat:
        if (targets_.workers.contains(*statistic.worker))
          outcome_.worker_stats[{*statistic.worker, statistic.stat_action}] += statistic.amount;
        add_production(statistic, &Production::kudos);
        break;
      case Target::worker_contributions:
        add_production(statistic, &Production::contributions);
        break;
      case Target::worker_fulfilments:
        add_production(statistic, &Production::fulfilments);
        break;
    }
  }

  // A deleted worker or team has no row to add to; the other one still gets its part.
  void add_production(const StatPosting& statistic, Total Production::* counter) {
    if (targets_.workers.contains(*statistic.worker)) outcome_.workers[*statistic.worker].*counter += statistic.amount;
    if (statistic.team && targets_.teams.contains(*statistic.team))
      outcome_.teams[*statistic.team].*counter += statistic.amount;
  }

  const FoldTargets& targets_;
  FoldOutcome outcome_;
  std::vector<std::pair<UserId, Total>> nets_;
};

}  // namespace

FoldOutcome fold(std::span<const Event> events, const FoldTargets& targets) {
  Folding folding(targets);
  for (const Event& event : events)
    if (!event.applied_inline) folding.apply(event);
  return std::move(folding).take();
}

}  // namespace kudos
