#include "core/event_builder.h"

#include "base/check.h"
#include "core/classify.h"

namespace kudos {

void EventBuilder::job(const std::optional<Uuid>& job_id, std::string_view wp_type) {
  event_.job_id = job_id;
  event_.wp_type = wp_type;
}

void EventBuilder::spendable(EntryType type, UserId user, Amount amount, std::string detail) {
  if (amount.is_zero()) return;
  Posting posting;
  posting.entry_type = type;
  posting.user = user;
  posting.amount = amount;
  posting.detail = std::move(detail);
  event_.postings.push_back(std::move(posting));
}

void EventBuilder::escrow(EntryType type, UserId user, Amount amount, std::string detail) {
  if (amount.is_zero()) return;
  spendable(type, user, amount, std::move(detail));
  event_.postings.back().escrow = true;
}

void EventBuilder::balance(EntryType type) {
  // A producer moves at most two amounts, each within range: so does their difference.
  const auto missing = (-currency_sum(event_)).to_amount();
  KUDOS_CHECK(missing.has_value());
  spendable(type, missing->is_positive() ? kSink : kTreasury, *missing);
}

StatPosting& EventBuilder::statistic(EntryType type, Unit unit, Target target, std::string_view action,
                                     std::string_view record, Amount amount) {
  StatPosting& made = event_.statistics.emplace_back();
  made.entry_type = type;
  made.unit = unit;
  made.target = target;
  made.stat_action = action;
  made.record = record;
  made.amount = amount;
  return made;
}

void EventBuilder::user_stat(EntryType type, UserId user, std::string_view action, Amount amount) {
  if (amount.is_zero()) return;
  statistic(type, Unit::kudos, Target::user_stat, action, "user_kudos", amount).user = user;
}

void EventBuilder::user_record(UserId user, std::string_view record_type, std::string_view dimension, Amount amount) {
  const auto unit = record_unit(record_type);
  KUDOS_CHECK(unit.has_value());
  statistic(EntryType::stat_record, *unit, Target::user_record, record_type, dimension, amount).user = user;
}

void EventBuilder::activity(UserId user) {
  statistic(EntryType::stat_activity, Unit::count, Target::user_activity, "activity", "user_activity", Amount::whole(1))
      .user = user;
}

void EventBuilder::worker(const Uuid& id, UserId owner, const std::optional<Uuid>& team) {
  worker_ = id;
  worker_owner_ = owner;
  team_ = team;
}

StatPosting& EventBuilder::of_worker(EntryType type, Unit unit, Target target, std::string_view action,
                                     std::string_view record, Amount amount) {
  KUDOS_CHECK(worker_.has_value());
  StatPosting& made = statistic(type, unit, target, action, record, amount);
  made.worker = worker_;
  made.worker_user = worker_owner_;
  made.team = team_;
  return made;
}

void EventBuilder::worker_stat(EntryType type, std::string_view action, Amount amount) {
  of_worker(type, Unit::kudos, Target::worker_stat, action, "worker_kudos", amount);
}

void EventBuilder::worker_contributions(Amount things) {
  of_worker(EntryType::stat_contribution, Unit::things, Target::worker_contributions, "contribution", "contributions",
            things);
}

void EventBuilder::worker_fulfilments(Amount count) {
  of_worker(EntryType::stat_contribution, Unit::count, Target::worker_fulfilments, "fulfilment", "fulfilments", count);
}

Event EventBuilder::take() && {
  number_lines(event_);
  return std::move(event_);
}

}  // namespace kudos
