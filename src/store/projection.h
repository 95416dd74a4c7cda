// Load and store for the fold: claim events, read them whole, lock their targets, write what the fold decided.
//
// All of it runs inside one transaction under the applier lock. Nothing here waits for a row that somebody else holds:
// what is locked is skipped, and the events that need it are folded by a later cycle.
//
// Thread-safety: belongs to the connection's thread.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/canonical.h"
#include "core/fold.h"
#include "core/work_map.h"
#include "db/connection.h"
#include "kudos/session.h"
#include "store/locks.h"
#include "store/schema.h"

namespace kudos::store {

// The last journal row.
struct JournalHead {
  FoldId fold;      // 0 before the first fold
  Digest digest{};  // zeros before the first fold
};

// Where events stand, as a set.
SeqSet seqs_of(std::span<const Event> events);

// Makes the state row again if it was lost; without it the projector looks everywhere.
Status ensure_state(db::Connection& connection);

// What the first round trip of a cycle learns.
struct Claim {
  Mode mode = Mode::ledger;
  Timestamp now;  // the database's clock
  JournalHead head;
  WorkMap map;
  std::vector<Event> events;         // locked; headers only until `load_postings`; in sequence order
  std::vector<std::int32_t> counts;  // postings of each, as its header says
  std::int64_t highest_seen = 0;     // how far behind the frontier was looked; what wasn't claimed becomes a gap
  SeqSet held;                       // in the gaps, to be tried, but locked by somebody else
  SeqSet pending_in_gaps;            // unapplied events that exist in the gaps
  bool gaps_cut_short = false;       // there were more than could be listed
  bool more = false;                 // unapplied events were left behind for the next cycle
  std::uint64_t snapshot_xmin = 0;
  std::uint64_t snapshot_xmax = 0;
};

struct ClaimLimits {
  bool forget_map = false;       // look everywhere: on a projector's first cycle, when the map is in doubt
  SeqSet resting;                // in the gaps, but tried a moment ago in vain: not tried now
  std::int32_t postings = 1000;  // at most, but at least one event
  std::int32_t events = 200;     // how many headers to look at; an estimate of what fits `postings`
};

// Begins a transaction, takes the applier lock and the mode gate, and claims. Fails with applier_busy when another
// projector works; the caller rolls back after any failure.
Result<Claim> begin_and_claim(db::Connection& connection, const LockKeys& keys, const ClaimLimits& limits);

// Fills in the postings of events. Those whose postings don't match their header are broken facts: returned, to be left
// alone.
Result<std::vector<Uuid>> load_postings(db::Connection& connection, std::span<Event> events,
                                        std::span<const std::int32_t> counts);

struct LockedTargets {
  FoldTargets targets;
  // Rows that exist but are held by somebody else.
  std::unordered_set<UserId> blocked_users;
  std::unordered_set<Uuid> blocked_workers;
  std::unordered_set<Uuid> blocked_teams;
  std::unordered_set<std::int64_t> blocked_holds;

  bool blocks_any() const {
    return !blocked_users.empty() || !blocked_workers.empty() || !blocked_teams.empty() || !blocked_holds.empty();
  }
  bool blocks(const Event& event) const;
};

// Locks the rows that the events' effects need, without waiting, and reads them.
Result<LockedTargets> lock_targets(db::Connection& connection, std::span<const Event> events);

// One row of the journal.
struct JournalRow {
  FoldId fold;
  Timestamp folded_at;
  std::int32_t events = 0, postings = 0, stat_postings = 0, inline_events = 0, quarantined_events = 0,
               floor_adjustments = 0;
  SeqSet seqs;
  Digest digest{};
  Digest previous{};
};

// Draws sequence numbers for the events that the fold itself makes.
Result<std::vector<EventSeq>> draw_seqs(db::Connection& connection, std::int32_t count);

// Writes the outcome, the applied marks, the journal row and the state, and commits: one round trip. `outcome`'s floor
// adjustments have their sequence numbers.
Status write_and_commit(db::Connection& connection, const EnumTypes& types, const FoldOutcome& outcome,
                        std::span<const Event> folded, const JournalRow& row, const WorkMap& map);

// Nothing to fold: beats the heart, stores the map, commits.
Status beat_and_commit(db::Connection& connection, const WorkMap& map);

}  // namespace kudos::store
