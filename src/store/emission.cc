#include "store/emission.h"

#include <algorithm>

#include "base/try.h"

namespace kudos::store {
namespace {

constexpr db::Statement kLockGate{"lock_gate", "SELECT pg_advisory_xact_lock_shared($1::bigint)"};
// A statement of its own behind the lock, so that its snapshot is younger. The transaction id is assigned before any
// sequence number is drawn (see kudos_assign_transaction_id).
constexpr db::Statement kReadMode{"read_mode", R"(
SELECT mode::text, current_setting('transaction_isolation'), pg_current_xact_id() IS NOT NULL
FROM @schema@.kudos_ledger_control)"};
constexpr db::Statement kFindEvents{
    "find_events", "SELECT event_id, seq, request_digest FROM @schema@.kudos_events WHERE event_id = ANY ($1::uuid[])"};
#define KUDOS_USER_COLUMNS                                                                    \
  "SELECT u.id, u.account_class, u.trusted, u.deleted_at IS NOT NULL, p.shortfall = 'debt', " \
  "(u.usage_multiplier * 10000)::bigint "
#define KUDOS_USERS "FROM @schema@.users u JOIN @schema@.kudos_account_policies p ON p.account_class = u.account_class "
constexpr db::Statement kUsersById{"users_by_id", KUDOS_USER_COLUMNS KUDOS_USERS "WHERE u.id = ANY ($1::integer[])"};
constexpr db::Statement kUsersByExternalId{
    "users_by_external_id", KUDOS_USER_COLUMNS ", u.external_id " KUDOS_USERS "WHERE u.external_id = ANY ($1::text[])"};
constexpr db::Statement kWorkersWithOwners{"workers_with_owners", KUDOS_USER_COLUMNS
                                           ", w.id, w.team_id, w.worker_type::text " KUDOS_USERS
                                           "JOIN @schema@.workers w ON w.user_id = u.id WHERE w.id = ANY ($1::uuid[])"};
constexpr db::Statement kDrawSeqs{"draw_seqs",
                                  "SELECT nextval('@schema@.kudos_events_seq') FROM generate_series(1, $1::integer)"};

UserFacts read_user(const db::Rows& rows, int row) {
  return {{rows.int32(row, 0)}, std::string(rows.text(row, 1)), rows.boolean(row, 2),
          rows.boolean(row, 3), rows.boolean(row, 4),           rows.int64(row, 5)};
}

void read_users_by_id(const db::Rows& rows, Directory& directory) {
  for (int row = 0; row < rows.size(); ++row) {
    const UserFacts facts = read_user(rows, row);
    directory.users.emplace(UserRef::number(facts.id), facts);
  }
}

void read_users_by_external_id(const db::Rows& rows, Directory& directory) {
  for (int row = 0; row < rows.size(); ++row)
    directory.users.emplace(UserRef::external(std::string(rows.text(row, 6))), read_user(rows, row));
}

void read_workers(const db::Rows& rows, Directory& directory) {
  for (int row = 0; row < rows.size(); ++row)
    directory.workers.emplace(
        rows.uuid(row, 6),
        WorkerFacts{read_user(rows, row), rows.optional(row, 7, &db::Rows::uuid), std::string(rows.text(row, 8))});
}

std::map<Uuid, StoredEvent> read_events(const db::Rows& rows) {
  std::map<Uuid, StoredEvent> events;
  for (int row = 0; row < rows.size(); ++row) {
    StoredEvent stored{{rows.int64(row, 1)}, std::nullopt};
    if (!rows.is_null(row, 2)) {
      const auto bytes = rows.text(row, 2);
      std::ranges::copy(bytes, stored.request_digest.emplace().begin());
    }
    events.emplace(rows.uuid(row, 0), stored);
  }
  return events;
}

db::Params array_of(const std::vector<Uuid>& ids) {
  auto array = db::Array::uuids();
  for (const Uuid& id : ids) array.add(id);
  return std::move(db::Params().add(array));
}

void queue_mode(db::Connection& connection, const LockKeys& keys) {
  connection.queue(kLockGate, db::Params().add(keys.mode_gate));
  connection.queue(kReadMode);
}

Result<Mode> read_mode(const db::Rows& rows) {
  if (rows.text(0, 1) != "read committed")
    return fail(ErrorCode::wrong_isolation_level,
                "the transaction is " + std::string(rows.text(0, 1)) + "; producers run at READ COMMITTED",
                "Begin it with BEGIN ISOLATION LEVEL READ COMMITTED: at other levels the snapshot is older than the "
                "locks, and two spends could pass on the same funds.");
  return rows.text(0, 0) == "ledger" ? Mode::ledger : Mode::shadow;
}

void queue_lookups(db::Connection& connection, const EmissionNeeds& needs) {
  auto numbers = db::Array::int32s();
  auto names = db::Array::texts();
  for (const UserRef& user : needs.users) {
    if (user.id)
      numbers.add(*user.id);
    else
      names.add(user.external_id);
  }
  auto workers = db::Array::uuids();
  for (const Uuid& worker : needs.workers) workers.add(worker);
  connection.queue(kFindEvents, array_of(needs.event_ids));
  connection.queue(kUsersById, db::Params().add(numbers));
  connection.queue(kUsersByExternalId, db::Params().add(names));
  connection.queue(kWorkersWithOwners, db::Params().add(workers));
  connection.queue(kDrawSeqs, db::Params().add(needs.events));
}

}  // namespace

Result<EmissionContext> load_for_emission(db::Connection& connection, const LockKeys& keys,
                                          const EmissionNeeds& needs) {
  queue_mode(connection, keys);
  queue_lookups(connection, needs);
  KUDOS_ASSIGN(const auto results, connection.flush());
  EmissionContext context;
  KUDOS_ASSIGN(context.mode, read_mode(results[1]));
  context.stored = read_events(results[2]);
  read_users_by_id(results[3], context.directory);
  read_users_by_external_id(results[4], context.directory);
  read_workers(results[5], context.directory);
  for (int row = 0; row < results[6].size(); ++row) context.seqs.push_back({results[6].int64(row, 0)});
  return context;
}

Result<Mode> pin_mode(db::Connection& connection, const LockKeys& keys) {
  queue_mode(connection, keys);
  KUDOS_ASSIGN(const auto results, connection.flush());
  return read_mode(results[1]);
}

Result<std::map<Uuid, StoredEvent>> find_events(db::Connection& connection, const std::vector<Uuid>& event_ids) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kFindEvents, array_of(event_ids)));
  return read_events(rows);
}

}  // namespace kudos::store
