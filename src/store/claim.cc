#include <algorithm>
#include <charconv>

#include "base/try.h"
#include "store/projection.h"

namespace kudos::store {
namespace {

// The loser must not go on to claim, and in a pipeline only an error stops what is behind it.
constexpr db::Statement kLockApplier{"lock_applier", R"(
SELECT @schema@.kudos_require(pg_try_advisory_xact_lock($1::bigint), 'applier_busy', 'another projector is at work'))"};
constexpr db::Statement kLockGate{"projector_lock_gate", "SELECT pg_advisory_xact_lock_shared($1::bigint)"};
constexpr db::Statement kForgetMap{"forget_map", R"(
UPDATE @schema@.kudos_ledger_applier_state SET frontier = NULL, gaps = '{}', young_gaps = '{}', gaps_horizon = '0')"};
constexpr db::Statement kReadState{"read_state", R"(
SELECT c.mode::text, clock_timestamp(), s.frontier, s.gaps::text, s.young_gaps::text, s.gaps_horizon::text,
       f.id, f.digest
FROM @schema@.kudos_ledger_control c CROSS JOIN @schema@.kudos_ledger_applier_state s
LEFT JOIN LATERAL (SELECT id, digest FROM @schema@.kudos_folds ORDER BY id DESC LIMIT 1) f ON true)"};
// What waits in the gaps, and below which transaction id everything had ended when this was read.
constexpr db::Statement kLookIntoGaps{"look_into_gaps", R"(
SELECT pg_snapshot_xmin(pg_current_snapshot())::text,
       ARRAY(SELECT e.seq
             FROM @schema@.kudos_ledger_applier_state s CROSS JOIN LATERAL unnest(s.gaps + s.young_gaps) AS gap
             CROSS JOIN LATERAL (
                 SELECT seq FROM @schema@.kudos_events
                 WHERE fold_id IS NULL AND seq >= lower(gap) AND seq < upper(gap) ORDER BY seq LIMIT $1::integer) e
             ORDER BY e.seq LIMIT $1::integer)::text)"};
constexpr db::Statement kEnsureState{
    "ensure_state", "INSERT INTO @schema@.kudos_ledger_applier_state DEFAULT VALUES ON CONFLICT DO NOTHING"};
#define KUDOS_EVENT_COLUMNS                                                                          \
  "e.seq, e.event_id, e.created, e.job_id, e.wp_type, e.request_digest, e.metadata_hash, e.inline, " \
  "e.posting_count::integer "
constexpr db::Statement kClaimInGaps{"claim_in_gaps", "SELECT " KUDOS_EVENT_COLUMNS R"(
FROM @schema@.kudos_events e
WHERE e.fold_id IS NULL AND e.seq = ANY (ARRAY(
    SELECT p.seq
    FROM @schema@.kudos_ledger_applier_state s
    CROSS JOIN LATERAL unnest((s.gaps + s.young_gaps) - $2::int8multirange) AS gap
    CROSS JOIN LATERAL (
        SELECT seq FROM @schema@.kudos_events
        WHERE fold_id IS NULL AND seq >= lower(gap) AND seq < upper(gap) ORDER BY seq LIMIT $1::integer) p
    ORDER BY p.seq LIMIT $1::integer))
ORDER BY e.seq FOR NO KEY UPDATE OF e SKIP LOCKED)"};
// Looks at $1 headers, takes those that begin within the first $2 postings.
#define KUDOS_AHEAD \
  R"(
    SELECT seq
    FROM (SELECT seq, sum(posting_count) OVER (ORDER BY seq) - posting_count AS before
          FROM (SELECT seq, posting_count FROM @schema@.kudos_events
                WHERE fold_id IS NULL
                  AND seq > coalesce((SELECT frontier FROM @schema@.kudos_ledger_applier_state), 0)
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

std::optional<Digest> read_digest(const db::Rows& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::nullopt;
  Digest digest{};
  std::ranges::copy(rows.text(row, column).substr(0, digest.size()), digest.begin());
  return digest;
}

Status read_state(const db::Rows& rows, Claim& claim) {
  if (rows.size() != 1)
    return fail(ErrorCode::database_error, "the ledger's control rows are gone", "Restore them from a backup.");
  claim.mode = rows.text(0, 0) == "ledger" ? Mode::ledger : Mode::shadow;
  claim.now = rows.timestamp(0, 1);
  claim.map.frontier = rows.is_null(0, 2) ? 0 : rows.int64(0, 2);
  KUDOS_ASSIGN(claim.map.gaps, SeqSet::parse(rows.text(0, 3)));
  KUDOS_ASSIGN(claim.map.young_gaps, SeqSet::parse(rows.text(0, 4)));
  claim.map.horizon = number_of<std::uint64_t>(rows.text(0, 5));
  if (rows.is_null(0, 6)) return {};
  claim.head = {{rows.int64(0, 6)}, read_digest(rows, 0, 7).value_or(Digest{})};
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

// Keeps at most `limit` postings, at least one event; what is cut off stays unapplied.
void trim(Claim& claim, std::int32_t limit) {
  std::int64_t postings = 0;
  std::size_t kept = 0;
  while (kept < claim.events.size() && (kept == 0 || postings + claim.counts[kept] <= limit))
    postings += claim.counts[kept++];
  // A batch that is just full says nothing of what is behind it.
  claim.more |= kept < claim.events.size() || postings >= limit;
  // What is cut off behind the frontier stays behind it.
  if (kept < claim.events.size() && claim.events[kept].seq.value > claim.map.frontier)
    claim.highest_seen = std::min(claim.highest_seen, claim.events[kept].seq.value - 1);
  claim.events.resize(kept);
  claim.counts.resize(kept);
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
  if (limits.forget_map) connection.queue(kForgetMap);
  connection.queue(kReadState);
  connection.queue(kLookIntoGaps, db::Params().add(limits.events + 1));
  connection.queue(kClaimInGaps, db::Params().add(limits.events).add_text_format(limits.resting.to_string()));
  connection.queue(kLookAhead, db::Params().add(limits.events).add(limits.postings));
  connection.queue(kClaimBehindFrontier, db::Params().add(limits.events).add(limits.postings));
  connection.queue(kSnapshotXmax);
  KUDOS_ASSIGN(const auto all_results, connection.flush());
  const auto results = std::span(all_results).subspan(limits.forget_map ? 4 : 3);
  Claim claim;
  KUDOS_TRY(read_state(results[0], claim));
  claim.snapshot_xmin = number_of<std::uint64_t>(results[1].text(0, 0));
  const auto waiting = read_seq_array(results[1].text(0, 1));
  claim.pending_in_gaps = SeqSet::of(waiting);
  claim.gaps_cut_short = static_cast<std::int32_t>(waiting.size()) > limits.events;
  read_events(results[2], claim);
  claim.held = claim.pending_in_gaps - limits.resting - seqs_of(claim.events);
  claim.highest_seen = results[3].int64(0, 1);
  claim.more = results[2].size() >= limits.events || results[3].int32(0, 0) >= limits.events;
  read_events(results[4], claim);
  if (!claim.events.empty()) claim.highest_seen = std::max(claim.highest_seen, claim.events.back().seq.value);
  trim(claim, limits.postings);
  claim.snapshot_xmax = number_of<std::uint64_t>(results[5].text(0, 0));
  return claim;
}

}  // namespace kudos::store
