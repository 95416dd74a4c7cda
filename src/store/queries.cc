#include "store/queries.h"

#include <algorithm>

#include "base/try.h"
#include "store/codec.h"
#include "store/projection.h"

namespace kudos::store {
namespace {

// Queued changes are where the projector says that unapplied work can be. System accounts aren't materialised.
constexpr db::Statement kReadUser{"read_user", R"(
WITH the_user AS (
    SELECT u.*, p.floor FROM @schema@.users u JOIN @schema@.kudos_account_policies p USING (account_class)
    WHERE u.id = $1::integer OR u.external_id = $2::text),
queued AS (
    SELECT coalesce(sum(p.amount) FILTER (WHERE NOT p.escrow), 0) AS spendable,
           coalesce(sum(p.amount) FILTER (WHERE p.escrow), 0) AS escrow
    FROM the_user u JOIN @schema@.kudos_postings p ON p.user_id = u.id
    JOIN @schema@.kudos_events e ON e.seq = p.event_seq
    CROSS JOIN @schema@.kudos_work_map m
    WHERE u.account_class <> 'system' AND e.fold_id IS NULL AND NOT e.inline
      AND (p.event_seq > m.frontier OR p.event_seq <@ m.gaps))
SELECT u.id, u.external_id, u.account_class, coalesce(u.floor_override, u.floor), u.floor_override IS NOT NULL,
       u.trusted, u.deleted_at IS NOT NULL,
       CASE WHEN u.account_class = 'system'
            THEN (SELECT coalesce(sum(amount), 0) FROM @schema@.kudos_postings WHERE user_id = u.id) ELSE u.kudos END,
       u.evaluating_kudos, queued.spendable, queued.escrow, u.last_active, u.created
FROM the_user u CROSS JOIN queued)"};
constexpr db::Statement kReadEvent{"read_event", R"(
SELECT e.seq, e.created, e.job_id, e.wp_type, e.request_digest, e.metadata_hash, e.inline, e.posting_count::integer,
       e.fold_id, f.folded_at, e.quarantine_reason::text, m.data::text
FROM @schema@.kudos_events e LEFT JOIN @schema@.kudos_folds f ON f.id = e.fold_id
LEFT JOIN @schema@.kudos_event_metadata m ON m.event_seq = e.seq
WHERE e.event_id = $1::uuid)"};
constexpr db::Statement kTopUsers{"top_users", R"(
SELECT id::text, coalesce(external_id, ''), kudos, 0::numeric, 0::numeric FROM @schema@.users
WHERE account_class <> 'system' AND deleted_at IS NULL ORDER BY kudos DESC, id LIMIT $1::integer)"};
constexpr db::Statement kTopWorkers{"top_workers", R"(
SELECT id::text, coalesce(name, ''), kudos, contributions, fulfilments FROM @schema@.workers
ORDER BY kudos DESC, id LIMIT $1::integer)"};
constexpr db::Statement kTopTeams{"top_teams", R"(
SELECT id::text, coalesce(name, ''), kudos, contributions, fulfilments FROM @schema@.teams
ORDER BY kudos DESC, id LIMIT $1::integer)"};

const db::Statement& board_statement(Board board) {
  switch (board) {
    case Board::users:
      return kTopUsers;
    case Board::workers:
      return kTopWorkers;
    case Board::teams:
      return kTopTeams;
  }
  return kTopUsers;
}

}  // namespace

Result<UserRow> read_user(db::Connection& connection, const UserRef& user) {
  db::Params params;
  params.add(user.id);
  if (user.id)
    params.null();
  else
    params.add(user.external_id);
  KUDOS_ASSIGN(const auto rows, connection.execute(kReadUser, std::move(params)));
  if (rows.empty()) return fail(ErrorCode::unknown_user, "there is no user " + user.to_string());
  UserRow found;
  found.id = {rows.int32(0, 0)};
  found.external_id = rows.text(0, 1);
  found.account_class = rows.text(0, 2);
  found.floor = rows.total(0, 3);
  found.floor_overridden = rows.boolean(0, 4);
  found.trusted = rows.boolean(0, 5);
  found.deleted = rows.boolean(0, 6);
  found.kudos = rows.total(0, 7);
  found.escrow = rows.total(0, 8);
  found.pending = rows.total(0, 9);
  found.pending_escrow = rows.total(0, 10);
  found.last_active = rows.optional(0, 11, &db::Rows::timestamp);
  found.created = rows.timestamp(0, 12);
  return found;
}

Result<EventRow> read_event(db::Connection& connection, const Uuid& id) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kReadEvent, db::Params().add(id)));
  if (rows.empty()) return fail(ErrorCode::unknown_event, "there is no event " + id.to_string());
  EventRow found;
  Event& event = found.event;
  event.id = id;
  event.seq = {rows.int64(0, 0)};
  event.created = rows.timestamp(0, 1);
  event.job_id = rows.optional(0, 2, &db::Rows::uuid);
  event.wp_type = rows.text(0, 3);
  event.request_digest = read_digest(rows, 0, 4);
  event.metadata_hash = read_digest(rows, 0, 5);
  event.applied_inline = rows.boolean(0, 6);
  if (!rows.is_null(0, 8)) found.fold = FoldId{rows.int64(0, 8)};
  found.folded_at = rows.optional(0, 9, &db::Rows::timestamp);
  found.quarantine_reason = rows.text(0, 10);
  found.metadata = rows.text(0, 11);
  const std::int32_t count = rows.int32(0, 7);
  KUDOS_TRY(load_postings(connection, std::span(&event, 1), std::span(&count, 1)));
  return found;
}

Result<std::vector<Leader>> read_leaders(db::Connection& connection, Board board, std::int32_t limit) {
  KUDOS_ASSIGN(const auto rows, connection.execute(board_statement(board), db::Params().add(limit)));
  std::vector<Leader> leaders;
  for (int row = 0; row < rows.size(); ++row)
    leaders.push_back({std::string(rows.text(row, 0)), std::string(rows.text(row, 1)), rows.total(row, 2),
                       rows.total(row, 3), rows.total(row, 4)});
  return leaders;
}

}  // namespace kudos::store
