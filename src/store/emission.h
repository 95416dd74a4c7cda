// Load for producers: the locks and all that `decide` needs, in one round trip, or two when names must be resolved
// before their locks can be taken.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/decide.h"
#include "db/connection.h"
#include "kudos/session.h"
#include "store/locks.h"

namespace kudos::store {

struct EmissionNeeds {
  std::set<UserRef> users;
  std::set<Uuid> workers;
  std::vector<Uuid> event_ids;  // of commands with an idempotency key or a fixed id
  std::int32_t events = 0;      // how many sequence numbers to draw
  std::int32_t new_holds = 0;   // how many numbers of holds to draw
  bool begin = false;           // begin a transaction first, in the same round trip
  bool keep_plans = false;      // on a session that isn't ours
  AdmissionNeeds admission;
};

struct EmissionContext {
  Mode mode = Mode::shadow;
  DecisionState state;
};

// Takes the mode gate (shared), the payers' locks, the pairs' locks and the holds' rows, in this order and each in its
// own order, then reads all that a decision needs in later statements, inside the open transaction. Refuses another
// isolation level than READ COMMITTED (wrong_isolation_level): the snapshot would be older than the locks.
Result<EmissionContext> load_for_emission(db::Connection& connection, const LockKeys& keys, const EmissionNeeds& needs);

// One user's balance, escrow and terms, under the payer's lock.
struct UserFunds {
  PayerTerms terms;
  Total escrow;
  Total queued;  // all queued changes of the spendable balance
};
Result<UserFunds> load_funds(db::Connection& connection, const LockKeys& keys, UserId user);
// The same without any lock, for answers to people: true when it was read, and never a reason to spend.
Result<UserFunds> peek_funds(db::Connection& connection, UserId user);

// Our statements take arrays, for which the planner would make a new plan at every call: dearer than the statement
// itself. Between these two, in one flush, it keeps one plan for each; the caller's own settings are as they were
// afterwards.
void queue_keep_plans(db::Connection& connection);
void queue_restore_plans(db::Connection& connection);

// Just the gate and the mode.
Result<Mode> pin_mode(db::Connection& connection, const LockKeys& keys);

using StoredEvents = std::map<Uuid, StoredEvent>;

// Looks again for events, after a twin was found to have stored them first.
Result<StoredEvents> find_events(db::Connection& connection, const std::vector<Uuid>& event_ids);

}  // namespace kudos::store
