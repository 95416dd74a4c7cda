#include <algorithm>
#include <charconv>

#include "base/try.h"
#include "store/codec.h"
#include "store/projection.h"

namespace kudos::store {
namespace {

// The loser must not go on to claim, and in a pipeline only an error stops what is behind it.
constexpr db::Statement kLockApplier{"lock_applier", R"(
SELECT @schema@.kudos_require(pg_try_advisory_xact_lock($1::bigint), 'applier_busy', 'another projector is at work'))"};
constexpr db::Statement kLockGate{"projector_lock_gate", "SELECT pg_advisory_xact_lock_shared($1::bigint)"};
constexpr db::Statement kReadHead{"read_head", R"(
SELECT c.mode::text, clock_timestamp(), f.id, f.digest, f.frontier, f.gaps::text, f.young_gaps::text,
       f.gaps_horizon::text
FROM @schema@.kudos_ledger_control c
LEFT JOIN LATERAL (SELECT * FROM @schema@.kudos_folds ORDER BY id DESC LIMIT 1) f ON true)"};
// Unapplied events that the map doesn't cover: none, unless somebody meddled with the journal or the sequence.
constexpr db::Statement kFindStrays{"find_strays", R"(
SELECT ARRAY(SELECT seq FROM @schema@.kudos_events
             WHERE fold_id IS NULL AND seq <= $1::bigint AND NOT seq <@ $2::int8multirange
             ORDER BY seq LIMIT $3::integer)::text)"};
// What waits in the gaps, and below which transaction id everything had ended when this was read.
constexpr db::Statement kLookIntoGaps{"look_into_gaps", R"(
SELECT pg_snapshot_xmin(pg_current_snapshot())::text,
       ARRAY(SELECT e.seq
             FROM unnest($2::int8multirange) AS gap CROSS JOIN LATERAL (
                 SELECT seq FROM @schema@.kudos_events
                 WHERE fold_id IS NULL AND seq >= lower(gap) AND seq < upper(gap) ORDER BY seq LIMIT $1::integer) e
             ORDER BY e.seq LIMIT $1::integer)::text)"};
constexpr db::Statement kEnsureState{
    "ensure_state", "INSERT INTO @schema@.kudos_ledger_applier_state DEFAULT VALUES ON CONFLICT DO NOTHING"};
// Another fold than the known one means that the known map is out of date.
constexpr db::Statement kHasWork{"has_work", R"(
WITH beat AS (UPDATE @schema@.kudos_ledger_applier_state SET applied_at = clock_timestamp() WHERE $5::boolean)
SELECT coalesce((SELECT max(id) FROM @schema@.kudos_folds), 0) <> $1::bigint
    OR EXISTS (SELECT FROM @schema@.kudos_events
               WHERE fold_id IS NULL AND seq > $2::bigint AND NOT seq <@ $4::int8multirange)
    OR EXISTS (SELECT FROM unnest($3::int8multirange) AS gap CROSS JOIN LATERAL (
                   SELECT FROM @schema@.kudos_events
                   WHERE fold_id IS NULL AND seq >= lower(gap) AND seq < upper(gap) LIMIT 1) e),
       EXISTS (SELECT FROM @schema@.kudos_reservations
               WHERE state = 'active' AND expires IS NOT NULL AND expires <= (SELECT clock_timestamp())))"};
constexpr std::int32_t kMostStrays = 10'000;
#define KUDOS_EVENT_COLUMNS                                                                          \
  "e.seq, e.event_id, e.created, e.job_id, e.wp_type, e.request_digest, e.metadata_hash, e.inline, " \
  "e.posting_count::integer "
constexpr db::Statement kClaimInGaps{"claim_in_gaps", "SELECT " KUDOS_EVENT_COLUMNS R"(
FROM @schema@.kudos_events e
WHERE e.fold_id IS NULL AND e.seq = ANY (ARRAY(
    SELECT p.seq
    FROM unnest($2::int8multirange) AS gap CROSS JOIN LATERAL (
        SELECT seq FROM @schema@.kudos_events
        WHERE fold_id IS NULL AND seq >= lower(gap) AND seq < upper(gap) ORDER BY seq LIMIT $1::integer) p
    ORDER BY p.seq LIMIT $1::integer))
ORDER BY e.seq FOR NO KEY UPDATE OF e SKIP LOCKED)"};
// Looks at $1 headers behind frontier $3, takes those that begin within the first $2 postings.
#define KUDOS_AHEAD \
  R"(
    SELECT seq
    FROM (SELECT seq, sum(posting_count) OVER (ORDER BY seq) - posting_count AS before
          FROM (SELECT seq, posting_count FROM @schema@.kudos_events
                WHERE fold_id IS NULL AND seq > $3::bigint AND NOT seq <@ $4::int8multirange
                ORDER BY seq LIMIT $1::integer) ahead) counted
    WHERE before < $2::integer)"
// How far the claim behind the frontier looks, locked headers included.
constexpr db::Statement kLookAhead{"look_ahead",
                                   "SELECT count(*)::integer, coalesce(max(seq), 0) FROM (" KUDOS_AHEAD ") seen"};
constexpr db::Statement kClaimBehindFrontier{
    "claim_behind_frontier", "SELECT " KUDOS_EVENT_COLUMNS
                             "FROM @schema@.kudos_events e WHERE e.fold_id IS NULL AND e.seq = ANY (ARRAY(" KUDOS_AHEAD
                             ")) ORDER BY e.seq FOR NO KEY UPDATE OF e SKIP LOCKED"};
constexpr db::Statement kSnapshotXmax{"snapshot_xmax", "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"};

template <class Number>
Number number_of(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Also the journal's map; without one every event is behind its frontier.
Status read_head(const db::Rows& rows, Claim& claim) {
  if (rows.size() != 1)
    return fail(ErrorCode::database_error, "the ledger's control row is gone", "Restore it from a backup.");
  claim.mode = rows.text(0, 0) == "ledger" ? Mode::ledger : Mode::shadow;
  claim.now = rows.timestamp(0, 1);
  if (rows.is_null(0, 2)) return {};
  claim.head = {{rows.int64(0, 2)}, read_digest(rows, 0, 3).value_or(Digest{})};
  if (rows.is_null(0, 4)) return {};
  claim.map.frontier = rows.int64(0, 4);
  KUDOS_ASSIGN(claim.map.gaps, SeqSet::parse(rows.text(0, 5)));
  KUDOS_ASSIGN(claim.map.young_gaps, SeqSet::parse(rows.text(0, 6)));
  claim.map.horizon = number_of<std::uint64_t>(rows.text(0, 7));
  return {};
}

void read_events(const db::Rows& rows, Claim& claim) {
  for (int row = 0; row < rows.size(); ++row) {
    Event event;
    event.seq = {rows.int64(row, 0)};
    event.id = rows.uuid(row, 1);
    event.created = rows.timestamp(row, 2);
    event.job_id = rows.optional(row, 3, &db::Rows::uuid);
    event.wp_type = rows.text(row, 4);
    event.request_digest = read_digest(rows, row, 5);
    event.metadata_hash = read_digest(rows, row, 6);
    event.applied_inline = rows.boolean(row, 7);
    claim.events.push_back(std::move(event));
    claim.counts.push_back(rows.int32(row, 8));
  }
}

// "{1,5,9}"
std::vector<EventSeq> read_seq_array(std::string_view text) {
  std::vector<EventSeq> seqs;
  for (std::size_t at = 1; at < text.size() && text[at] != '}';) {
    const std::size_t end = text.find_first_of(",}", at);
    seqs.push_back({number_of<std::int64_t>(text.substr(at, end - at))});
    at = end + 1;
  }
  return seqs;
}

void queue_claim(db::Connection& connection, const WorkMap& map, const ClaimLimits& limits) {
  const SeqSet to_try = limits.only ? SeqSet::of(std::span(&*limits.only, 1)) : map.all_gaps() - limits.resting;
  const auto ahead = [&] {
    return db::Params()
        .add(limits.events)
        .add(limits.postings)
        .add(limits.only ? std::numeric_limits<std::int64_t>::max() : map.frontier)
        .add_text_format(limits.resting.to_string());
  };
  connection.queue(kLookIntoGaps, db::Params().add(limits.events + 1).add_text_format(map.all_gaps().to_string()));
  connection.queue(kClaimInGaps, db::Params().add(limits.events).add_text_format(to_try.to_string()));
  connection.queue(kLookAhead, ahead());
  connection.queue(kClaimBehindFrontier, ahead());
  connection.queue(kSnapshotXmax);
}

// Keeps what the limits allow, at least one event; what is cut off stays unapplied.
void trim(Claim& claim, const ClaimLimits& limits) {
  std::int64_t postings = 0;
  std::size_t kept = 0;
  const auto fits = [&] {
    return postings + claim.counts[kept] <= limits.postings && static_cast<std::int32_t>(kept) < limits.at_most;
  };
  while (kept < claim.events.size() && (kept == 0 || fits())) postings += claim.counts[kept++];
  // A batch that is just full says nothing of what is behind it.
  claim.more |= kept < claim.events.size() || postings >= limits.postings;
  // What is cut off behind the frontier stays behind it.
  if (kept < claim.events.size() && claim.events[kept].seq.value > claim.map.frontier)
    claim.highest_seen = std::min(claim.highest_seen, claim.events[kept].seq.value - 1);
  claim.events.resize(kept);
  claim.counts.resize(kept);
}

// Reads what `queue_claim` asked for.
void read_claim(std::span<const db::Rows> results, const ClaimLimits& limits, Claim& claim) {
  claim.snapshot_xmin = number_of<std::uint64_t>(results[0].text(0, 0));
  const auto waiting = read_seq_array(results[0].text(0, 1));
  claim.pending_in_gaps = SeqSet::of(waiting);
  claim.gaps_cut_short = static_cast<std::int32_t>(waiting.size()) > limits.events;
  read_events(results[1], claim);
  claim.held = limits.only ? SeqSet() : claim.pending_in_gaps - limits.resting - seqs_of(claim.events);
  claim.highest_seen = results[2].int64(0, 1);
  claim.more = results[1].size() >= limits.events || results[2].int32(0, 0) >= limits.events;
  read_events(results[3], claim);
  if (!claim.events.empty()) claim.highest_seen = std::max(claim.highest_seen, claim.events.back().seq.value);
  trim(claim, limits);
  claim.snapshot_xmax = number_of<std::uint64_t>(results[4].text(0, 0));
}

// Adds what the map should cover and doesn't. With too much of it, the map is worth nothing: look everywhere.
Status add_strays(db::Connection& connection, WorkMap& map) {
  if (map.frontier == 0) return {};
  KUDOS_ASSIGN(const auto rows,
               connection.execute(
                   kFindStrays,
                   db::Params().add(map.frontier).add_text_format(map.all_gaps().to_string()).add(kMostStrays + 1)));
  const auto strays = read_seq_array(rows.text(0, 0));
  if (static_cast<std::int32_t>(strays.size()) > kMostStrays)
    map = {};
  else
    map.gaps = map.gaps | SeqSet::of(strays);
  return {};
}

}  // namespace

SeqSet seqs_of(std::span<const Event> events) {
  std::vector<EventSeq> seqs;
  for (const Event& event : events) seqs.push_back(event.seq);
  return SeqSet::of(seqs);
}

Status ensure_state(db::Connection& connection) {
  KUDOS_TRY(connection.execute(kEnsureState));
  return {};
}

Result<Claim> begin_and_claim(db::Connection& connection, const LockKeys& keys, const ClaimLimits& limits) {
  connection.queue(db::kBegin);
  connection.queue(kLockApplier, db::Params().add(keys.applier));
  connection.queue(kLockGate, db::Params().add(keys.mode_gate));
  connection.queue(kReadHead);
  if (limits.known) queue_claim(connection, limits.known->map, limits);
  KUDOS_ASSIGN(const auto results, connection.flush());
  Claim claim;
  KUDOS_TRY(read_head(results[3], claim));
  if (limits.known && limits.known->fold == claim.head.fold) {
    claim.map = limits.known->map;
    read_claim(std::span(results).subspan(4), limits, claim);
    return claim;
  }
  // Another projector has folded meanwhile, or this is the first cycle: the journal knows better. Nobody can fold now.
  KUDOS_TRY(add_strays(connection, claim.map));
  queue_claim(connection, claim.map, limits);
  KUDOS_ASSIGN(const auto again, connection.flush());
  read_claim(again, limits, claim);
  return claim;
}

Result<Work> has_work(db::Connection& connection, const KnownMap& known, const SeqSet& resting, bool beat) {
  KUDOS_ASSIGN(const auto rows,
               connection.execute(kHasWork, db::Params()
                                                .add(known.fold)
                                                .add(known.map.frontier)
                                                .add_text_format((known.map.all_gaps() - resting).to_string())
                                                .add_text_format(resting.to_string())
                                                .add(beat)));
  return Work{rows.boolean(0, 0), rows.boolean(0, 1)};
}

}  // namespace kudos::store
