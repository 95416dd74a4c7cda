#include "store/trust.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/try.h"
#include "store/event_writer.h"
#include "store/projection.h"

namespace kudos::store {
namespace {

constexpr db::Statement kLockApplier{"trust_lock_applier", R"(
SELECT @schema@.kudos_require(pg_try_advisory_xact_lock($1::bigint), 'applier_busy', 'another projector is at work'))"};
constexpr db::Statement kLockGate{"trust_lock_gate", "SELECT pg_advisory_xact_lock_shared($1::bigint)"};
constexpr db::Statement kReadHead{"trust_read_head", R"(
SELECT mode::text, clock_timestamp(), coalesce((SELECT max(id) FROM @schema@.kudos_folds), 0)
FROM @schema@.kudos_ledger_control)"};

// Those whom the partial indexes of accounts can name, by the digits of their escrow; `decide_trust` judges the locked
// rows of users. $1 is NULL: promotion is off.
#define KUDOS_AWAITING_TRUST                                                              \
  "FROM @schema@.kudos_accounts a JOIN @schema@.users u ON u.id = a.user_id "             \
  "WHERE NOT a.trusted AND NOT a.suspicious AND NOT a.deleted AND a.escrow_digits > 0 "   \
  "AND a.escrow_digits >= @schema@.kudos_digits($1::numeric) AND u.evaluating_kudos > 0 " \
  "AND u.evaluating_kudos > $1::numeric "                                                 \
  "AND u.created <= clock_timestamp() - $2::integer * interval '1 hour' "                 \
  "AND a.account_class NOT IN ('anonymous', 'system') "
#define KUDOS_TRUSTED_WITH_ESCROW \
  "FROM @schema@.kudos_accounts WHERE trusted AND escrow_digits > 0 AND account_class <> 'system' "
constexpr db::Statement kAnybody{"anybody_to_promote",
                                 "SELECT mode = 'ledger' AND (EXISTS (SELECT " KUDOS_TRUSTED_WITH_ESCROW
                                 ") OR EXISTS (SELECT " KUDOS_AWAITING_TRUST ")) FROM @schema@.kudos_ledger_control"};
constexpr db::Statement kTrustedSeen{"trusted_with_escrow",
                                     "SELECT user_id " KUDOS_TRUSTED_WITH_ESCROW
                                     "AND user_id > $1::integer ORDER BY user_id LIMIT $2::integer"};
constexpr db::Statement kLockCandidates{
    "lock_trust_candidates",
    "SELECT id, account_class, trusted, suspicious, deleted_at IS NOT NULL, created, evaluating_kudos "
    "FROM @schema@.users WHERE id = ANY (ARRAY((SELECT u.id " KUDOS_AWAITING_TRUST
    "ORDER BY u.evaluating_kudos DESC LIMIT $4::integer) UNION ALL (SELECT user_id " KUDOS_TRUSTED_WITH_ESCROW
    "AND user_id > $3::integer ORDER BY user_id LIMIT $4::integer))) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"};
// Where the projector says that unapplied work can be.
constexpr db::Statement kInFlight{"promotions_in_flight", R"(
SELECT wanted.id
FROM unnest($1::integer[]) AS wanted(id) CROSS JOIN @schema@.kudos_work_map m
CROSS JOIN LATERAL (
    SELECT FROM unnest(m.gaps + int8multirange(int8range(m.frontier, NULL, '()'))) AS part
    JOIN @schema@.kudos_postings p
        ON p.user_id = wanted.id AND p.event_seq >= lower(part) AND (upper_inf(part) OR p.event_seq < upper(part))
    JOIN @schema@.kudos_events e ON e.seq = p.event_seq
    WHERE p.escrow AND p.entry_type = 'EVALUATION_PROMOTION' AND e.fold_id IS NULL AND NOT e.inline
    LIMIT 1) found)"};
constexpr db::Statement kLockPausedWorkers{"lock_paused_workers", R"(
SELECT id, user_id FROM @schema@.workers WHERE user_id = ANY ($1::integer[]) AND paused
ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)"};
constexpr db::Statement kCountPausedWorkers{"count_paused_workers", R"(
SELECT user_id, count(*) FROM @schema@.workers WHERE user_id = ANY ($1::integer[]) AND paused GROUP BY user_id)"};
constexpr db::Statement kMakeTrusted{"make_trusted",
                                     "UPDATE @schema@.users SET trusted = true WHERE id = ANY ($1::integer[])"};
constexpr db::Statement kUnpause{"unpause_workers", R"(
UPDATE @schema@.workers SET paused = false WHERE user_id = ANY ($1::integer[]) AND paused)"};
// The head of the journal makes an id new; one that is there all the same must not be left out silently.
constexpr db::Statement kRequireStored{"require_promotions", R"(
SELECT @schema@.kudos_require(count(*) = $1::integer, 'database_error', 'a promotion could not be stored: its id is taken')
FROM @schema@.kudos_events WHERE seq = ANY ($2::bigint[]))"};

db::Params& add_policy(db::Params& params, const TrustPolicy& policy) {
  return params.add(policy.threshold).add(static_cast<std::int32_t>(kTrustMinimumAge.count()));
}

std::vector<TrustCandidate> read_candidates(const db::Rows& rows) {
  std::vector<TrustCandidate> candidates;
  for (int row = 0; row < rows.size(); ++row) {
    TrustCandidate& user = candidates.emplace_back();
    user.user = {rows.int32(row, 0)};
    user.account_class = rows.text(row, 1);
    user.trusted = rows.boolean(row, 2);
    user.suspicious = rows.boolean(row, 3);
    user.deleted = rows.boolean(row, 4);
    user.created = rows.timestamp(row, 5);
    user.escrow = rows.total(row, 6);
  }
  return candidates;
}

// Marks promotions in flight and workers that somebody holds.
Status look_closer(db::Connection& connection, std::vector<TrustCandidate>& candidates) {
  auto all = db::Array::int32s(), untrusted = db::Array::int32s();
  for (const TrustCandidate& user : candidates) {
    all.add(user.user);
    if (!user.trusted) untrusted.add(user.user);
  }
  connection.queue(kInFlight, db::Params().add(all));
  connection.queue(kLockPausedWorkers, db::Params().add(untrusted));
  connection.queue(kCountPausedWorkers, db::Params().add(untrusted));
  KUDOS_ASSIGN(const auto results, connection.flush());
  std::unordered_set<UserId> in_flight;
  for (int row = 0; row < results[0].size(); ++row) in_flight.insert({results[0].int32(row, 0)});
  std::map<UserId, std::int64_t> locked, paused;
  for (int row = 0; row < results[1].size(); ++row) ++locked[{results[1].int32(row, 1)}];
  for (int row = 0; row < results[2].size(); ++row) paused[{results[2].int32(row, 0)}] = results[2].int64(row, 1);
  for (TrustCandidate& user : candidates) {
    user.in_flight = in_flight.contains(user.user);
    user.workers_held = locked[user.user] != paused[user.user];
  }
  return {};
}

Status queue_promotions(db::Connection& connection, const EnumTypes& types, std::vector<Event>& events, Timestamp now) {
  if (events.empty()) return {};
  KUDOS_ASSIGN(const auto drawn, draw_seqs(connection, static_cast<std::int32_t>(events.size())));
  // In the order of their ids, as every writer stores events.
  std::ranges::sort(events, {}, &Event::id);
  EventWriter writer(types);
  auto seqs = db::Array::int64s();
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].seq = drawn[i];
    events[i].created = now;
    writer.add(events[i]);
    seqs.add(drawn[i]);
  }
  writer.queue(connection);
  connection.queue(kRequireStored, db::Params().add(seqs.size()).add(seqs));
  return {};
}

}  // namespace

Result<bool> anybody_to_promote(db::Connection& connection, const TrustPolicy& policy) {
  db::Params params;
  KUDOS_ASSIGN(const auto rows, connection.execute(kAnybody, std::move(add_policy(params, policy))));
  return !rows.empty() && rows.boolean(0, 0);
}

Result<TrustRound> begin_trust_round(db::Connection& connection, const LockKeys& keys, const TrustQuery& query) {
  db::Params params;
  add_policy(params, query.policy).add(query.after).add(query.limit);
  connection.queue(db::kBegin);
  connection.queue(kLockApplier, db::Params().add(keys.applier));
  connection.queue(kLockGate, db::Params().add(keys.mode_gate));
  connection.queue(kReadHead);
  connection.queue(kTrustedSeen, db::Params().add(query.after).add(query.limit));
  connection.queue(kLockCandidates, std::move(params));
  KUDOS_ASSIGN(const auto results, connection.flush());
  TrustRound round;
  round.mode = results[3].text(0, 0) == "ledger" ? Mode::ledger : Mode::shadow;
  round.now = results[3].timestamp(0, 1);
  round.head = {results[3].int64(0, 2)};
  for (int row = 0; row < results[4].size(); ++row) round.trusted_seen.push_back({results[4].int32(row, 0)});
  round.candidates = read_candidates(results[5]);
  if (!round.candidates.empty()) KUDOS_TRY(look_closer(connection, round.candidates));
  return round;
}

Status commit_trust_round(db::Connection& connection, const EnumTypes& types, TrustDecision decision, Timestamp now) {
  KUDOS_TRY(queue_promotions(connection, types, decision.promotions, now));
  if (!decision.promoted.empty()) {
    auto users = db::Array::int32s();
    for (const UserId user : decision.promoted) users.add(user);
    connection.queue(kMakeTrusted, db::Params().add(users));
    connection.queue(kUnpause, db::Params().add(users));
  }
  connection.queue(db::kCommit);
  KUDOS_TRY(connection.flush());
  return {};
}

}  // namespace kudos::store
