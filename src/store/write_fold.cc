#include "base/check.h"
#include "base/try.h"
#include "store/event_writer.h"
#include "store/holds.h"
#include "store/projection.h"
#include "store/stuck_events.h"

namespace kudos::store {
namespace {

constexpr db::Statement kDrawSeqs{"projector_draw_seqs", R"(
SELECT nextval('@schema@.kudos_events_seq') FROM generate_series(1, $1::integer) WHERE pg_current_xact_id() IS NOT NULL)"};
constexpr db::Statement kWriteUsers{"write_users", R"(
UPDATE @schema@.users u
SET kudos = x.kudos, evaluating_kudos = x.escrow, last_active = greatest(u.last_active, x.last_active)
FROM unnest($1::integer[], $2::numeric[], $3::numeric[], $4::timestamptz[]) AS x(id, kudos, escrow, last_active)
WHERE u.id = x.id)"};
constexpr db::Statement kAddUserStats{"add_user_stats", R"(
INSERT INTO @schema@.user_stats AS t (user_id, action, value)
SELECT * FROM unnest($1::integer[], $2::text[], $3::numeric[])
ON CONFLICT (user_id, action) DO UPDATE SET value = t.value + excluded.value)"};
constexpr db::Statement kAddUserRecords{"add_user_records", R"(
INSERT INTO @schema@.user_records AS t (user_id, record_type, record, value)
SELECT * FROM unnest($1::integer[], $2::text[], $3::text[], $4::numeric[])
ON CONFLICT (user_id, record_type, record) DO UPDATE SET value = t.value + excluded.value)"};
constexpr db::Statement kAddToWorkers{"add_to_workers", R"(
UPDATE @schema@.workers w
SET kudos = w.kudos + x.kudos, contributions = w.contributions + x.contributions,
    fulfilments = w.fulfilments + x.fulfilments
FROM unnest($1::uuid[], $2::numeric[], $3::numeric[], $4::numeric[]) AS x(id, kudos, contributions, fulfilments)
WHERE w.id = x.id)"};
constexpr db::Statement kAddWorkerStats{"add_worker_stats", R"(
INSERT INTO @schema@.worker_stats AS t (worker_id, action, value)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::numeric[])
ON CONFLICT (worker_id, action) DO UPDATE SET value = t.value + excluded.value)"};
constexpr db::Statement kAddToTeams{"add_to_teams", R"(
UPDATE @schema@.teams t
SET kudos = t.kudos + x.kudos, contributions = t.contributions + x.contributions,
    fulfilments = t.fulfilments + x.fulfilments
FROM unnest($1::uuid[], $2::numeric[], $3::numeric[], $4::numeric[]) AS x(id, kudos, contributions, fulfilments)
WHERE t.id = x.id)"};
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

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

void queue_users(db::Connection& connection, const FoldOutcome& outcome) {
  if (outcome.accounts.empty()) return;
  auto ids = db::Array::int32s();
  auto kudos = db::Array::numerics(), escrow = db::Array::numerics();
  auto active = db::Array::timestamps();
  for (const auto& [id, account] : outcome.accounts) {
    ids.add(id);
    kudos.add(account.spendable);
    escrow.add(account.escrow);
    active.add(account.last_active);
  }
  connection.queue(kWriteUsers, db::Params().add(ids).add(kudos).add(escrow).add(active));
}

void queue_user_counters(db::Connection& connection, const FoldOutcome& outcome) {
  auto users = db::Array::int32s();
  auto actions = db::Array::texts();
  auto values = db::Array::numerics();
  for (const auto& [key, value] : outcome.user_stats) {
    users.add(key.first);
    actions.add(key.second);
    values.add(value);
  }
  if (users.size() > 0) connection.queue(kAddUserStats, db::Params().add(users).add(actions).add(values));

  auto owners = db::Array::int32s();
  auto types = db::Array::texts(), records = db::Array::texts();
  auto sums = db::Array::numerics();
  for (const auto& [key, value] : outcome.user_records) {
    owners.add(key.first);
    types.add(key.second.first);
    records.add(key.second.second);
    sums.add(value);
  }
  if (owners.size() > 0) connection.queue(kAddUserRecords, db::Params().add(owners).add(types).add(records).add(sums));
}

void queue_production(db::Connection& connection, const db::Statement& statement,
                      const std::map<Uuid, Production>& producers) {
  if (producers.empty()) return;
  auto ids = db::Array::uuids();
  auto kudos = db::Array::numerics(), contributions = db::Array::numerics(), fulfilments = db::Array::numerics();
  for (const auto& [id, sums] : producers) {
    ids.add(id);
    kudos.add(sums.kudos);
    contributions.add(sums.contributions);
    fulfilments.add(sums.fulfilments);
  }
  connection.queue(statement, db::Params().add(ids).add(kudos).add(contributions).add(fulfilments));
}

void queue_worker_stats(db::Connection& connection, const FoldOutcome& outcome) {
  if (outcome.worker_stats.empty()) return;
  auto workers = db::Array::uuids();
  auto actions = db::Array::texts();
  auto values = db::Array::numerics();
  for (const auto& [key, value] : outcome.worker_stats) {
    workers.add(key.first);
    actions.add(key.second);
    values.add(value);
  }
  connection.queue(kAddWorkerStats, db::Params().add(workers).add(actions).add(values));
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
                        std::span<const Event> folded, const JournalRow& row) {
  queue_users(connection, outcome);
  queue_user_counters(connection, outcome);
  queue_folded_holds(connection, outcome.holds);
  // Workers and teams last: other traffic writes those rows too.
  queue_production(connection, kAddToWorkers, outcome.workers);
  queue_worker_stats(connection, outcome);
  queue_production(connection, kAddToTeams, outcome.teams);
  queue_floor_adjustments(connection, types, outcome, row.fold);
  queue_marks(connection, types, outcome, folded, row);
  queue_unstick(connection, row.unstuck);
  queue_journal(connection, row);
  connection.queue(db::kCommit);
  KUDOS_TRY(connection.flush());
  return {};
}

Status commit_idle(db::Connection& connection, bool beat) {
  if (beat) connection.queue(kBeat);
  connection.queue(db::kCommit);
  KUDOS_TRY(connection.flush());
  return {};
}

}  // namespace kudos::store
