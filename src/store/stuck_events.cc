#include "store/stuck_events.h"

#include "base/try.h"

namespace kudos::store {
namespace {

constexpr db::Statement kForgetFolded{"forget_folded_stuck", R"(
DELETE FROM @schema@.kudos_stuck_events s USING @schema@.kudos_events e
WHERE e.seq = s.event_seq AND e.fold_id IS NOT NULL)"};
constexpr db::Statement kLoad{"load_stuck", R"(
SELECT s.event_seq, s.event_id, s.attempts
FROM @schema@.kudos_stuck_events s JOIN @schema@.kudos_events e ON e.seq = s.event_seq
WHERE e.fold_id IS NULL ORDER BY s.event_seq)"};
constexpr db::Statement kNote{"note_stuck", R"(
INSERT INTO @schema@.kudos_stuck_events AS t (event_seq, event_id, sqlstate, message)
VALUES ($1::bigint, $2::uuid, $3::text, $4::text)
ON CONFLICT (event_seq) DO UPDATE
SET last_failed_at = clock_timestamp(), attempts = t.attempts + 1, sqlstate = excluded.sqlstate,
    message = excluded.message
RETURNING attempts)"};
constexpr db::Statement kRemove{"remove_stuck",
                                "DELETE FROM @schema@.kudos_stuck_events WHERE event_seq = ANY ($1::bigint[])"};

}  // namespace

Result<std::vector<StuckEvent>> load_stuck(db::Connection& connection) {
  connection.queue(kForgetFolded);
  connection.queue(kLoad);
  KUDOS_ASSIGN(const auto results, connection.flush());
  const db::Rows& rows = results[1];
  std::vector<StuckEvent> events;
  for (int row = 0; row < rows.size(); ++row)
    events.push_back({{rows.int64(row, 0)}, rows.uuid(row, 1), rows.int32(row, 2)});
  return events;
}

Result<std::int32_t> note_stuck(db::Connection& connection, EventSeq seq, const Uuid& id, const Error& error) {
  KUDOS_ASSIGN(
      const auto rows,
      connection.execute(
          kNote,
          db::Params().add(seq).add(id).add(std::string_view(error.sqlstate)).add(std::string_view(error.message))));
  return rows.int32(0, 0);
}

void queue_unstick(db::Connection& connection, const std::vector<EventSeq>& seqs) {
  if (seqs.empty()) return;
  auto list = db::Array::int64s();
  for (const EventSeq seq : seqs) list.add(seq);
  connection.queue(kRemove, db::Params().add(list));
}

}  // namespace kudos::store
