// The durable list of events that can't be folded although their neighbours can: what an operator sees from another
// process, and what the next projector needs to know.
//
// Thread-safety: belongs to the connection's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "db/connection.h"
#include "kudos/ids.h"
#include "kudos/uuid.h"

namespace kudos::store {

struct StuckEvent {
  EventSeq seq;
  Uuid id;
  std::int32_t attempts = 0;  // folds that failed because of it
};

// Those that are still unapplied; forgets those that another projector has folded.
Result<std::vector<StuckEvent>> load_stuck(db::Connection& connection);

// Notes one more failure, outside of any transaction; the number of attempts so far.
Result<std::int32_t> note_stuck(db::Connection& connection, EventSeq seq, const Uuid& id, const Error& error);

// Queues the removal of events that the transaction folds.
void queue_unstick(db::Connection& connection, const std::vector<EventSeq>& seqs);

}  // namespace kudos::store
