// Load and store for holds (kudos_reservations).
//
// Thread-safety: belongs to the connection's thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/hold.h"
#include "db/connection.h"
#include "store/locks.h"

namespace kudos::store {

HoldState read_hold_state(std::string_view label);

// Queues the statement that locks the active holds under these business ids; then, in a later statement, the one that
// reads of each id the active hold, else the last. Events' own holds aren't found.
void queue_lock_holds(db::Connection& connection, const std::set<std::string>& business_ids);
void queue_read_holds(db::Connection& connection, const std::set<std::string>& business_ids);
std::set<std::int64_t> read_locked_holds(const db::Rows& rows);
std::map<std::string, Hold> read_holds(const db::Rows& rows);

// Queues what stores holds decided at `now`: new ones, refused with a serialization failure when another transaction
// has taken an id meanwhile, and new values of locked ones. Nothing for an empty map.
void queue_new_holds(db::Connection& connection, const std::map<std::int64_t, Hold>& holds, Timestamp now);
void queue_changed_holds(db::Connection& connection, const std::map<std::int64_t, Hold>& holds, Timestamp now);
// The same for what a fold changes: `consumed` and the state.
void queue_folded_holds(db::Connection& connection, const std::map<std::int64_t, Hold>& holds);

// A hold as people see it.
struct HoldRow {
  Hold hold;
  Timestamp created;
  std::optional<Timestamp> ended;
};
struct HoldFilter {
  std::optional<HoldState> state = {};
  std::optional<UserId> payer = {};
  std::optional<std::string> business_id = {};
  std::optional<std::int64_t> number = {};  // kudos_reservations.id
  bool own_of_events = false;               // also those that belong to an event
  std::int32_t limit = 100;
};
// The newest first.
Result<std::vector<HoldRow>> list_holds(db::Connection& connection, const HoldFilter& filter);

// Ends, in a transaction of its own, up to `limit` holds whose deadline has passed, as a producer would: gate, payers,
// holds, the clock read after the locks. A payer that somebody works for is left for the next time. How many ended.
Result<std::int64_t> sweep_holds(db::Connection& connection, const LockKeys& keys, std::int32_t limit);

}  // namespace kudos::store
