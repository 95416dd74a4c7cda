// Finds the event that makes a fold fail: the batch is halved until one event is left, while everything before it
// folds. Keeps the list of events that were found and when each is tried again. No database.
//
// Thread-safety: belongs to the projector's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "core/seq_set.h"
#include "ledger/failure.h"

namespace kudos::ledger {

class Isolation {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int32_t kNoLimit = std::numeric_limits<std::int32_t>::max();

  // Events that the next claim may take.
  std::int32_t at_most() const { return at_most_; }

  // A cycle that claimed `events` was rolled back. True when it is worth running a smaller one at once, or, with one
  // event, when that is the culprit: then `set_aside` follows. False: a plain failure, to be tried again after a pause.
  bool failed(FailureKind kind, std::int32_t events);
  void succeeded();

  // A culprit rests, longer with each attempt.
  void set_aside(EventSeq seq, std::int32_t attempts, Clock::time_point now);
  void folded(const SeqSet& seqs);
  void keep_only(const SeqSet& seqs);
  // Several culprits without a success between them: perhaps it isn't the events. Pause before the next attempt.
  bool is_doubtful() const;
  // So many that nobody else is set aside.
  bool is_full() const;
  std::size_t size() const { return stuck_.size(); }

  SeqSet stuck() const;
  // One whose rest is over: tried alone.
  std::optional<EventSeq> due(Clock::time_point now) const;

 private:
  std::int32_t at_most_ = kNoLimit;
  std::int32_t failures_in_a_row_ = 0;
  std::int32_t culprits_in_a_row_ = 0;
  std::map<EventSeq, Clock::time_point> stuck_;  // and when each is tried again
};

}  // namespace kudos::ledger
