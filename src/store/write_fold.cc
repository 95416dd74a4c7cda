#include <functional>

#include "base/check.h"
#include "base/try.h"
#include "store/codec.h"
#include "store/event_writer.h"
#include "store/holds.h"
#include "store/projection.h"
#include "store/stuck_events.h"

namespace kudos::store {
namespace {

constexpr db::Statement kDrawSeqs{"projector_draw_seqs", R"(
SELECT nextval('@schema@.kudos_events_seq') FROM generate_series(1, $1::integer) WHERE pg_current_xact_id() IS NOT NULL)"};
// Rows are found by their places (row_places.h). Users, workers and teams were locked in this transaction, so their
// places are exact: when one is missing, something is wrong and the whole cycle must fail.
#define KUDOS_WRITTEN(count)                                                                                  \
  ") SELECT id, place, CASE WHEN (SELECT count(*) FROM written) <> " count                                    \
  " THEN @schema@.kudos_require(false, 'database_error', 'a locked row of a fold could not be written') END " \
  "FROM (SELECT) one LEFT JOIN written ON true"
constexpr db::Statement kWriteUsers{"write_users", R"(
WITH written AS (
    UPDATE @schema@.users u
    SET kudos = x.kudos, evaluating_kudos = x.escrow, last_active = greatest(u.last_active, x.last_active)
    FROM unnest($1::tid[], $2::integer[], $3::numeric[], $4::numeric[], $5::timestamptz[])
        AS x(place, id, kudos, escrow, last_active)
    WHERE u.ctid = x.place AND u.id = x.id RETURNING u.id, u.ctid AS place)" KUDOS_WRITTEN("cardinality($1)")};
#define KUDOS_ADD_PRODUCTION(table)                                                       \
  "WITH written AS (UPDATE @schema@." table                                               \
  " t SET kudos = t.kudos + x.kudos, contributions = t.contributions + x.contributions, " \
  "fulfilments = t.fulfilments + x.fulfilments "                                          \
  "FROM unnest($1::tid[], $2::uuid[], $3::numeric[], $4::numeric[], $5::numeric[]) "      \
  "AS x(place, id, kudos, contributions, fulfilments) "                                   \
  "WHERE t.ctid = x.place AND t.id = x.id RETURNING t.id, t.ctid AS place" KUDOS_WRITTEN("cardinality($1)")
constexpr db::Statement kAddToWorkers{"add_to_workers", KUDOS_ADD_PRODUCTION("workers")};
constexpr db::Statement kAddToTeams{"add_to_teams", KUDOS_ADD_PRODUCTION("teams")};

// A counter's place is only a hint, for nobody holds its row. What isn't found there is looked up by its key, and made
// when it doesn't exist. NOT IN, for that is hashed whatever the planner expects of the arrays.
constexpr db::Statement kAddUserStats{"add_user_stats", R"(
WITH added AS (
    SELECT * FROM unnest($1::tid[], $2::integer[], $3::text[], $4::numeric[])
        WITH ORDINALITY AS x(place, user_id, action, value, n)
), known AS (
    UPDATE @schema@.user_stats t SET value = t.value + x.value FROM added x
    WHERE t.ctid = x.place AND t.user_id = x.user_id AND t.action = x.action
    RETURNING x.n, t.user_id, t.action, t.ctid
), others AS (
    INSERT INTO @schema@.user_stats AS t (user_id, action, value)
    SELECT user_id, action, value FROM added WHERE n NOT IN (SELECT n FROM known) ORDER BY n
    ON CONFLICT (user_id, action) DO UPDATE SET value = t.value + excluded.value
    RETURNING t.user_id, t.action, t.ctid
)
SELECT ctid, user_id, action::text FROM known UNION ALL SELECT ctid, user_id, action::text FROM others)"};
constexpr db::Statement kAddUserRecords{"add_user_records", R"(
WITH added AS (
    SELECT * FROM unnest($1::tid[], $2::integer[], $3::text[], $4::text[], $5::numeric[])
        WITH ORDINALITY AS x(place, user_id, record_type, record, value, n)
), known AS (
    UPDATE @schema@.user_records t SET value = t.value + x.value FROM added x
    WHERE t.ctid = x.place AND t.user_id = x.user_id AND t.record_type = x.record_type AND t.record = x.record
    RETURNING x.n, t.user_id, t.record_type, t.record, t.ctid
), others AS (
    INSERT INTO @schema@.user_records AS t (user_id, record_type, record, value)
    SELECT user_id, record_type, record, value FROM added WHERE n NOT IN (SELECT n FROM known) ORDER BY n
    ON CONFLICT (user_id, record_type, record) DO UPDATE SET value = t.value + excluded.value
    RETURNING t.user_id, t.record_type, t.record, t.ctid
)
SELECT ctid, user_id, record_type::text, record::text FROM known
UNION ALL SELECT ctid, user_id, record_type::text, record::text FROM others)"};
constexpr db::Statement kAddWorkerStats{"add_worker_stats", R"(
WITH added AS (
    SELECT * FROM unnest($1::tid[], $2::uuid[], $3::text[], $4::numeric[])
        WITH ORDINALITY AS x(place, worker_id, action, value, n)
), known AS (
    UPDATE @schema@.worker_stats t SET value = t.value + x.value FROM added x
    WHERE t.ctid = x.place AND t.worker_id = x.worker_id AND t.action = x.action
    RETURNING x.n, t.worker_id, t.action, t.ctid
), others AS (
    INSERT INTO @schema@.worker_stats AS t (worker_id, action, value)
    SELECT worker_id, action, value FROM added WHERE n NOT IN (SELECT n FROM known) ORDER BY n
    ON CONFLICT (worker_id, action) DO UPDATE SET value = t.value + excluded.value
    RETURNING t.worker_id, t.action, t.ctid
)
SELECT ctid, worker_id, action::text FROM known UNION ALL SELECT ctid, worker_id, action::text FROM others)"};
constexpr db::Statement kMarkFolded{
    "mark_folded", "UPDATE @schema@.kudos_events SET fold_id = $1::bigint WHERE seq = ANY ($2::bigint[])"};
constexpr db::Statement kMarkQuarantined{"mark_quarantined", R"(
UPDATE @schema@.kudos_events e SET quarantine_reason = x.reason, quarantined_at = $1::timestamptz
FROM unnest($2::bigint[], $3::@schema@.kudos_quarantine_reason[]) AS x(seq, reason) WHERE e.seq = x.seq)"};
constexpr db::Statement kWriteJournal{"write_journal", R"(
INSERT INTO @schema@.kudos_folds
    (id, folded_at, events, postings, stat_postings, inline_events, quarantined_events, floor_adjustments, seqs, digest,
     previous_digest, frontier, gaps, young_gaps, gaps_horizon)
VALUES ($1::bigint, $2::timestamptz, $3::integer, $4::integer, $5::integer, $6::integer, $7::integer, $8::integer,
        $9::int8multirange, $10::bytea, $11::bytea, $12::bigint, $13::int8multirange, $14::int8multirange, $15::xid8))"};
constexpr db::Statement kBeat{"beat", "UPDATE @schema@.kudos_ledger_applier_state SET applied_at = clock_timestamp()"};

// An adjustment whose id was taken would be left out by the insert: then the whole cycle must fail.
constexpr db::Statement kRequireAdjustments{"require_adjustments", R"(
SELECT @schema@.kudos_require(count(*) = $2::integer, 'database_error', 'a floor adjustment could not be stored: its id is taken')
FROM @schema@.kudos_events WHERE fold_id = $1::bigint AND seq = ANY ($3::bigint[]))"};

// What a statement writes, and what becomes of the places that it returns. Those of a flush, in order.
class PlacedWrites {
 public:
  using Learn = std::function<void(const db::Rows&, int)>;

  explicit PlacedWrites(db::Connection& connection) : connection_(connection) {}
  void add(const db::Statement& statement, db::Params params, Learn learn) {
    connection_.queue(statement, std::move(params));
    learners_.emplace_back(queued_, std::move(learn));
    ++queued_;
  }
  // Statements that the caller has queued in between.
  void skip(std::size_t statements) { queued_ += statements; }
  void learn(const std::vector<db::Rows>& results) const {
    for (const auto& [at, learn] : learners_)
      for (int row = 0; row < results[at].size(); ++row) learn(results[at], row);
  }

 private:
  db::Connection& connection_;
  std::size_t queued_ = 0;
  std::vector<std::pair<std::size_t, Learn>> learners_;
};

void queue_users(PlacedWrites& writes, const FoldOutcome& outcome, Places<UserId>& places) {
  if (outcome.accounts.empty()) return;
  auto known = db::Array::tids();
  auto ids = db::Array::int32s();
  auto kudos = db::Array::numerics(), escrow = db::Array::numerics();
  auto active = db::Array::timestamps();
  for (const auto& [id, account] : outcome.accounts) {
    known.add(places.find(id));
    ids.add(id);
    kudos.add(account.spendable);
    escrow.add(account.escrow);
    active.add(account.last_active);
  }
  writes.add(kWriteUsers, std::move(db::Params().add(known).add(ids).add(kudos).add(escrow).add(active)),
             [&](const db::Rows& rows, int row) { places.learn({rows.int32(row, 0)}, rows.tid(row, 1)); });
}

void queue_user_stats(PlacedWrites& writes, const FoldOutcome& outcome, Places<UserStatKey>& places) {
  if (outcome.user_stats.empty()) return;
  auto known = db::Array::tids();
  auto users = db::Array::int32s();
  auto actions = db::Array::texts();
  auto values = db::Array::numerics();
  for (const auto& [key, value] : outcome.user_stats) {
    known.add(places.find(key));
    users.add(key.first);
    actions.add(key.second);
    values.add(value);
  }
  writes.add(kAddUserStats, std::move(db::Params().add(known).add(users).add(actions).add(values)),
             [&](const db::Rows& rows, int row) {
               places.learn({{rows.int32(row, 1)}, std::string(rows.text(row, 2))}, rows.tid(row, 0));
             });
}

void queue_user_records(PlacedWrites& writes, const FoldOutcome& outcome, Places<UserRecordKey>& places) {
  if (outcome.user_records.empty()) return;
  auto known = db::Array::tids();
  auto users = db::Array::int32s();
  auto types = db::Array::texts(), records = db::Array::texts();
  auto values = db::Array::numerics();
  for (const auto& [key, value] : outcome.user_records) {
    known.add(places.find(key));
    users.add(key.first);
    types.add(key.second.first);
    records.add(key.second.second);
    values.add(value);
  }
  writes.add(kAddUserRecords, std::move(db::Params().add(known).add(users).add(types).add(records).add(values)),
             [&](const db::Rows& rows, int row) {
               places.learn({{rows.int32(row, 1)}, {std::string(rows.text(row, 2)), std::string(rows.text(row, 3))}},
                            rows.tid(row, 0));
             });
}

void queue_production(PlacedWrites& writes, const db::Statement& statement, const std::map<Uuid, Production>& producers,
                      Places<Uuid>& places) {
  if (producers.empty()) return;
  auto known = db::Array::tids();
  auto ids = db::Array::uuids();
  auto kudos = db::Array::numerics(), contributions = db::Array::numerics(), fulfilments = db::Array::numerics();
  for (const auto& [id, sums] : producers) {
    known.add(places.find(id));
    ids.add(id);
    kudos.add(sums.kudos);
    contributions.add(sums.contributions);
    fulfilments.add(sums.fulfilments);
  }
  writes.add(statement, std::move(db::Params().add(known).add(ids).add(kudos).add(contributions).add(fulfilments)),
             [&](const db::Rows& rows, int row) { places.learn(rows.uuid(row, 0), rows.tid(row, 1)); });
}

void queue_worker_stats(PlacedWrites& writes, const FoldOutcome& outcome, Places<WorkerStatKey>& places) {
  if (outcome.worker_stats.empty()) return;
  auto known = db::Array::tids();
  auto workers = db::Array::uuids();
  auto actions = db::Array::texts();
  auto values = db::Array::numerics();
  for (const auto& [key, value] : outcome.worker_stats) {
    known.add(places.find(key));
    workers.add(key.first);
    actions.add(key.second);
    values.add(value);
  }
  writes.add(kAddWorkerStats, std::move(db::Params().add(known).add(workers).add(actions).add(values)),
             [&](const db::Rows& rows, int row) {
               places.learn({rows.uuid(row, 1), std::string(rows.text(row, 2))}, rows.tid(row, 0));
             });
}

void queue_marks(db::Connection& connection, const EnumTypes& types, const FoldOutcome& outcome,
                 std::span<const Event> folded, const JournalRow& row) {
  // The quarantine marks come first: a folded event takes none.
  if (!outcome.quarantined.empty()) {
    auto set_aside = db::Array::int64s();
    db::Array reasons(types.quarantine_reason);
    for (const Quarantined& quarantined : outcome.quarantined) {
      set_aside.add(quarantined.seq);
      reasons.add(label(quarantined.reason));
    }
    connection.queue(kMarkQuarantined, db::Params().add(row.folded_at).add(set_aside).add(reasons));
  }
  auto seqs = db::Array::int64s();
  for (const Event& event : folded) seqs.add(event.seq);
  connection.queue(kMarkFolded, db::Params().add(row.fold).add(seqs));
}

void queue_floor_adjustments(db::Connection& connection, const EnumTypes& types, const FoldOutcome& outcome,
                             FoldId fold) {
  EventWriter writer(types);
  for (const Event& event : outcome.floor_adjustments) writer.add(event);
  if (writer.empty()) return;
  writer.queue(connection, {.fold = fold});
  auto seqs = db::Array::int64s();
  for (const Event& event : outcome.floor_adjustments) seqs.add(event.seq);
  connection.queue(kRequireAdjustments, db::Params().add(fold).add(seqs.size()).add(seqs));
}

void queue_journal(db::Connection& connection, const JournalRow& row) {
  connection.queue(kWriteJournal, db::Params()
                                      .add(row.fold)
                                      .add(row.folded_at)
                                      .add(row.events)
                                      .add(row.postings)
                                      .add(row.stat_postings)
                                      .add(row.inline_events)
                                      .add(row.quarantined_events)
                                      .add(row.floor_adjustments)
                                      .add_text_format(row.seqs.to_string())
                                      .add(bytes_of(row.digest))
                                      .add(bytes_of(row.previous))
                                      .add(row.map.frontier)
                                      .add_text_format(row.map.gaps.to_string())
                                      .add_text_format(row.map.young_gaps.to_string())
                                      .add_text_format(std::to_string(row.map.horizon)));
}

}  // namespace

Result<std::vector<EventSeq>> draw_seqs(db::Connection& connection, std::int32_t count) {
  std::vector<EventSeq> seqs;
  if (count == 0) return seqs;
  KUDOS_ASSIGN(const auto rows, connection.execute(kDrawSeqs, db::Params().add(count)));
  for (int row = 0; row < rows.size(); ++row) seqs.push_back({rows.int64(row, 0)});
  return seqs;
}

Status write_and_commit(db::Connection& connection, const EnumTypes& types, const FoldOutcome& outcome,
                        std::span<const Event> folded, const JournalRow& row, RowPlaces& places) {
  PlacedWrites writes(connection);
  queue_users(writes, outcome, places.users);
  queue_user_stats(writes, outcome, places.user_stats);
  queue_user_records(writes, outcome, places.user_records);
  queue_folded_holds(connection, outcome.holds);
  if (!outcome.holds.empty()) writes.skip(1);
  // Workers and teams last: other traffic writes those rows too.
  queue_production(writes, kAddToWorkers, outcome.workers, places.workers);
  queue_worker_stats(writes, outcome, places.worker_stats);
  queue_production(writes, kAddToTeams, outcome.teams, places.teams);
  queue_floor_adjustments(connection, types, outcome, row.fold);
  queue_marks(connection, types, outcome, folded, row);
  queue_unstick(connection, row.unstuck);
  queue_journal(connection, row);
  connection.queue(db::kCommit);
  KUDOS_ASSIGN(const auto results, connection.flush());
  writes.learn(results);
  return {};
}

Status commit_idle(db::Connection& connection, bool beat) {
  if (beat) connection.queue(kBeat);
  connection.queue(db::kCommit);
  KUDOS_TRY(connection.flush());
  return {};
}

}  // namespace kudos::store
