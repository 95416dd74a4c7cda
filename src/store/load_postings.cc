#include "base/try.h"
#include "store/projection.h"

namespace kudos::store {
namespace {

// One index probe an event, whatever the planner's statistics say: a plain "= ANY … ORDER BY" tempts it into walking
// the whole primary key. The limit keeps the sub-select a unit; an event has at most 1,000 postings.
constexpr db::Statement kLoadPostings{"load_postings", R"(
SELECT p.event_seq, p.line, p.entry_type, p.user_id, p.escrow, p.amount, p.hold_id, p.detail::text
FROM unnest($1::bigint[]) AS wanted(seq)
CROSS JOIN LATERAL (SELECT * FROM @schema@.kudos_postings WHERE event_seq = wanted.seq ORDER BY line LIMIT 2000) p)"};
constexpr db::Statement kLoadStatistics{"load_statistics", R"(
SELECT s.event_seq, s.line, s.entry_type, s.unit, s.target, s.user_id, s.worker_user_id, s.worker_id, s.team_id,
       s.amount, s.stat_action, s.record, s.detail::text
FROM unnest($1::bigint[]) AS wanted(seq)
CROSS JOIN LATERAL (SELECT * FROM @schema@.kudos_stat_postings WHERE event_seq = wanted.seq ORDER BY line LIMIT 2000) s)"};

std::optional<UserId> read_user(const db::Rows& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::nullopt;
  return UserId{rows.int32(row, column)};
}

Posting read_posting(const db::Rows& rows, int row) {
  Posting posting;
  posting.line = rows.int16(row, 1);
  posting.entry_type = *from_label<EntryType>(rows.text(row, 2));
  posting.user = {rows.int32(row, 3)};
  posting.escrow = rows.boolean(row, 4);
  posting.amount = rows.amount(row, 5);
  posting.hold_id = rows.optional(row, 6, &db::Rows::int64);
  posting.detail = rows.text(row, 7);
  return posting;
}

StatPosting read_statistic(const db::Rows& rows, int row) {
  StatPosting statistic;
  statistic.line = rows.int16(row, 1);
  statistic.entry_type = *from_label<EntryType>(rows.text(row, 2));
  statistic.unit = *from_label<Unit>(rows.text(row, 3));
  statistic.target = from_label<Target>(rows.text(row, 4));
  statistic.user = read_user(rows, row, 5);
  statistic.worker_user = read_user(rows, row, 6);
  statistic.worker = rows.optional(row, 7, &db::Rows::uuid);
  statistic.team = rows.optional(row, 8, &db::Rows::uuid);
  statistic.amount = rows.amount(row, 9);
  statistic.stat_action = rows.text(row, 10);
  statistic.record = rows.text(row, 11);
  statistic.detail = rows.text(row, 12);
  return statistic;
}

// Rows come event by event, as they were asked for: one pass gives each event its own.
template <class T>
void distribute(const db::Rows& rows, std::span<Event> events, std::vector<T> Event::* list,
                T (*read)(const db::Rows&, int)) {
  int row = 0;
  for (Event& event : events) {
    for (; row < rows.size() && rows.int64(row, 0) == event.seq.value; ++row) (event.*list).push_back(read(rows, row));
  }
}

}  // namespace

Result<std::vector<Uuid>> load_postings(db::Connection& connection, std::span<Event> events,
                                        std::span<const std::int32_t> counts) {
  auto seqs = db::Array::int64s();
  for (const Event& event : events) seqs.add(event.seq);
  connection.queue(kLoadPostings, db::Params().add(seqs));
  connection.queue(kLoadStatistics, db::Params().add(seqs));
  KUDOS_ASSIGN(const auto results, connection.flush());
  distribute(results[0], events, &Event::postings, read_posting);
  distribute(results[1], events, &Event::statistics, read_statistic);
  std::vector<Uuid> broken;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (static_cast<std::int32_t>(events[i].posting_count()) != counts[i]) broken.push_back(events[i].id);
  return broken;
}

}  // namespace kudos::store
