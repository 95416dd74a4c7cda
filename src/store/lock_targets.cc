#include <algorithm>
#include <map>
#include <set>

#include "base/try.h"
#include "store/holds.h"
#include "store/projection.h"

namespace kudos::store {
namespace {

// Nothing is joined to the locked row: when it changed meanwhile, the new version would meet the old join partner.
// Each by place first: the id that comes back says which row stands there.
#define KUDOS_USER \
  "SELECT id, ctid, kudos, evaluating_kudos, last_active, floor_override, account_class FROM @schema@.users "
#define KUDOS_LOCK " FOR NO KEY UPDATE SKIP LOCKED"
constexpr db::Statement kLockUsersAt{"lock_users_at", KUDOS_USER "WHERE ctid = ANY ($1::tid[])" KUDOS_LOCK};
constexpr db::Statement kLockUsers{"lock_users", KUDOS_USER "WHERE id = ANY ($1::integer[]) ORDER BY id" KUDOS_LOCK};
constexpr db::Statement kReadPolicies{"read_policies",
                                      "SELECT account_class, floor, shortfall FROM @schema@.kudos_account_policies"};
constexpr db::Statement kLockHolds{"lock_holds", R"(
SELECT id, user_id, original_amount, captured_amount, consumed_amount, state::text, owner_event_id
FROM @schema@.kudos_reservations WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)"};
constexpr db::Statement kLockWorkersAt{"lock_workers_at",
                                       "SELECT id, ctid FROM @schema@.workers WHERE ctid = ANY ($1::tid[])" KUDOS_LOCK};
constexpr db::Statement kLockWorkers{
    "lock_workers", "SELECT id, ctid FROM @schema@.workers WHERE id = ANY ($1::uuid[]) ORDER BY id" KUDOS_LOCK};
constexpr db::Statement kLockTeamsAt{"lock_teams_at",
                                     "SELECT id, ctid FROM @schema@.teams WHERE ctid = ANY ($1::tid[])" KUDOS_LOCK};
constexpr db::Statement kLockTeams{
    "lock_teams", "SELECT id, ctid FROM @schema@.teams WHERE id = ANY ($1::uuid[]) ORDER BY id" KUDOS_LOCK};
// Which of the rows that weren't locked are there all the same.
constexpr db::Statement kPresentUsers{"present_users", "SELECT id FROM @schema@.users WHERE id = ANY ($1::integer[])"};
constexpr db::Statement kPresentHolds{"present_holds",
                                      "SELECT id FROM @schema@.kudos_reservations WHERE id = ANY ($1::bigint[])"};
constexpr db::Statement kPresentWorkers{"present_workers",
                                        "SELECT id FROM @schema@.workers WHERE id = ANY ($1::uuid[])"};
constexpr db::Statement kPresentTeams{"present_teams", "SELECT id FROM @schema@.teams WHERE id = ANY ($1::uuid[])"};

struct Names {
  std::set<UserId> users;
  std::set<Uuid> workers;
  std::set<Uuid> teams;
  std::set<std::int64_t> holds;

  bool empty() const { return users.empty() && workers.empty() && teams.empty() && holds.empty(); }
};

Names names_in(std::span<const Event> events) {
  Names names;
  for (const Event& event : events) {
    if (event.applied_inline) continue;
    for (const Posting& posting : event.postings) {
      if (!is_system(posting.user)) names.users.insert(posting.user);
      if (posting.hold_id) names.holds.insert(*posting.hold_id);
    }
    for (const StatPosting& statistic : event.statistics) {
      if (statistic.user) names.users.insert(*statistic.user);
      if (statistic.worker) names.workers.insert(*statistic.worker);
      if (statistic.team) names.teams.insert(*statistic.team);
    }
  }
  return names;
}

template <class Set>
db::Params array_of(db::Array array, const Set& keys) {
  for (const auto& key : keys) array.add(key);
  return std::move(db::Params().add(array));
}

struct Policy {
  Total floor;
  Shortfall shortfall = Shortfall::forgive;
};

std::map<std::string, Policy, std::less<>> read_policies(const db::Rows& rows) {
  std::map<std::string, Policy, std::less<>> policies;
  for (int row = 0; row < rows.size(); ++row)
    policies.emplace(rows.text(row, 0), Policy{rows.total(row, 1), *from_label<Shortfall>(rows.text(row, 2))});
  return policies;
}

using Policies = std::map<std::string, Policy, std::less<>>;

// A user of a class without policy is left out: its events wait until somebody gives the class one.
void read_accounts(const db::Rows& rows, const Policies& policies, RowPlaces& places, FoldTargets& targets) {
  for (int row = 0; row < rows.size(); ++row) {
    const UserId id{rows.int32(row, 0)};
    places.users.learn(id, rows.tid(row, 1));
    const auto policy = policies.find(rows.text(row, 6));
    if (policy == policies.end()) continue;
    Account account;
    account.spendable = rows.total(row, 2);
    account.escrow = rows.total(row, 3);
    account.last_active = rows.optional(row, 4, &db::Rows::timestamp);
    account.floor = rows.is_null(row, 5) ? policy->second.floor : rows.total(row, 5);
    account.shortfall = policy->second.shortfall;
    targets.accounts.emplace(id, account);
  }
}

void read_holds(const db::Rows& rows, FoldTargets& targets) {
  for (int row = 0; row < rows.size(); ++row) {
    Hold hold;
    hold.id = rows.int64(row, 0);
    hold.payer = {rows.int32(row, 1)};
    hold.original = rows.amount(row, 2);
    hold.captured = rows.total(row, 3);
    hold.consumed = rows.total(row, 4);
    hold.state = read_hold_state(rows.text(row, 5));
    hold.owner_event = rows.optional(row, 6, &db::Rows::uuid);
    targets.holds.emplace(hold.id, std::move(hold));
  }
}

void read_ids(const db::Rows& rows, std::unordered_set<Uuid>& ids) {
  for (int row = 0; row < rows.size(); ++row) ids.insert(rows.uuid(row, 0));
}

void read_producers(const db::Rows& rows, Places<Uuid>& places, std::unordered_set<Uuid>& ids) {
  for (int row = 0; row < rows.size(); ++row) places.learn(rows.uuid(row, 0), rows.tid(row, 1));
  read_ids(rows, ids);
}

template <class Key>
db::Params places_of(const std::set<Key>& keys, const Places<Key>& places) {
  auto known = db::Array::tids();
  for (const Key& key : keys)
    if (const auto place = places.find(key)) known.add(*place);
  return std::move(db::Params().add(known));
}

template <class Key>
std::set<Key> without_place(const std::set<Key>& keys, const Places<Key>& places) {
  std::set<Key> unknown;
  for (const Key& key : keys)
    if (!places.find(key)) unknown.insert(key);
  return unknown;
}

void erase_locked(Names& names, const FoldTargets& targets) {
  std::erase_if(names.users, [&](UserId id) { return targets.accounts.contains(id); });
  std::erase_if(names.workers, [&](const Uuid& id) { return targets.workers.contains(id); });
  std::erase_if(names.teams, [&](const Uuid& id) { return targets.teams.contains(id); });
  std::erase_if(names.holds, [&](std::int64_t id) { return targets.holds.contains(id); });
}

void queue_locks(db::Connection& connection, const Names& names) {
  connection.queue(kLockUsers, array_of(db::Array::int32s(), names.users));
  connection.queue(kLockWorkers, array_of(db::Array::uuids(), names.workers));
  connection.queue(kLockTeams, array_of(db::Array::uuids(), names.teams));
}

// The three results of `queue_locks`, or of the same by place.
void read_locked(const db::Rows* results, const Policies& policies, RowPlaces& places, FoldTargets& targets) {
  read_accounts(results[0], policies, places, targets);
  read_producers(results[1], places.workers, targets.workers);
  read_producers(results[2], places.teams, targets.teams);
}

// Rows that weren't found: those that have moved are locked now, and what is neither locked nor gone is held by
// somebody else.
Status lock_moved(db::Connection& connection, Names& names, const Policies& policies, RowPlaces& places,
                  LockedTargets& locked) {
  queue_locks(connection, names);
  connection.queue(kPresentUsers, array_of(db::Array::int32s(), names.users));
  connection.queue(kPresentWorkers, array_of(db::Array::uuids(), names.workers));
  connection.queue(kPresentTeams, array_of(db::Array::uuids(), names.teams));
  connection.queue(kPresentHolds, array_of(db::Array::int64s(), names.holds));
  KUDOS_ASSIGN(const auto results, connection.flush());
  read_locked(results.data(), policies, places, locked.targets);
  for (int row = 0; row < results[3].size(); ++row) locked.blocked_users.insert({results[3].int32(row, 0)});
  read_ids(results[4], locked.blocked_workers);
  read_ids(results[5], locked.blocked_teams);
  for (int row = 0; row < results[6].size(); ++row) locked.blocked_holds.insert(results[6].int64(row, 0));
  std::erase_if(locked.blocked_users, [&](UserId id) { return locked.targets.accounts.contains(id); });
  std::erase_if(locked.blocked_workers, [&](const Uuid& id) { return locked.targets.workers.contains(id); });
  std::erase_if(locked.blocked_teams, [&](const Uuid& id) { return locked.targets.teams.contains(id); });
  return {};
}

}  // namespace

bool LockedTargets::blocks(const Event& event) const {
  if (event.applied_inline) return false;
  const auto posting_blocked = [&](const Posting& posting) {
    return blocked_users.contains(posting.user) || (posting.hold_id && blocked_holds.contains(*posting.hold_id));
  };
  const auto statistic_blocked = [&](const StatPosting& statistic) {
    return (statistic.user && blocked_users.contains(*statistic.user)) ||
           (statistic.worker && blocked_workers.contains(*statistic.worker)) ||
           (statistic.team && blocked_teams.contains(*statistic.team));
  };
  return std::ranges::any_of(event.postings, posting_blocked) ||
         std::ranges::any_of(event.statistics, statistic_blocked);
}

Result<LockedTargets> lock_targets(db::Connection& connection, std::span<const Event> events, RowPlaces& places) {
  places.forget_if_full();
  Names names = names_in(events);
  connection.queue(kReadPolicies);
  connection.queue(kLockUsersAt, places_of(names.users, places.users));
  connection.queue(kLockHolds, array_of(db::Array::int64s(), names.holds));
  connection.queue(kLockWorkersAt, places_of(names.workers, places.workers));
  connection.queue(kLockTeamsAt, places_of(names.teams, places.teams));
  queue_locks(connection, {.users = without_place(names.users, places.users),
                           .workers = without_place(names.workers, places.workers),
                           .teams = without_place(names.teams, places.teams),
                           .holds = {}});
  KUDOS_ASSIGN(const auto results, connection.flush());
  const Policies policies = read_policies(results[0]);
  LockedTargets locked;
  read_accounts(results[1], policies, places, locked.targets);
  read_holds(results[2], locked.targets);
  read_producers(results[3], places.workers, locked.targets.workers);
  read_producers(results[4], places.teams, locked.targets.teams);
  read_locked(&results[5], policies, places, locked.targets);
  erase_locked(names, locked.targets);
  if (!names.empty()) KUDOS_TRY(lock_moved(connection, names, policies, places, locked));
  return locked;
}

}  // namespace kudos::store
