#include <algorithm>
#include <map>
#include <set>

#include "base/try.h"
#include "store/holds.h"
#include "store/projection.h"

namespace kudos::store {
namespace {

// Nothing is joined to the locked row: when it changed meanwhile, the new version would meet the old join partner.
constexpr db::Statement kLockUsers{"lock_users", R"(
SELECT id, kudos, evaluating_kudos, last_active, floor_override, account_class
FROM @schema@.users WHERE id = ANY ($1::integer[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)"};
constexpr db::Statement kReadPolicies{"read_policies",
                                      "SELECT account_class, floor, shortfall FROM @schema@.kudos_account_policies"};
constexpr db::Statement kLockHolds{"lock_holds", R"(
SELECT id, user_id, original_amount, captured_amount, consumed_amount, state::text, owner_event_id
FROM @schema@.kudos_reservations WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)"};
constexpr db::Statement kLockWorkers{"lock_workers", R"(
SELECT id FROM @schema@.workers WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)"};
constexpr db::Statement kLockTeams{"lock_teams", R"(
SELECT id FROM @schema@.teams WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)"};
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

// A user of a class without policy is left out: its events wait until somebody gives the class one.
void read_accounts(const db::Rows& rows, const std::map<std::string, Policy, std::less<>>& policies,
                   FoldTargets& targets) {
  for (int row = 0; row < rows.size(); ++row) {
    const auto policy = policies.find(rows.text(row, 5));
    if (policy == policies.end()) continue;
    Account account;
    account.spendable = rows.total(row, 1);
    account.escrow = rows.total(row, 2);
    account.last_active = rows.optional(row, 3, &db::Rows::timestamp);
    account.floor = rows.is_null(row, 4) ? policy->second.floor : rows.total(row, 4);
    account.shortfall = policy->second.shortfall;
    targets.accounts.emplace(UserId{rows.int32(row, 0)}, account);
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

// What is neither locked nor gone is held by somebody else.
Status find_blocked(db::Connection& connection, Names& names, LockedTargets& locked) {
  std::erase_if(names.users, [&](UserId id) { return locked.targets.accounts.contains(id); });
  std::erase_if(names.workers, [&](const Uuid& id) { return locked.targets.workers.contains(id); });
  std::erase_if(names.teams, [&](const Uuid& id) { return locked.targets.teams.contains(id); });
  std::erase_if(names.holds, [&](std::int64_t id) { return locked.targets.holds.contains(id); });
  if (names.empty()) return {};
  connection.queue(kPresentUsers, array_of(db::Array::int32s(), names.users));
  connection.queue(kPresentWorkers, array_of(db::Array::uuids(), names.workers));
  connection.queue(kPresentTeams, array_of(db::Array::uuids(), names.teams));
  connection.queue(kPresentHolds, array_of(db::Array::int64s(), names.holds));
  KUDOS_ASSIGN(const auto results, connection.flush());
  for (int row = 0; row < results[0].size(); ++row) locked.blocked_users.insert({results[0].int32(row, 0)});
  read_ids(results[1], locked.blocked_workers);
  read_ids(results[2], locked.blocked_teams);
  for (int row = 0; row < results[3].size(); ++row) locked.blocked_holds.insert(results[3].int64(row, 0));
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

Result<LockedTargets> lock_targets(db::Connection& connection, std::span<const Event> events) {
  Names names = names_in(events);
  connection.queue(kLockUsers, array_of(db::Array::int32s(), names.users));
  connection.queue(kLockHolds, array_of(db::Array::int64s(), names.holds));
  connection.queue(kLockWorkers, array_of(db::Array::uuids(), names.workers));
  connection.queue(kLockTeams, array_of(db::Array::uuids(), names.teams));
  connection.queue(kReadPolicies);
  KUDOS_ASSIGN(const auto results, connection.flush());
  LockedTargets locked;
  read_accounts(results[0], read_policies(results[4]), locked.targets);
  read_holds(results[1], locked.targets);
  read_ids(results[2], locked.targets.workers);
  read_ids(results[3], locked.targets.teams);
  KUDOS_TRY(find_blocked(connection, names, locked));
  return locked;
}

}  // namespace kudos::store
