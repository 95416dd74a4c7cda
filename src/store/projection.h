// Load and store for the fold: claim events, read them whole, lock their targets, write what the fold decided.
//
// All of it runs inside one transaction under the applier lock. Nothing here waits for a row that somebody else holds:
// what is locked is skipped, and the events that need it are folded by a later cycle.
//
// Thread-safety: belongs to the connection's thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
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
#include "store/row_places.h"
#include "store/schema.h"

namespace kudos::store {

// The last journal row.
struct JournalHead {
  FoldId fold;      // 0 before the first fold
  Digest digest{};  // zeros before the first fold
};

// Where events stand, as a set.
SeqSet seqs_of(std::span<const Event> events);

// Makes the state row, which holds the heartbeat, again if it was lost.
Status ensure_state(db::Connection& connection);

// Where work can be, as the projector knows it while `fold` is the last of the journal. It may be newer than what that
// fold published: cycles that fold nothing learn too, and nothing is written for it (decision 0006).
struct KnownMap {
  FoldId fold;
  WorkMap map;
};

// What the first round trip of a cycle learns.
struct Claim {
  Mode mode = Mode::ledger;
  Timestamp now;  // the database's clock
  JournalHead head;
  WorkMap map;                       // what the claim went by
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
  // Nothing: take the journal's map, after a look at everything below its frontier for events that it doesn't cover.
  std::optional<KnownMap> known;
  SeqSet resting;                // tried a moment ago in vain: not tried now
  std::optional<EventSeq> only;  // just this one, wherever it is
  std::int32_t postings = 1000;  // at most, but at least one event
  std::int32_t events = 200;     // how many headers to look at; an estimate of what fits `postings`
  std::int32_t at_most = std::numeric_limits<std::int32_t>::max();  // events
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

// Locks the rows that the events' effects need, without waiting, and reads them. `places` says where to look first; the
// places of all locked users, workers and teams are in it afterwards.
Result<LockedTargets> lock_targets(db::Connection& connection, std::span<const Event> events, RowPlaces& places);

// One row of the journal.
struct JournalRow {
  FoldId fold;
  Timestamp folded_at;
  std::int32_t events = 0, postings = 0, stat_postings = 0, inline_events = 0, quarantined_events = 0,
               floor_adjustments = 0;
  SeqSet seqs;
  Digest digest{};
  Digest previous{};
  WorkMap map;                    // after the fold
  std::vector<EventSeq> unstuck;  // among `seqs`: had been set aside as stuck
};

// Draws sequence numbers for the events that the fold itself makes.
Result<std::vector<EventSeq>> draw_seqs(db::Connection& connection, std::int32_t count);

// Writes the outcome, the applied marks and the journal row, and commits: one round trip. The journal row is the
// heartbeat too. `outcome`'s floor adjustments have their sequence numbers. `places` are those that `lock_targets`
// left; they are brought up to date.
Status write_and_commit(db::Connection& connection, const EnumTypes& types, const FoldOutcome& outcome,
                        std::span<const Event> folded, const JournalRow& row, RowPlaces& places);

// Nothing to fold: commits, with a heartbeat if `beat`.
Status commit_idle(db::Connection& connection, bool beat);

// The idle tick, one statement without a transaction of its own or a lock: whether there is anything to claim or to
// learn, and whether a hold's deadline has passed; with a heartbeat if `beat`.
struct Work {
  bool events = false;
  bool due_holds = false;
};
Result<Work> has_work(db::Connection& connection, const KnownMap& known, const SeqSet& resting, bool beat);

}  // namespace kudos::store
