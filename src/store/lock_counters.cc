#include "store/lock_counters.h"

#include "base/try.h"

namespace kudos::store {
namespace {

// The values aren't read, so a row that changed between snapshot and lock does no harm.
#define KUDOS_USER_STATS                                   \
  "SELECT user_id, action::text FROM @schema@.user_stats " \
  "WHERE (user_id, action) IN (SELECT * FROM unnest($1::integer[], $2::text[]))"
#define KUDOS_USER_RECORDS                                                      \
  "SELECT user_id, record_type::text, record::text FROM @schema@.user_records " \
  "WHERE (user_id, record_type, record) IN (SELECT * FROM unnest($1::integer[], $2::text[], $3::text[]))"
#define KUDOS_WORKER_STATS                                     \
  "SELECT worker_id, action::text FROM @schema@.worker_stats " \
  "WHERE (worker_id, action) IN (SELECT * FROM unnest($1::uuid[], $2::text[]))"
#define KUDOS_LOCK_IF_FREE " FOR NO KEY UPDATE SKIP LOCKED"
constexpr db::Statement kLockUserStats{"lock_user_stats", KUDOS_USER_STATS KUDOS_LOCK_IF_FREE};
constexpr db::Statement kLockUserRecords{"lock_user_records", KUDOS_USER_RECORDS KUDOS_LOCK_IF_FREE};
constexpr db::Statement kLockWorkerStats{"lock_worker_stats", KUDOS_WORKER_STATS KUDOS_LOCK_IF_FREE};
// Those that are there, locked or not.
constexpr db::Statement kPresentUserStats{"present_user_stats", KUDOS_USER_STATS};
constexpr db::Statement kPresentUserRecords{"present_user_records", KUDOS_USER_RECORDS};
constexpr db::Statement kPresentWorkerStats{"present_worker_stats", KUDOS_WORKER_STATS};

struct Keys {
  std::set<UserStatKey> user_stats;
  std::set<UserRecordKey> user_records;
  std::set<WorkerStatKey> worker_stats;
};

void add_key(const StatPosting& statistic, Keys& keys) {
  if (statistic.target == Target::user_stat && statistic.user)
    keys.user_stats.insert({*statistic.user, statistic.stat_action});
  if (statistic.target == Target::user_record && statistic.user)
    keys.user_records.insert({*statistic.user, {statistic.stat_action, statistic.record}});
  if (statistic.target == Target::worker_stat && statistic.worker)
    keys.worker_stats.insert({*statistic.worker, statistic.stat_action});
}

Keys keys_of(std::span<const Event> events) {
  Keys keys;
  for (const Event& event : events)
    if (!event.applied_inline)
      for (const StatPosting& statistic : event.statistics) add_key(statistic, keys);
  return keys;
}

db::Params user_stat_params(const Keys& keys) {
  auto users = db::Array::int32s();
  auto actions = db::Array::texts();
  for (const auto& [user, action] : keys.user_stats) users.add(user), actions.add(action);
  return db::Params().add(users).add(actions);
}

db::Params user_record_params(const Keys& keys) {
  auto users = db::Array::int32s();
  auto types = db::Array::texts(), records = db::Array::texts();
  for (const auto& [user, record] : keys.user_records)
    users.add(user), types.add(record.first), records.add(record.second);
  return db::Params().add(users).add(types).add(records);
}

db::Params worker_stat_params(const Keys& keys) {
  auto workers = db::Array::uuids();
  auto actions = db::Array::texts();
  for (const auto& [worker, action] : keys.worker_stats) workers.add(worker), actions.add(action);
  return db::Params().add(workers).add(actions);
}

UserStatKey read_user_stat(const db::Rows& rows, int row) {
  return {{rows.int32(row, 0)}, std::string(rows.text(row, 1))};
}
UserRecordKey read_user_record(const db::Rows& rows, int row) {
  return {{rows.int32(row, 0)}, {std::string(rows.text(row, 1)), std::string(rows.text(row, 2))}};
}
WorkerStatKey read_worker_stat(const db::Rows& rows, int row) {
  return {rows.uuid(row, 0), std::string(rows.text(row, 1))};
}

// What is present and wasn't locked.
template <class Key>
std::set<Key> held(const db::Rows& locked, const db::Rows& present, Key (*read)(const db::Rows&, int)) {
  std::set<Key> keys;
  for (int row = 0; row < present.size(); ++row) keys.insert(read(present, row));
  for (int row = 0; row < locked.size(); ++row) keys.erase(read(locked, row));
  return keys;
}

}  // namespace

bool BlockedCounters::blocks(const Event& event) const {
  const Keys keys = keys_of(std::span(&event, 1));
  const auto meets = [](const auto& wanted, const auto& blocked) {
    for (const auto& key : wanted)
      if (blocked.contains(key)) return true;
    return false;
  };
  return meets(keys.user_stats, user_stats) || meets(keys.user_records, user_records) ||
         meets(keys.worker_stats, worker_stats);
}

Result<BlockedCounters> lock_counters(db::Connection& connection, std::span<const Event> events) {
  const Keys keys = keys_of(events);
  connection.queue(kLockUserStats, user_stat_params(keys));
  connection.queue(kLockUserRecords, user_record_params(keys));
  connection.queue(kLockWorkerStats, worker_stat_params(keys));
  connection.queue(kPresentUserStats, user_stat_params(keys));
  connection.queue(kPresentUserRecords, user_record_params(keys));
  connection.queue(kPresentWorkerStats, worker_stat_params(keys));
  KUDOS_ASSIGN(const auto results, connection.flush());
  return BlockedCounters{held(results[0], results[3], read_user_stat), held(results[1], results[4], read_user_record),
                         held(results[2], results[5], read_worker_stat)};
}

}  // namespace kudos::store
