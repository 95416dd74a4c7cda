#include "store/emission.h"

#include <algorithm>
#include <functional>

#include "base/try.h"
#include "store/codec.h"
#include "store/holds.h"

namespace kudos::store {
namespace {

constexpr db::Statement kKeepPlans{"keep_plans", R"(
SELECT set_config('kudos.plan_cache_mode', current_setting('plan_cache_mode'), true),
       set_config('kudos.enable_seqscan', current_setting('enable_seqscan'), true),
       set_config('kudos.jit', current_setting('jit'), true), set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true))"};
constexpr db::Statement kRestorePlans{"restore_plans", R"(
SELECT set_config('plan_cache_mode', current_setting('kudos.plan_cache_mode'), true),
       set_config('enable_seqscan', current_setting('kudos.enable_seqscan'), true),
       set_config('jit', current_setting('kudos.jit'), true))"};
constexpr db::Statement kLockGate{"lock_gate", "SELECT pg_advisory_xact_lock_shared($1::bigint)"};
// A statement of its own behind the lock, so that its snapshot is younger. The transaction id is assigned before any
// sequence number is drawn (see kudos_assign_transaction_id).
constexpr db::Statement kReadMode{"read_mode", R"(
SELECT mode::text, current_setting('transaction_isolation'), pg_current_xact_id() IS NOT NULL
FROM @schema@.kudos_ledger_control)"};
constexpr db::Statement kFindEvents{"find_events", R"(
SELECT e.event_id, e.seq, e.request_digest,
       (SELECT max(p.hold_id) FROM @schema@.kudos_postings p WHERE p.event_seq = e.seq)
FROM @schema@.kudos_events e WHERE e.event_id = ANY ($1::uuid[]))"};
// Facts of users and workers stand in rows that folds don't rewrite (decision 0009).
#define KUDOS_USER_COLUMNS                                                          \
  "SELECT u.user_id, u.account_class, u.trusted, u.deleted, p.shortfall = 'debt', " \
  "(u.usage_multiplier * 10000)::bigint, u.suspicious, u.flagged, u.education "
#define KUDOS_USERS \
  "FROM @schema@.kudos_accounts u JOIN @schema@.kudos_account_policies p ON p.account_class = u.account_class "
constexpr db::Statement kUsersById{"users_by_id",
                                   KUDOS_USER_COLUMNS KUDOS_USERS "WHERE u.user_id = ANY ($1::integer[])"};
constexpr db::Statement kUsersByExternalId{
    "users_by_external_id", KUDOS_USER_COLUMNS ", u.external_id " KUDOS_USERS "WHERE u.external_id = ANY ($1::text[])"};
constexpr db::Statement kWorkersWithOwners{"workers_with_owners", KUDOS_USER_COLUMNS
                                           ", w.worker_id, w.team_id, w.worker_type " KUDOS_USERS
                                           "JOIN @schema@.kudos_worker_facts w ON w.user_id = u.user_id "
                                           "WHERE w.worker_id = ANY ($1::uuid[])"};
constexpr db::Statement kDrawSeqs{"draw_seqs",
                                  "SELECT nextval('@schema@.kudos_events_seq') FROM generate_series(1, $1::integer)"};

constexpr db::Statement kResolveUsers{
    "resolve_users", "SELECT external_id, user_id FROM @schema@.kudos_accounts WHERE external_id = ANY ($1::text[])"};
// The arrays come sorted.
constexpr db::Statement kLockPayers{
    "lock_payers", "SELECT pg_advisory_xact_lock($1::integer, payer.id) FROM unnest($2::integer[]) AS payer(id)"};
constexpr db::Statement kLockPairs{"lock_pairs", R"(
SELECT pg_advisory_xact_lock($1::integer, pair.key) FROM (
    SELECT DISTINCT @schema@.kudos_pair_key(a, b) AS key FROM unnest($2::integer[], $3::integer[]) AS x(a, b)
    ORDER BY key OFFSET 0) pair)"};
constexpr db::Statement kReadNow{"read_now",
                                 "SELECT clock_timestamp(), transfer_guard_seconds FROM @schema@.kudos_ledger_control"};
// Active holds and queued debits of each payer, where unapplied work can be. A hold counts with what remains of it or
// with the queued debits that name it, whichever is more; a queued debit that names no active hold counts for itself.
#define KUDOS_PROMISED \
  R"(
WITH map AS MATERIALIZED (
    SELECT frontier, gaps FROM @schema@.kudos_work_map
), queued AS MATERIALIZED (
    SELECT q.user_id, q.hold_id, -q.amount AS amount
    FROM unnest($1::integer[]) AS payer(id) CROSS JOIN LATERAL (
        SELECT p.event_seq, p.user_id, p.hold_id, p.amount FROM @schema@.kudos_postings p
        WHERE p.user_id = payer.id AND p.event_seq > (SELECT frontier FROM map) AND NOT p.escrow AND p.amount < 0
        UNION ALL
        SELECT p.event_seq, p.user_id, p.hold_id, p.amount
        FROM map CROSS JOIN LATERAL unnest(map.gaps) AS gap
        CROSS JOIN LATERAL (
            SELECT * FROM @schema@.kudos_postings
            WHERE user_id = payer.id AND event_seq >= lower(gap) AND event_seq < upper(gap) AND NOT escrow AND amount < 0
            OFFSET 0) p
    ) q
    WHERE (SELECT e.fold_id IS NULL AND NOT e.inline FROM @schema@.kudos_events e WHERE e.seq = q.event_seq)
), promised AS (
    SELECT user_id, greatest(sum(remaining), sum(queued)) AS amount FROM (
        SELECT user_id, hold_id, 0 AS remaining, amount AS queued FROM queued WHERE hold_id IS NOT NULL
        UNION ALL
        SELECT h.user_id, h.id, h.remaining_amount, 0 FROM unnest($1::integer[]) AS payer(id)
        CROSS JOIN LATERAL (SELECT * FROM @schema@.kudos_reservations
                            WHERE user_id = payer.id AND state = 'active' OFFSET 0) h
    ) claims GROUP BY user_id, hold_id
    UNION ALL SELECT user_id, amount FROM queued WHERE hold_id IS NULL
), sums AS (
    SELECT user_id, sum(amount) AS amount FROM promised GROUP BY user_id
)
SELECT u.id, u.kudos, coalesce(u.floor_override, p.floor), coalesce(s.amount, 0), p.shortfall::text)"
#define KUDOS_PAYERS \
  R"(
FROM @schema@.users u JOIN @schema@.kudos_account_policies p ON p.account_class = u.account_class
LEFT JOIN sums s ON s.user_id = u.id WHERE u.id = ANY ($1::integer[]))"
constexpr db::Statement kReadTerms{"read_terms", KUDOS_PROMISED KUDOS_PAYERS};
constexpr db::Statement kReadFunds{
    "read_funds", KUDOS_PROMISED ", u.evaluating_kudos, @schema@.kudos_queued(u.id, false)" KUDOS_PAYERS};
constexpr db::Statement kFindReverse{"find_reverse_transfers", R"(
SELECT x.payer, x.recipient FROM unnest($1::integer[], $2::integer[]) AS x(payer, recipient)
WHERE (SELECT true FROM @schema@.kudos_transfers t
       WHERE t.payer_id = x.recipient AND t.recipient_id = x.payer
         AND t.created > (SELECT clock_timestamp() - make_interval(secs => transfer_guard_seconds)
                          FROM @schema@.kudos_ledger_control)
       LIMIT 1))"};
constexpr db::Statement kFindRequests{"find_hold_requests", R"(
SELECT id, request_digest, hold_id, amount FROM @schema@.kudos_hold_requests WHERE id = ANY ($1::uuid[]))"};
constexpr db::Statement kDrawHolds{
    "draw_holds", "SELECT nextval('@schema@.kudos_reservations_id') FROM generate_series(1, $1::integer)"};
UserFacts read_user(const db::Rows& rows, int row) {
  UserFacts facts;
  facts.id = {rows.int32(row, 0)};
  facts.account_class = rows.text(row, 1);
  facts.trusted = rows.boolean(row, 2);
  facts.deleted = rows.boolean(row, 3);
  facts.may_owe = rows.boolean(row, 4);
  facts.usage_multiplier = rows.int64(row, 5);
  facts.suspicious = rows.boolean(row, 6);
  facts.flagged = rows.boolean(row, 7);
  facts.education = rows.boolean(row, 8);
  return facts;
}

void read_users_by_id(const db::Rows& rows, Directory& directory) {
  for (int row = 0; row < rows.size(); ++row) {
    const UserFacts facts = read_user(rows, row);
    directory.users.emplace(UserRef::number(facts.id), facts);
  }
}

void read_users_by_external_id(const db::Rows& rows, Directory& directory) {
  for (int row = 0; row < rows.size(); ++row)
    directory.users.emplace(UserRef::external(std::string(rows.text(row, 9))), read_user(rows, row));
}

void read_workers(const db::Rows& rows, Directory& directory) {
  for (int row = 0; row < rows.size(); ++row)
    directory.workers.emplace(
        rows.uuid(row, 9),
        WorkerFacts{read_user(rows, row), rows.optional(row, 10, &db::Rows::uuid), std::string(rows.text(row, 11))});
}

std::map<Uuid, StoredEvent> read_events(const db::Rows& rows) {
  std::map<Uuid, StoredEvent> events;
  for (int row = 0; row < rows.size(); ++row) {
    const std::int64_t hold = rows.is_null(row, 3) ? 0 : rows.int64(row, 3);
    events.emplace(rows.uuid(row, 0), StoredEvent{{rows.int64(row, 1)}, read_digest(rows, row, 2), hold});
  }
  return events;
}

db::Params array_of(const std::vector<Uuid>& ids) {
  auto array = db::Array::uuids();
  for (const Uuid& id : ids) array.add(id);
  return std::move(db::Params().add(array));
}

void queue_mode(db::Connection& connection, const LockKeys& keys) {
  connection.queue(kLockGate, db::Params().add(keys.mode_gate));
  connection.queue(kReadMode);
}

Result<Mode> read_mode(const db::Rows& rows) {
  if (rows.text(0, 1) != "read committed")
    return fail(ErrorCode::wrong_isolation_level,
                "the transaction is " + std::string(rows.text(0, 1)) + "; producers run at READ COMMITTED",
                "Begin it with BEGIN ISOLATION LEVEL READ COMMITTED: at other levels the snapshot is older than the "
                "locks, and two spends could pass on the same funds.");
  return rows.text(0, 0) == "ledger" ? Mode::ledger : Mode::shadow;
}

std::map<Uuid, StoredRequest> read_requests(const db::Rows& rows) {
  std::map<Uuid, StoredRequest> requests;
  for (int row = 0; row < rows.size(); ++row) {
    requests.emplace(rows.uuid(row, 0),
                     StoredRequest{*read_digest(rows, row, 1), rows.int64(row, 2), rows.amount(row, 3)});
  }
  return requests;
}

// The needs of admission, with users as numbers. What doesn't exist is left out: `decide` refuses it.
struct LockPlan {
  std::set<UserId> payers;
  std::set<Pair> pairs;
  std::set<std::string> holds;
};

bool needs_names(const AdmissionNeeds& needs) {
  const auto is_name = [](const UserRef& user) { return !user.id; };
  return !needs.payer_holds.empty() || std::ranges::any_of(needs.payers, is_name) ||
         std::ranges::any_of(needs.transfers,
                             [&](const auto& pair) { return is_name(pair.first) || is_name(pair.second); });
}

void collect_names(const UserRef& user, std::set<std::string>& names) {
  if (!user.id) names.insert(user.external_id);
}

class Resolver {
 public:
  // Names must be looked up before their locks can be taken; the holds' payers too. Queues the two statements.
  static void queue(db::Connection& connection, const AdmissionNeeds& needs) {
    std::set<std::string> names;
    for (const UserRef& payer : needs.payers) collect_names(payer, names);
    for (const auto& [payer, recipient] : needs.transfers) {
      collect_names(payer, names);
      collect_names(recipient, names);
    }
    auto wanted = db::Array::texts();
    for (const std::string& name : names) wanted.add(name);
    connection.queue(kResolveUsers, db::Params().add(wanted));
    queue_read_holds(connection, needs.payer_holds);
  }

  void take(const db::Rows& users, const db::Rows& holds) {
    for (int row = 0; row < users.size(); ++row) ids_.emplace(users.text(row, 0), UserId{users.int32(row, 1)});
    for (const auto& [id, hold] : read_holds(holds)) hold_payers_.insert(hold.payer);
  }

  LockPlan plan(const AdmissionNeeds& needs) const {
    LockPlan plan{hold_payers_, {}, needs.holds};
    plan.holds.insert(needs.payer_holds.begin(), needs.payer_holds.end());
    for (const UserRef& payer : needs.payers)
      if (const auto id = find(payer)) plan.payers.insert(*id);
    for (const auto& [payer, recipient] : needs.transfers) {
      const auto from = find(payer), to = find(recipient);
      if (from && to) plan.pairs.emplace(*from, *to);
    }
    return plan;
  }

 private:
  std::optional<UserId> find(const UserRef& user) const {
    if (user.id) return user.id;
    const auto found = ids_.find(user.external_id);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<std::string, UserId, std::less<>> ids_;
  std::set<UserId> hold_payers_;
};

db::Array payers_of(const LockPlan& plan) {
  auto payers = db::Array::int32s();
  for (const UserId payer : plan.payers) payers.add(payer);
  return payers;
}

std::pair<db::Array, db::Array> pairs_of(const LockPlan& plan) {
  auto payers = db::Array::int32s(), recipients = db::Array::int32s();
  for (const auto& [payer, recipient] : plan.pairs) {
    payers.add(payer);
    recipients.add(recipient);
  }
  return {std::move(payers), std::move(recipients)};
}

void queue_locks(db::Connection& connection, const LockKeys& keys, const LockPlan& plan) {
  if (!plan.payers.empty()) connection.queue(kLockPayers, db::Params().add(keys.payer_namespace).add(payers_of(plan)));
  if (!plan.pairs.empty()) {
    const auto [payers, recipients] = pairs_of(plan);
    connection.queue(kLockPairs, db::Params().add(keys.pair_namespace).add(payers).add(recipients));
  }
  // The last of the locks: their rows are read as the first of the reads.
  if (!plan.holds.empty()) queue_lock_holds(connection, plan.holds);
}

// Reads queued in one flush, each with what becomes of its rows.
class Reads {
 public:
  explicit Reads(db::Connection& connection) : connection_(connection) {}

  using Read = std::function<void(const db::Rows&)>;
  void add(const db::Statement& statement, db::Params params, Read read) {
    connection_.queue(statement, std::move(params));
    expect(std::move(read));
  }
  void expect(Read read) { reads_.push_back(std::move(read)); }  // of a statement that is queued already

  // `results` of the whole flush: these reads were its last statements.
  void take(const std::vector<db::Rows>& results) const {
    const std::size_t first = results.size() - reads_.size();
    for (std::size_t i = 0; i < reads_.size(); ++i) reads_[i](results[first + i]);
  }

 private:
  db::Connection& connection_;
  std::vector<Read> reads_;
};

void read_terms(const db::Rows& rows, DecisionState& state) {
  for (int row = 0; row < rows.size(); ++row)
    state.payers.emplace(UserId{rows.int32(row, 0)},
                         PayerTerms{rows.total(row, 1), rows.total(row, 2), rows.total(row, 3),
                                    *from_label<Shortfall>(rows.text(row, 4))});
}

UserFunds read_user_funds(const db::Rows& rows, UserId user) {
  DecisionState state;
  read_terms(rows, state);
  return {state.payers.at(user), rows.total(0, 5), rows.total(0, 6)};
}

void queue_admission(Reads& reads, db::Connection& connection, const LockPlan& plan, const EmissionNeeds& needs,
                     DecisionState& state) {
  reads.add(kReadNow, {}, [&](const db::Rows& rows) {
    state.now = rows.timestamp(0, 0);
    state.guards_transfers = rows.int32(0, 1) > 0;
  });
  if (!plan.payers.empty())
    reads.add(kReadTerms, std::move(db::Params().add(payers_of(plan))),
              [&](const db::Rows& rows) { read_terms(rows, state); });
  if (!plan.holds.empty()) {
    queue_read_holds(connection, plan.holds);
    reads.expect([&](const db::Rows& rows) { state.holds = read_holds(rows); });
  }
  if (!plan.pairs.empty()) {
    const auto [payers, recipients] = pairs_of(plan);
    state.locked_pairs = plan.pairs;
    reads.add(kFindReverse, std::move(db::Params().add(payers).add(recipients)), [&](const db::Rows& rows) {
      for (int row = 0; row < rows.size(); ++row)
        state.recent_transfers.emplace(UserId{rows.int32(row, 1)}, UserId{rows.int32(row, 0)});
    });
  }
  if (needs.new_holds > 0)
    reads.add(kDrawHolds, std::move(db::Params().add(needs.new_holds)), [&](const db::Rows& rows) {
      for (int row = 0; row < rows.size(); ++row) state.hold_ids.push_back(rows.int64(row, 0));
    });
  if (!needs.event_ids.empty())
    reads.add(kFindRequests, array_of(needs.event_ids),
              [&](const db::Rows& rows) { state.requests = read_requests(rows); });
}

void queue_lookups(Reads& reads, const LockPlan& plan, const EmissionNeeds& needs, DecisionState& state) {
  auto numbers = db::Array::int32s();
  auto names = db::Array::texts();
  for (const UserId payer : plan.payers) numbers.add(payer);
  for (const UserRef& user : needs.users) {
    if (user.id)
      numbers.add(*user.id);
    else
      names.add(user.external_id);
  }
  auto workers = db::Array::uuids();
  for (const Uuid& worker : needs.workers) workers.add(worker);
  if (!needs.event_ids.empty())
    reads.add(kFindEvents, array_of(needs.event_ids), [&](const db::Rows& rows) { state.events = read_events(rows); });
  if (numbers.size() > 0)
    reads.add(kUsersById, std::move(db::Params().add(numbers)),
              [&](const db::Rows& rows) { read_users_by_id(rows, state.directory); });
  if (names.size() > 0)
    reads.add(kUsersByExternalId, std::move(db::Params().add(names)),
              [&](const db::Rows& rows) { read_users_by_external_id(rows, state.directory); });
  if (workers.size() > 0)
    reads.add(kWorkersWithOwners, std::move(db::Params().add(workers)),
              [&](const db::Rows& rows) { read_workers(rows, state.directory); });
  reads.add(kDrawSeqs, std::move(db::Params().add(needs.events)), [&](const db::Rows& rows) {
    for (int row = 0; row < rows.size(); ++row) state.seqs.push_back({rows.int64(row, 0)});
  });
}

bool needs_admission(const AdmissionNeeds& needs) {
  return !needs.payers.empty() || !needs.holds.empty() || !needs.payer_holds.empty();
}

}  // namespace

void queue_keep_plans(db::Connection& connection) { connection.queue(kKeepPlans); }
void queue_restore_plans(db::Connection& connection) { connection.queue(kRestorePlans); }

Result<EmissionContext> load_for_emission(db::Connection& connection, const LockKeys& keys,
                                          const EmissionNeeds& needs) {
  EmissionContext context;
  Resolver resolver;
  // Where the answer to the mode is in the first flush.
  const std::size_t mode_at = needs.begin ? 2 : 1;
  if (needs.begin) connection.queue(db::kBegin);
  const bool pinned = needs_names(needs.admission);
  if (pinned) {
    queue_mode(connection, keys);
    Resolver::queue(connection, needs.admission);
    KUDOS_ASSIGN(const auto found, connection.flush());
    KUDOS_ASSIGN(context.mode, read_mode(found[mode_at]));
    resolver.take(found[mode_at + 1], found[mode_at + 2]);
  }
  const LockPlan plan = resolver.plan(needs.admission);
  if (!pinned) queue_mode(connection, keys);
  if (needs.keep_plans) queue_keep_plans(connection);
  queue_locks(connection, keys, plan);
  Reads reads(connection);
  if (!plan.holds.empty())
    reads.expect([&](const db::Rows& rows) { context.state.locked_holds = read_locked_holds(rows); });
  queue_lookups(reads, plan, needs, context.state);
  if (needs_admission(needs.admission)) queue_admission(reads, connection, plan, needs, context.state);
  if (needs.keep_plans) {
    queue_restore_plans(connection);
    reads.expect([](const db::Rows&) {});
  }
  KUDOS_ASSIGN(const auto results, connection.flush());
  if (!pinned) {
    KUDOS_ASSIGN(context.mode, read_mode(results[mode_at]));
  }
  reads.take(results);
  return context;
}

Result<UserFunds> load_funds(db::Connection& connection, const LockKeys& keys, UserId user) {
  KUDOS_TRY(pin_mode(connection, keys));
  auto users = db::Array::int32s();
  users.add(user);
  connection.queue(kLockPayers, db::Params().add(keys.payer_namespace).add(users));
  connection.queue(kReadFunds, db::Params().add(users));
  KUDOS_ASSIGN(const auto results, connection.flush());
  return read_user_funds(results[1], user);
}

Result<UserFunds> peek_funds(db::Connection& connection, UserId user) {
  auto users = db::Array::int32s();
  users.add(user);
  KUDOS_ASSIGN(const auto rows, connection.execute(kReadFunds, db::Params().add(users)));
  return read_user_funds(rows, user);
}

Result<Mode> pin_mode(db::Connection& connection, const LockKeys& keys) {
  queue_mode(connection, keys);
  KUDOS_ASSIGN(const auto results, connection.flush());
  return read_mode(results[1]);
}

Result<std::map<Uuid, StoredEvent>> find_events(db::Connection& connection, const std::vector<Uuid>& event_ids) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kFindEvents, array_of(event_ids)));
  return read_events(rows);
}

}  // namespace kudos::store
