// Load and store for producers: what `produce` needs, in one round trip.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/produce.h"
#include "db/connection.h"
#include "kudos/session.h"
#include "store/locks.h"

namespace kudos::store {

struct EmissionNeeds {
  std::set<UserRef> users;
  std::set<Uuid> workers;
  std::vector<Uuid> event_ids;  // of commands with an idempotency key
  std::int32_t events = 0;      // how many sequence numbers to draw
};

struct StoredEvent {
  EventSeq seq;
  std::optional<Digest> request_digest;
};

struct EmissionContext {
  Mode mode = Mode::shadow;
  Directory directory;
  std::map<Uuid, StoredEvent> stored;  // of `event_ids`, those that exist
  std::vector<EventSeq> seqs;
};

// Takes the mode gate (shared), then reads all of it, inside the open transaction. Refuses another isolation level than
// READ COMMITTED (wrong_isolation_level): the snapshot would be older than the gate.
Result<EmissionContext> load_for_emission(db::Connection& connection, const LockKeys& keys, const EmissionNeeds& needs);

// Just the gate and the mode.
Result<Mode> pin_mode(db::Connection& connection, const LockKeys& keys);

// Looks again for events, after a twin was found to have stored them first.
Result<std::map<Uuid, StoredEvent>> find_events(db::Connection& connection, const std::vector<Uuid>& event_ids);

}  // namespace kudos::store
