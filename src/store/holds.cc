#include "store/holds.h"

#include "base/check.h"
#include "base/try.h"
#include "store/codec.h"

namespace kudos::store {
namespace {

constexpr db::Statement kLockHolds{"lock_active_holds", R"(
SELECT id FROM @schema@.kudos_reservations
WHERE reservation_id = ANY ($1::text[]) AND state = 'active' AND owner_event_id IS NULL
ORDER BY id FOR NO KEY UPDATE)"};
// Two index probes an id, however often it was used: the active row, which is not always the last one, else the last.
constexpr db::Statement kReadHolds{"read_holds", R"(
SELECT h.id, h.reservation_id, h.user_id, h.original_amount, h.captured_amount, h.consumed_amount, h.state::text,
       h.reason, h.expires
FROM unnest($1::text[]) AS wanted(reservation_id)
CROSS JOIN LATERAL (
    SELECT * FROM (
        (SELECT * FROM @schema@.kudos_reservations
         WHERE reservation_id = wanted.reservation_id AND state = 'active' AND owner_event_id IS NULL)
        UNION ALL
        (SELECT * FROM @schema@.kudos_reservations
         WHERE reservation_id = wanted.reservation_id AND owner_event_id IS NULL ORDER BY id DESC LIMIT 1)) both_rows
    LIMIT 1) h)"};
constexpr db::Statement kNewHolds{"new_holds", R"(
WITH made AS (
    INSERT INTO @schema@.kudos_reservations
        (id, reservation_id, user_id, original_amount, captured_amount, state, reason, expires, owner_event_id, created,
         ended)
    SELECT x.id, x.reservation_id, x.user_id, x.original, x.captured, x.state, x.reason, x.expires, x.owner,
           $11::timestamptz, CASE WHEN x.state <> 'active' THEN $11::timestamptz END
    FROM unnest($1::bigint[], $2::text[], $3::integer[], $4::numeric[], $5::numeric[],
                $6::text[]::@schema@.kudos_hold_state[], $7::text[], $8::timestamptz[], $9::uuid[])
        AS x(id, reservation_id, user_id, original, captured, state, reason, expires, owner)
    ON CONFLICT (reservation_id) WHERE state = 'active' AND owner_event_id IS NULL DO NOTHING
    RETURNING 1)
SELECT @schema@.kudos_require_alone((SELECT count(*) FROM made) = $10::integer,
                                    'another transaction has just reserved the same id'))"};
constexpr db::Statement kChangeHolds{"change_holds", R"(
UPDATE @schema@.kudos_reservations h
SET original_amount = x.original, captured_amount = x.captured, state = x.state, reason = x.reason, expires = x.expires,
    ended = CASE WHEN x.state = 'active' THEN NULL ELSE coalesce(h.ended, $7::timestamptz) END
FROM unnest($1::bigint[], $2::numeric[], $3::numeric[], $4::text[]::@schema@.kudos_hold_state[], $5::text[],
            $6::timestamptz[]) AS x(id, original, captured, state, reason, expires)
WHERE h.id = x.id)"};
constexpr db::Statement kFoldHolds{"fold_holds", R"(
UPDATE @schema@.kudos_reservations h
SET consumed_amount = x.consumed, state = x.state, reason = coalesce(x.reason, h.reason),
    ended = CASE WHEN x.state = 'active' THEN NULL ELSE coalesce(h.ended, clock_timestamp()) END
FROM unnest($1::bigint[], $2::numeric[], $3::text[]::@schema@.kudos_hold_state[], $4::text[])
    AS x(id, consumed, state, reason)
WHERE h.id = x.id)"};
constexpr db::Statement kListHolds{"list_holds", R"(
SELECT h.id, h.reservation_id, h.user_id, h.original_amount, h.captured_amount, h.consumed_amount, h.state::text,
       h.reason, h.expires, h.owner_event_id, h.created, h.ended
FROM @schema@.kudos_reservations h
WHERE ($1::text IS NULL OR h.state = $1::text::@schema@.kudos_hold_state)
  AND ($2::integer IS NULL OR h.user_id = $2::integer) AND ($3::text IS NULL OR h.reservation_id = $3::text)
  AND ($4::boolean OR h.owner_event_id IS NULL) AND ($6::bigint IS NULL OR h.id = $6::bigint)
ORDER BY h.id DESC LIMIT $5::integer)"};

constexpr db::Statement kLockGate{"sweep_lock_gate", "SELECT pg_advisory_xact_lock_shared($1::bigint)"};
// Payers in order, without waiting for one.
constexpr db::Statement kSweepPayers{"sweep_payers", R"(
SELECT id FROM (
    SELECT DISTINCT user_id AS id FROM (
        SELECT user_id FROM @schema@.kudos_reservations
        WHERE state = 'active' AND expires IS NOT NULL AND expires <= (SELECT clock_timestamp())
        ORDER BY expires LIMIT 20 * $2::integer) due
    ORDER BY id OFFSET 0) payer
WHERE pg_try_advisory_xact_lock($1::integer, payer.id))"};
constexpr db::Statement kSweepHolds{"sweep_lock_holds", R"(
SELECT id FROM @schema@.kudos_reservations
WHERE user_id = ANY ($1::integer[]) AND state = 'active' AND expires IS NOT NULL
  AND expires <= (SELECT clock_timestamp())
ORDER BY id LIMIT $2::integer FOR NO KEY UPDATE SKIP LOCKED)"};
constexpr db::Statement kExpireHolds{"expire_holds", R"(
UPDATE @schema@.kudos_reservations SET state = 'expired', reason = 'deadline', ended = clock_timestamp()
WHERE id = ANY ($1::bigint[]) AND state = 'active' AND expires <= clock_timestamp())"};

Hold read_hold(const db::Rows& rows, int row) {
  Hold hold;
  hold.id = rows.int64(row, 0);
  hold.business_id = rows.text(row, 1);
  hold.payer = {rows.int32(row, 2)};
  hold.original = rows.amount(row, 3);
  hold.captured = rows.total(row, 4);
  hold.consumed = rows.total(row, 5);
  hold.state = read_hold_state(rows.text(row, 6));
  hold.reason = rows.text(row, 7);
  hold.expires = rows.optional(row, 8, &db::Rows::timestamp);
  return hold;
}

db::Params ids_of(const std::set<std::string>& business_ids) {
  auto ids = db::Array::texts();
  for (const std::string& id : business_ids) ids.add(id);
  return std::move(db::Params().add(ids));
}

}  // namespace

HoldState read_hold_state(std::string_view text) {
  for (const HoldState state : {HoldState::active, HoldState::consumed, HoldState::released, HoldState::expired})
    if (label(state) == text) return state;
  KUDOS_CHECK(false);
}

void queue_lock_holds(db::Connection& connection, const std::set<std::string>& business_ids) {
  connection.queue(kLockHolds, ids_of(business_ids));
}

void queue_read_holds(db::Connection& connection, const std::set<std::string>& business_ids) {
  connection.queue(kReadHolds, ids_of(business_ids));
}

std::set<std::int64_t> read_locked_holds(const db::Rows& rows) {
  std::set<std::int64_t> ids;
  for (int row = 0; row < rows.size(); ++row) ids.insert(rows.int64(row, 0));
  return ids;
}

std::map<std::string, Hold> read_holds(const db::Rows& rows) {
  std::map<std::string, Hold> holds;
  for (int row = 0; row < rows.size(); ++row) {
    Hold hold = read_hold(rows, row);
    holds.emplace(hold.business_id, std::move(hold));
  }
  return holds;
}

void queue_new_holds(db::Connection& connection, const std::map<std::int64_t, Hold>& holds, Timestamp now) {
  if (holds.empty()) return;
  auto ids = db::Array::int64s();
  auto business_ids = db::Array::texts(), states = db::Array::texts(), reasons = db::Array::texts();
  auto payers = db::Array::int32s();
  auto originals = db::Array::numerics(), captured = db::Array::numerics();
  auto expires = db::Array::timestamps();
  auto owners = db::Array::uuids();
  // By business id: so that two batches that want the same ids meet without a deadlock.
  std::map<std::string_view, std::vector<const Hold*>> by_business_id;
  for (const auto& [id, hold] : holds) by_business_id[hold.business_id].push_back(&hold);
  std::vector<const Hold*> order;
  for (const auto& [business_id, same] : by_business_id) order.insert(order.end(), same.begin(), same.end());
  for (const Hold* each : order) {
    const Hold& hold = *each;
    ids.add(hold.id);
    business_ids.add(hold.business_id);
    payers.add(hold.payer);
    originals.add(hold.original);
    captured.add(hold.captured);
    states.add(label(hold.state));
    add_or_null(reasons, hold.reason);
    expires.add(hold.expires);
    owners.add(hold.owner_event);
  }
  db::Params params;
  params.add(ids).add(business_ids).add(payers).add(originals).add(captured).add(states).add(reasons).add(expires);
  connection.queue(kNewHolds, std::move(params.add(owners).add(ids.size()).add(now)));
}

void queue_changed_holds(db::Connection& connection, const std::map<std::int64_t, Hold>& holds, Timestamp now) {
  if (holds.empty()) return;
  auto ids = db::Array::int64s();
  auto states = db::Array::texts(), reasons = db::Array::texts();
  auto originals = db::Array::numerics(), captured = db::Array::numerics();
  auto expires = db::Array::timestamps();
  for (const auto& [id, hold] : holds) {
    ids.add(id);
    originals.add(hold.original);
    captured.add(hold.captured);
    states.add(label(hold.state));
    add_or_null(reasons, hold.reason);
    expires.add(hold.expires);
  }
  connection.queue(kChangeHolds,
                   db::Params().add(ids).add(originals).add(captured).add(states).add(reasons).add(expires).add(now));
}

void queue_folded_holds(db::Connection& connection, const std::map<std::int64_t, Hold>& holds) {
  if (holds.empty()) return;
  auto ids = db::Array::int64s();
  auto states = db::Array::texts(), reasons = db::Array::texts();
  auto consumed = db::Array::numerics();
  for (const auto& [id, hold] : holds) {
    ids.add(id);
    consumed.add(hold.consumed);
    states.add(label(hold.state));
    add_or_null(reasons, hold.reason);
  }
  connection.queue(kFoldHolds, db::Params().add(ids).add(consumed).add(states).add(reasons));
}

Result<std::vector<HoldRow>> list_holds(db::Connection& connection, const HoldFilter& filter) {
  db::Params params;
  if (filter.state)
    params.add(label(*filter.state));
  else
    params.null();
  params.add(filter.payer);
  if (filter.business_id)
    params.add(*filter.business_id);
  else
    params.null();
  params.add(filter.own_of_events).add(filter.limit).add(filter.number);
  KUDOS_ASSIGN(const auto rows, connection.execute(kListHolds, std::move(params)));
  std::vector<HoldRow> holds;
  for (int row = 0; row < rows.size(); ++row) {
    HoldRow found{read_hold(rows, row), rows.timestamp(row, 10), rows.optional(row, 11, &db::Rows::timestamp)};
    found.hold.owner_event = rows.optional(row, 9, &db::Rows::uuid);
    holds.push_back(std::move(found));
  }
  return holds;
}

Result<std::int64_t> sweep_holds(db::Connection& connection, const LockKeys& keys, std::int32_t limit) {
  connection.queue(db::kBegin);
  connection.queue(kLockGate, db::Params().add(keys.mode_gate));
  connection.queue(kSweepPayers, db::Params().add(keys.payer_namespace).add(limit));
  KUDOS_ASSIGN(const auto locked, connection.flush());
  auto payers = db::Array::int32s();
  for (int row = 0; row < locked.back().size(); ++row) payers.add(UserId{locked.back().int32(row, 0)});
  if (payers.size() == 0) {
    KUDOS_TRY(connection.execute(db::kCommit));
    return 0;
  }
  KUDOS_ASSIGN(const auto holds, connection.execute(kSweepHolds, db::Params().add(payers).add(limit)));
  auto ids = db::Array::int64s();
  for (int row = 0; row < holds.size(); ++row) ids.add(holds.int64(row, 0));
  connection.queue(kExpireHolds, db::Params().add(ids));
  connection.queue(db::kCommit);
  KUDOS_ASSIGN(const auto results, connection.flush());
  return results.front().affected();
}

}  // namespace kudos::store
