#include "store/decisions.h"

#include <algorithm>

#include "base/try.h"
#include "store/codec.h"
#include "store/emission.h"
#include "store/event_writer.h"
#include "store/holds.h"

namespace kudos::store {
namespace {

// One probe an event: an EXISTS would tempt the planner into reading the whole table.
constexpr db::Statement kRequireStored{"require_stored", R"(
SELECT @schema@.kudos_require_alone(bool_and((SELECT true FROM @schema@.kudos_events e WHERE e.seq = x.seq) IS NOT NULL),
                                    'another transaction has just used the same idempotency key')
FROM unnest($1::bigint[]) AS x(seq))"};
constexpr db::Statement kInsertRequests{"insert_hold_requests", R"(
WITH made AS (
    INSERT INTO @schema@.kudos_hold_requests (id, request_digest, hold_id, amount)
    SELECT * FROM unnest($1::uuid[], $2::bytea[], $3::bigint[], $4::numeric[])
    ON CONFLICT (id) DO NOTHING RETURNING 1)
SELECT @schema@.kudos_require_alone((SELECT count(*) FROM made) = $5::integer,
                                    'another transaction has just used the same idempotency key'))"};
constexpr db::Statement kInsertTransfers{"insert_transfers", R"(
INSERT INTO @schema@.kudos_transfers (event_seq, created, payer_id, recipient_id, amount)
SELECT x.seq, $5::timestamptz, x.payer, x.recipient, x.amount
FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::numeric[]) AS x(seq, payer, recipient, amount))"};

// In the order of event ids, so that two batches with the same keys meet without a deadlock.
std::vector<const DecidedEvent*> storage_order(const std::vector<DecidedEvent>& events) {
  std::vector<const DecidedEvent*> order;
  for (const DecidedEvent& event : events) order.push_back(&event);
  std::ranges::sort(order, {}, [](const DecidedEvent* decided) { return decided->event.id; });
  return order;
}

void queue_stored_check(db::Connection& connection, const std::vector<DecidedEvent>& events) {
  auto seqs = db::Array::int64s();
  for (const DecidedEvent& decided : events) seqs.add(decided.event.seq);
  connection.queue(kRequireStored, db::Params().add(seqs));
}

void queue_requests(db::Connection& connection, std::vector<DecidedRequest> requests) {
  if (requests.empty()) return;
  std::ranges::sort(requests, {}, &DecidedRequest::id);
  auto ids = db::Array::uuids();
  auto digests = db::Array::bytes();
  auto holds = db::Array::int64s();
  auto amounts = db::Array::numerics();
  for (const auto& [id, request] : requests) {
    ids.add(id);
    digests.add(bytes_of(request.request_digest));
    holds.add(request.hold);
    amounts.add(request.amount);
  }
  connection.queue(kInsertRequests, db::Params().add(ids).add(digests).add(holds).add(amounts).add(ids.size()));
}

void queue_transfers(db::Connection& connection, const std::vector<DecidedTransfer>& transfers, Timestamp now) {
  if (transfers.empty()) return;
  auto seqs = db::Array::int64s();
  auto payers = db::Array::int32s(), recipients = db::Array::int32s();
  auto amounts = db::Array::numerics();
  for (const DecidedTransfer& transfer : transfers) {
    seqs.add(transfer.seq);
    payers.add(transfer.pair.first);
    recipients.add(transfer.pair.second);
    amounts.add(transfer.amount);
  }
  connection.queue(kInsertTransfers, db::Params().add(seqs).add(payers).add(recipients).add(amounts).add(now));
}

}  // namespace

Result<std::unordered_set<EventSeq>> store_decisions(db::Connection& connection, const EnumTypes& types,
                                                     const Decisions& decisions,
                                                     std::span<const std::string_view> metadata, StoreOptions options) {
  if (decisions.events.empty() && !decisions.has_side_effects() && !options.commit)
    return std::unordered_set<EventSeq>{};
  if (options.keep_plans) queue_keep_plans(connection);
  EventWriter writer(types);
  for (const DecidedEvent* decided : storage_order(decisions.events))
    writer.add(decided->event, metadata[decided->command]);
  if (!writer.empty()) {
    writer.queue(connection);
    if (decisions.has_side_effects()) queue_stored_check(connection, decisions.events);
  }
  // Ends before beginnings: an id that comes back must be free.
  queue_changed_holds(connection, decisions.changed_holds, decisions.now);
  queue_requests(connection, decisions.requests);
  queue_new_holds(connection, decisions.new_holds, decisions.now);
  queue_transfers(connection, decisions.transfers, decisions.now);
  if (options.keep_plans) queue_restore_plans(connection);
  if (options.commit) connection.queue(db::kCommit);
  KUDOS_ASSIGN(const auto results, connection.flush());
  if (writer.empty()) return std::unordered_set<EventSeq>{};
  return EventWriter::stored_seqs(results[options.keep_plans ? 1 : 0]);
}

}  // namespace kudos::store
