// The projector: the one serialised writer that folds events into the read models.
//
// Any number may try; a cycle runs under a transaction-scoped advisory lock, so one works at a time in the whole
// installation. A cycle commits everything it did or nothing.
//
// Thread-safety: a Projector belongs to one thread; ProjectorLoop (projector_loop.h) runs one.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/seq_set.h"
#include "db/connection.h"
#include "kudos/error.h"
#include "kudos/ids.h"
#include "ledger/isolation.h"
#include "ledger/projector_trust.h"
#include "store/locks.h"
#include "store/projection.h"
#include "store/schema.h"
#include "store/stuck_events.h"

namespace kudos::ledger {

struct ProjectorOptions {
  std::int32_t batch_postings = 1000;               // KUDOS_APPLIER_BATCH_SIZE; at least one event is taken
  std::chrono::milliseconds interval{3000};         // KUDOS_APPLIER_INTERVAL (seconds): the idle tick
  std::int32_t max_catchup_cycles = 10;             // KUDOS_APPLIER_MAX_CATCHUP_CYCLES: cycles within a tick
  std::chrono::milliseconds shortest_interval{25};  // between folds while work arrives
  TrustPolicy trust = {};                           // KUDOS_TRUST_THRESHOLD (kudos): unset, nobody becomes trusted

  // Overrides from the environment; invalid_request names a variable that isn't a number in range.
  static Result<ProjectorOptions> from_environment();
};

// Where a cycle's time went.
enum class Phase : std::uint8_t { claim, load, lock, fold, write };
inline constexpr std::size_t kPhases = 5;
using PhaseTimes = std::array<std::chrono::nanoseconds, kPhases>;

struct CycleReport {
  std::int32_t events = 0;    // folded, those set aside and those applied inline included
  std::int32_t postings = 0;  // of these events
  std::int32_t floor_adjustments = 0;
  std::int32_t quarantined_events = 0;
  std::int32_t blocked_events = 0;  // left for later: a row they need is held by somebody else
  // Their folds failed although their neighbours' didn't: set apart by this call, to be tried again later. They are in
  // kudos_stuck_events until they fold.
  std::vector<store::StuckEvent> stuck_events;
  std::vector<Uuid> broken_events;  // their postings don't match their headers: left alone, never marked applied
  bool more = false;                // the batch was full: another cycle would find work
  FoldId fold;                      // 0 when nothing was folded
  PhaseTimes phases{};
};

class Projector {
 public:
  // `connection` is the projector's own: its session settings are changed.
  static Result<Projector> create(db::Connection connection, ProjectorOptions options);

  // One cycle: claim, load, lock, fold, write, commit. Fails with applier_busy when another projector works; after any
  // failure the transaction is rolled back and nothing has happened (or, with Recovery::in_doubt, the whole cycle has).
  //
  // When it fails again and again, a call goes on with smaller batches until one folds or the event that fails by
  // itself is found (`stuck_events`).
  Result<CycleReport> run_once();

  // One cheap statement without locks: whether a cycle would find or learn anything, and whether a hold is past its
  // deadline. For idle ticks between cycles; it beats the heart when that is due.
  Result<store::Work> has_work();

  // Ends holds whose deadline has passed, each under its payer's lock: when `due`, and else once a second. A failure is
  // rolled back; what somebody holds is left for the next time. How many ended.
  Result<std::int64_t> sweep_if_due(bool due);

  // After a cycle: trust promotion and the drain of escrow, when due. A failure is rolled back like a cycle's.
  Result<TrustReport> promote_if_due(const CycleReport& last);

  // How long the next cycle may wait at most when this one found nothing to fold.
  std::chrono::milliseconds longest_wait() const;

  // Events that are set apart now.
  std::size_t stuck_events() const { return isolation_.size(); }
  // Cycles rolled back since the last call, by kind.
  FailureCounts take_failures() { return std::exchange(failures_, {}); }

  db::Connection& connection() { return connection_; }

 private:
  Projector(db::Connection connection, ProjectorOptions options, store::EnumTypes types);
  Result<CycleReport> run_cycle(const store::ClaimLimits& limits);
  Result<CycleReport> recover(Error error);
  Result<CycleReport> try_alone(EventSeq seq);
  Result<CycleReport> set_aside(store::StuckEvent culprit, Error error);
  Status learn_stuck();
  FailureKind roll_back(const Error& error);
  void be_careful();
  Status lock_carefully(store::Claim& claim, CycleReport& report);
  Status prepare_claim(store::Claim& claim, CycleReport& report, store::LockedTargets& locked);
  Result<CycleReport> fold_and_commit(store::Claim claim, store::LockedTargets locked, CycleReport report);
  Status number_adjustments(FoldOutcome& outcome, Timestamp now);
  WorkMap next_map(const store::Claim& claim) const;
  store::ClaimLimits limits();
  void wake_rested();
  bool beat_is_due();
  void let_rest(const SeqSet& seqs);

  db::Connection connection_;
  ProjectorOptions options_;
  store::EnumTypes types_;
  store::LockKeys keys_;
  TrustRounds trust_;
  store::RowPlaces places_;               // forgotten with every cycle that failed
  std::optional<store::KnownMap> known_;  // nothing before its first cycle
  std::chrono::steady_clock::time_point next_beat_;
  double postings_per_event_ = 4;  // a running estimate that sizes the claim
  std::chrono::steady_clock::time_point next_sweep_;
  // Events that couldn't be folded because somebody held a row: tried again after a moment, so that they don't fill
  // every claim and stop the others.
  SeqSet resting_;
  std::chrono::steady_clock::time_point rest_until_;
  Isolation isolation_;
  FailureCounts failures_{};
  std::vector<store::StuckEvent> attempted_;  // by the cycle under way
  // Until then counter rows are locked in advance: somebody was found to hold some.
  std::chrono::steady_clock::time_point careful_until_;
  SeqSet own_seqs_;  // drawn for floor adjustments, beyond the frontier: known to be folded
};

}  // namespace kudos::ledger
