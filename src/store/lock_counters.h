// Counter rows (user_stats, user_records, worker_stats) that the fold adds to, locked in advance without waiting.
//
// Not needed for correctness: the upserts lock what they change. It costs a cycle a round trip, so the projector does
// it only while somebody is known to hold such rows.
//
// Thread-safety: belongs to the connection's thread.
#pragma once

#include <set>
#include <span>

#include "core/fold.h"
#include "db/connection.h"

namespace kudos::store {

// Rows that exist but are held by somebody else.
struct BlockedCounters {
  std::set<UserStatKey> user_stats;
  std::set<UserRecordKey> user_records;
  std::set<WorkerStatKey> worker_stats;

  bool empty() const { return user_stats.empty() && user_records.empty() && worker_stats.empty(); }
  bool blocks(const Event& event) const;
};

// Locks the existing rows that the events' statistics go to.
Result<BlockedCounters> lock_counters(db::Connection& connection, std::span<const Event> events);

}  // namespace kudos::store
