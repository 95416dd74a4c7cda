#include "ledger/isolation.h"

#include <algorithm>

namespace kudos::ledger {
namespace {

// How often a cycle may fail before the batch is halved. What usually passes by itself gets more patience.
constexpr std::int32_t kUnexpectedFailures = 2;
constexpr std::int32_t kPassingFailures = 5;
// From here on the batch isn't limited any more: more events than a default batch holds.
constexpr std::int32_t kLargeBatch = 1024;
constexpr std::int32_t kManyCulprits = 3;
constexpr std::size_t kMostStuck = 1000;
constexpr std::chrono::seconds kFirstRest{1};
constexpr std::chrono::seconds kLongestRest{300};

std::int32_t patience(FailureKind kind) {
  return kind == FailureKind::unexpected ? kUnexpectedFailures : kPassingFailures;
}

}  // namespace

bool Isolation::failed(FailureKind kind, std::int32_t events) {
  // No event is to blame for these, or none is known.
  if (kind == FailureKind::connection || kind == FailureKind::in_doubt || events == 0) return false;
  if (at_most_ == kNoLimit && ++failures_in_a_row_ < patience(kind)) return false;
  at_most_ = std::max(1, events / 2);
  if (events == 1) ++culprits_in_a_row_;
  return true;
}

void Isolation::succeeded() {
  failures_in_a_row_ = culprits_in_a_row_ = 0;
  if (at_most_ != kNoLimit) at_most_ = at_most_ >= kLargeBatch ? kNoLimit : at_most_ * 2;
}

void Isolation::set_aside(EventSeq seq, std::int32_t attempts, Clock::time_point now) {
  const auto rest = std::min(kLongestRest, kFirstRest * (1 << std::clamp(attempts - 1, 0, 9)));
  stuck_[seq] = now + rest;
}

void Isolation::folded(const SeqSet& seqs) {
  std::erase_if(stuck_, [&](const auto& entry) { return seqs.contains(entry.first); });
}

void Isolation::keep_only(const SeqSet& seqs) {
  std::erase_if(stuck_, [&](const auto& entry) { return !seqs.contains(entry.first); });
}

bool Isolation::is_doubtful() const { return culprits_in_a_row_ >= kManyCulprits; }
bool Isolation::is_full() const { return stuck_.size() >= kMostStuck; }

SeqSet Isolation::stuck() const {
  std::vector<EventSeq> seqs;
  for (const auto& [seq, retry_at] : stuck_) seqs.push_back(seq);
  return SeqSet::of(seqs);
}

std::optional<EventSeq> Isolation::due(Clock::time_point now) const {
  const auto found = std::ranges::find_if(stuck_, [&](const auto& entry) { return entry.second <= now; });
  if (found == stuck_.end()) return std::nullopt;
  return found->first;
}

}  // namespace kudos::ledger
