#include "store/health.h"

#include <algorithm>

#include "base/try.h"

namespace kudos::store {
namespace {

// A look into each gap, not one join: that would search the whole partial index, dead entries and all.
#define KUDOS_PENDING_EVENTS \
  R"(
    SELECT e.seq, e.created, e.posting_count, e.inline
    FROM @schema@.kudos_events e
    WHERE e.fold_id IS NULL AND e.seq > (SELECT frontier FROM @schema@.kudos_work_map)
    UNION ALL
    SELECT e.*
    FROM @schema@.kudos_work_map m CROSS JOIN LATERAL unnest(m.gaps) AS gap
    CROSS JOIN LATERAL (SELECT e.seq, e.created, e.posting_count, e.inline FROM @schema@.kudos_events e
                        WHERE e.fold_id IS NULL AND e.seq >= lower(gap) AND e.seq < upper(gap) OFFSET 0) e)"

// One probe of a primary key for each event, whatever the planner's statistics say: a plain join tempts it into reading
// all postings.
constexpr db::Statement kHealth{"health", "WITH pending AS (SELECT * FROM (" KUDOS_PENDING_EVENTS R"() e
    CROSS JOIN LATERAL (SELECT count(*) AS currency FROM @schema@.kudos_postings p WHERE p.event_seq = e.seq) c
    WHERE NOT e.inline)
SELECT clock_timestamp(), c.mode::text, coalesce(f.id, 0), greatest(s.applied_at, f.folded_at), q.*,
       (SELECT count(*) FROM @schema@.kudos_stuck_events k JOIN @schema@.kudos_events e ON e.seq = k.event_seq
        WHERE e.fold_id IS NULL)
FROM @schema@.kudos_ledger_control c
LEFT JOIN @schema@.kudos_ledger_applier_state s ON true
LEFT JOIN LATERAL (SELECT id, folded_at FROM @schema@.kudos_folds ORDER BY id DESC LIMIT 1) f ON true,
     (SELECT count(*), coalesce(sum(posting_count), 0)::bigint, coalesce(sum(currency), 0)::bigint, min(created),
             min(created) FILTER (WHERE currency > 0), min(created) FILTER (WHERE posting_count > currency)
      FROM pending) q)"};
constexpr db::Statement kQuarantine{"quarantine_health", R"(
SELECT clock_timestamp(), q.reason::text, count(*), sum(n.rows)::bigint, min(q.since), max(q.since),
       count(*) FILTER (WHERE q.open), coalesce(sum(n.rows) FILTER (WHERE q.open), 0)::bigint,
       min(q.since) FILTER (WHERE q.open)
FROM (SELECT e.seq, e.quarantine_reason AS reason, e.quarantined_at AS since,
             NOT EXISTS (SELECT FROM @schema@.kudos_quarantine_reviews r WHERE r.event_seq = e.seq) AS open
      FROM @schema@.kudos_events e WHERE e.quarantine_reason IS NOT NULL OFFSET 0) q
CROSS JOIN LATERAL (SELECT count(*) AS rows FROM @schema@.kudos_stat_postings s WHERE s.event_seq = q.seq) n
GROUP BY q.reason ORDER BY q.reason)"};
constexpr db::Statement kCountPending{"count_pending", "SELECT count(*) FROM (" KUDOS_PENDING_EVENTS ") pending"};
constexpr db::Statement kArchiveTotals{"archive_totals", R"(
SELECT (SELECT count(*) FROM @schema@.kudos_events),
       (SELECT count(*) FROM @schema@.kudos_stat_postings), count(*), coalesce(sum(amount), 0)
FROM @schema@.kudos_postings)"};

// How long ago it was, by the database's clock in column 0; nothing for NULL.
std::optional<double> age(const db::Rows& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::nullopt;
  return static_cast<double>(rows.timestamp(row, 0).micros - rows.timestamp(row, column).micros) / 1e6;
}

// The larger, or the smaller, of two ages that may be missing.
std::optional<double> older(std::optional<double> a, std::optional<double> b) { return std::max(a, b); }
std::optional<double> newer(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::min(a, b) : std::max(a, b);
}

void read_queues(const db::Rows& rows, Health& health) {
  health.mode = rows.text(0, 1) == "ledger" ? Mode::ledger : Mode::shadow;
  health.last_fold = rows.int64(0, 2);
  health.heartbeat_seconds = age(rows, 0, 3);
  health.pending_events = rows.int64(0, 4);
  health.pending = {rows.int64(0, 5), age(rows, 0, 7)};
  health.pending_currency = {rows.int64(0, 6), age(rows, 0, 8)};
  health.pending_statistics = {health.pending.rows - health.pending_currency.rows, age(rows, 0, 9)};
  health.stuck_events = rows.int64(0, 10);
}

void read_quarantine(const db::Rows& rows, Health& health) {
  for (int row = 0; row < rows.size(); ++row) {
    const SetAside reason{std::string(rows.text(row, 1)), rows.int64(row, 2), rows.int64(row, 6)};
    health.quarantined_events += reason.events;
    health.quarantined_rows += rows.int64(row, 3);
    health.open_quarantined_events += reason.open_events;
    health.open_quarantined_rows += rows.int64(row, 7);
    health.oldest_quarantined_seconds = older(health.oldest_quarantined_seconds, age(rows, row, 4));
    health.newest_quarantined_seconds = newer(health.newest_quarantined_seconds, age(rows, row, 5));
    health.oldest_open_quarantined_seconds = older(health.oldest_open_quarantined_seconds, age(rows, row, 8));
    health.quarantined_by_reason.push_back(reason);
  }
}

}  // namespace

Result<Health> read_health(db::Connection& connection) {
  connection.queue(kHealth);
  connection.queue(kQuarantine);
  KUDOS_ASSIGN(const auto results, connection.flush());
  Health health;
  read_queues(results[0], health);
  read_quarantine(results[1], health);
  KUDOS_ASSIGN(health.holds, read_hold_health(connection));
  return health;
}

Result<std::int64_t> count_pending(db::Connection& connection) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kCountPending));
  return rows.int64(0, 0);
}

Result<ArchiveTotals> read_archive_totals(db::Connection& connection) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kArchiveTotals));
  return ArchiveTotals{rows.int64(0, 0), rows.int64(0, 2), rows.int64(0, 1), rows.total(0, 3)};
}

}  // namespace kudos::store
