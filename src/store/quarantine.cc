#include "store/quarantine.h"

#include "base/try.h"

namespace kudos::store {
namespace {

// One row a review, one without review for an open event. The counts are probes of the primary key.
#define KUDOS_QUARANTINED_COLUMNS \
  R"(
SELECT e.event_id, e.seq, e.created, e.quarantined_at, e.quarantine_reason::text,
       (SELECT count(*) FROM @schema@.kudos_stat_postings s WHERE s.event_seq = e.seq),
       r.action::text, r.reviewer, r.note, r.repair_event_id, r.reviewed_at
)"

constexpr db::Statement kListQuarantined{"list_quarantined", KUDOS_QUARANTINED_COLUMNS R"(
FROM (SELECT * FROM @schema@.kudos_events
      WHERE quarantine_reason IS NOT NULL
        AND ($1::boolean OR NOT EXISTS (SELECT FROM @schema@.kudos_quarantine_reviews r WHERE r.event_seq = seq))
      ORDER BY seq LIMIT $2::integer) e
LEFT JOIN @schema@.kudos_quarantine_reviews r ON r.event_seq = e.seq
ORDER BY e.seq, r.reviewed_at)"};
constexpr db::Statement kReadQuarantined{"read_quarantined", KUDOS_QUARANTINED_COLUMNS R"(
FROM @schema@.kudos_events e LEFT JOIN @schema@.kudos_quarantine_reviews r ON r.event_seq = e.seq
WHERE e.event_id = $1::uuid
ORDER BY r.reviewed_at)"};
constexpr db::Statement kLockRepairs{"lock_repairs", "SELECT pg_advisory_xact_lock($1::bigint)"};
constexpr db::Statement kRecordReview{"record_review", R"(
INSERT INTO @schema@.kudos_quarantine_reviews (event_seq, action, reviewer, note, repair_event_id)
VALUES ($1::bigint, $2::text::@schema@.kudos_review_action, $3::text, nullif($4::text, ''), $5::uuid)
ON CONFLICT DO NOTHING
RETURNING reviewed_at)"};
constexpr db::Statement kStatisticsUsers{"statistics_users",
                                         "SELECT id FROM @schema@.users WHERE id = ANY ($1::integer[])"};

Review read_review(const db::Rows& rows, int row) {
  Review review;
  review.action = rows.text(row, 6) == "repaired" ? Review::Action::repaired : Review::Action::accepted;
  review.reviewer = rows.text(row, 7);
  review.note = rows.text(row, 8);
  review.repair_event = rows.optional(row, 9, &db::Rows::uuid);
  review.at = rows.timestamp(row, 10);
  return review;
}

QuarantinedEvent read_header(const db::Rows& rows, int row) {
  QuarantinedEvent event;
  event.id = rows.uuid(row, 0);
  event.seq = {rows.int64(row, 1)};
  event.created = rows.timestamp(row, 2);
  event.quarantined_at = rows.timestamp(row, 3);
  event.reason = rows.text(row, 4);
  event.statistics = rows.int64(row, 5);
  return event;
}

std::vector<QuarantinedEvent> read_events(const db::Rows& rows) {
  std::vector<QuarantinedEvent> events;
  for (int row = 0; row < rows.size(); ++row) {
    if (events.empty() || events.back().seq.value != rows.int64(row, 1)) events.push_back(read_header(rows, row));
    if (!rows.is_null(row, 6)) events.back().reviews.push_back(read_review(rows, row));
  }
  return events;
}

}  // namespace

std::string_view label(Review::Action action) { return action == Review::Action::repaired ? "repaired" : "accepted"; }

const Review* QuarantinedEvent::find(Review::Action action) const {
  for (const Review& review : reviews)
    if (review.action == action) return &review;
  return nullptr;
}

Result<std::vector<QuarantinedEvent>> list_quarantined(db::Connection& connection, bool all, std::int32_t limit) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kListQuarantined, db::Params().add(all).add(limit)));
  return read_events(rows);
}

Result<QuarantinedEvent> read_quarantined(db::Connection& connection, const Uuid& id) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kReadQuarantined, db::Params().add(id)));
  if (rows.empty()) return fail(ErrorCode::unknown_event, "there is no event " + id.to_string());
  if (rows.is_null(0, 4))
    return fail(ErrorCode::invalid_request, "event " + id.to_string() + " was not set aside",
                "`kudos quarantine list` shows those that were.");
  return std::move(read_events(rows).front());
}

Status lock_repairs(db::Connection& connection, const LockKeys& keys) {
  KUDOS_TRY(connection.execute(kLockRepairs, db::Params().add(keys.reconciliation)));
  return {};
}

Result<std::optional<Timestamp>> record_review(db::Connection& connection, EventSeq seq, const Review& review) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kRecordReview, db::Params()
                                                                      .add(seq)
                                                                      .add(label(review.action))
                                                                      .add(review.reviewer)
                                                                      .add(review.note)
                                                                      .add(review.repair_event)));
  if (rows.empty()) return std::nullopt;
  return rows.timestamp(0, 0);
}

Result<std::set<UserId>> statistics_users(db::Connection& connection, const Event& event) {
  std::set<UserId> named, found;
  for (const StatPosting& statistic : event.statistics)
    if (statistic.user) named.insert(*statistic.user);
  auto ids = db::Array::int32s();
  for (const UserId id : named) ids.add(id);
  KUDOS_ASSIGN(const auto rows, connection.execute(kStatisticsUsers, db::Params().add(ids)));
  for (int row = 0; row < rows.size(); ++row) found.insert({rows.int32(row, 0)});
  return found;
}

}  // namespace kudos::store
