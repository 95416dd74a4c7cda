#include "store/health.h"

#include "base/try.h"

namespace kudos::store {
namespace {

#define KUDOS_PENDING_EVENTS \
  R"(
    SELECT e.seq, e.created, e.posting_count
    FROM @schema@.kudos_events e
    WHERE e.fold_id IS NULL AND e.seq > (SELECT frontier FROM @schema@.kudos_work_map)
    UNION ALL
    SELECT e.seq, e.created, e.posting_count
    FROM @schema@.kudos_work_map m CROSS JOIN LATERAL unnest(m.gaps) AS gap
    JOIN @schema@.kudos_events e ON e.fold_id IS NULL AND e.seq >= lower(gap) AND e.seq < upper(gap))"

constexpr db::Statement kHealth{"health", "WITH pending AS (" KUDOS_PENDING_EVENTS R"(),
currency AS (
    SELECT count(*) AS rows FROM pending JOIN @schema@.kudos_postings p ON p.event_seq = pending.seq)
SELECT c.mode::text, q.events, q.rows, currency.rows, q.oldest_micros,
       (extract(epoch FROM clock_timestamp() - greatest(s.applied_at, f.folded_at)) * 1000000)::bigint,
       (SELECT count(*) FROM @schema@.kudos_events WHERE quarantine_reason IS NOT NULL),
       coalesce(f.id, 0),
       (SELECT count(*) FROM @schema@.kudos_stuck_events k JOIN @schema@.kudos_events e ON e.seq = k.event_seq
        WHERE e.fold_id IS NULL)
FROM @schema@.kudos_ledger_control c
LEFT JOIN @schema@.kudos_ledger_applier_state s ON true
LEFT JOIN LATERAL (SELECT id, folded_at FROM @schema@.kudos_folds ORDER BY id DESC LIMIT 1) f ON true,
     currency,
     (SELECT count(*) AS events, coalesce(sum(posting_count), 0)::bigint AS rows,
             (extract(epoch FROM clock_timestamp() - min(created)) * 1000000)::bigint AS oldest_micros
      FROM pending) q)"};
constexpr db::Statement kCountPending{"count_pending", "SELECT count(*) FROM (" KUDOS_PENDING_EVENTS ") pending"};
constexpr db::Statement kArchiveTotals{"archive_totals", R"(
SELECT (SELECT count(*) FROM @schema@.kudos_events),
       (SELECT count(*) FROM @schema@.kudos_stat_postings), count(*), coalesce(sum(amount), 0)
FROM @schema@.kudos_postings)"};

std::optional<double> seconds(const db::Rows& rows, int column) {
  if (rows.is_null(0, column)) return std::nullopt;
  return static_cast<double>(rows.int64(0, column)) / 1e6;
}

}  // namespace

Result<Health> read_health(db::Connection& connection) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kHealth));
  Health health;
  health.mode = rows.text(0, 0) == "ledger" ? Mode::ledger : Mode::shadow;
  health.pending_events = rows.int64(0, 1);
  health.pending_rows = rows.int64(0, 2);
  health.pending_currency_rows = rows.int64(0, 3);
  health.pending_statistic_rows = health.pending_rows - health.pending_currency_rows;
  health.oldest_pending_seconds = seconds(rows, 4);
  health.heartbeat_seconds = seconds(rows, 5);
  health.quarantined_events = rows.int64(0, 6);
  health.last_fold = rows.int64(0, 7);
  health.stuck_events = rows.int64(0, 8);
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
