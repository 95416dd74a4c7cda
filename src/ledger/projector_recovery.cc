// What the projector does when a cycle fails: roll back, try smaller batches, set the culprit apart.
#include "base/try.h"
#include "ledger/projector.h"

namespace kudos::ledger {

Result<CycleReport> Projector::run_once() {
  if (const auto seq = isolation_.due(Isolation::Clock::now())) return try_alone(*seq);
  auto report = run_cycle(limits());
  if (!report) return recover(std::move(report).error());
  isolation_.succeeded();
  return report;
}

// After a failure, rolled back or lost: what it was, counted.
FailureKind Projector::roll_back(const Error& error) {
  connection_.roll_back();
  places_ = {};
  const FailureKind kind = failure_kind(error);
  if (error.code != ErrorCode::applier_busy) ++failures_[static_cast<std::size_t>(kind)];
  if (kind == FailureKind::lock_timeout) be_careful();
  return kind;
}

// Plain failures are the caller's to retry after a pause. When they repeat, smaller batches are run at once, so that
// the others don't wait for a pause each.
Result<CycleReport> Projector::recover(Error error) {
  for (;;) {
    const FailureKind kind = roll_back(error);
    if (error.code == ErrorCode::applier_busy || connection_.is_broken()) return std::unexpected(std::move(error));
    if (!isolation_.failed(kind, static_cast<std::int32_t>(attempted_.size())))
      return std::unexpected(std::move(error));
    if (attempted_.size() == 1) return set_aside(attempted_.front(), std::move(error));
    // Another projector may have found culprits before.
    KUDOS_TRY(learn_stuck());
    auto report = run_cycle(limits());
    if (report) {
      isolation_.succeeded();
      report->more = true;  // what was cut off
      return report;
    }
    error = std::move(report).error();
  }
}

// The cycle of this one event has failed, and was rolled back.
Result<CycleReport> Projector::set_aside(store::StuckEvent culprit, Error error) {
  if (isolation_.is_full()) return std::unexpected(std::move(error));
  KUDOS_ASSIGN(culprit.attempts, store::note_stuck(connection_, culprit.seq, culprit.id, error));
  isolation_.set_aside(culprit.seq, culprit.attempts, Isolation::Clock::now());
  // When nothing folds, it may not be the events: the caller pauses before the next one is tried.
  if (isolation_.is_doubtful()) return std::unexpected(std::move(error));
  CycleReport report;
  report.stuck_events.push_back(culprit);
  report.more = true;
  return report;
}

Result<CycleReport> Projector::try_alone(EventSeq seq) {
  auto limited = limits();
  limited.only = seq;
  auto report = run_cycle(limited);
  if (!report) {
    const FailureKind kind = roll_back(report.error());
    const bool its_own_fault = attempted_.size() == 1 && report.error().code != ErrorCode::applier_busy &&
                               kind != FailureKind::connection && kind != FailureKind::in_doubt;
    if (!its_own_fault) return report;
    return set_aside(attempted_.front(), std::move(report).error());
  }
  if (report->events == 0) {
    // Somebody holds it, or another projector has folded it.
    isolation_.set_aside(seq, 1, Isolation::Clock::now());
    KUDOS_TRY(learn_stuck());
  }
  report->more = true;  // this one says nothing of the others
  return report;
}

// Takes over what other projectors found, and forgets what they folded.
Status Projector::learn_stuck() {
  KUDOS_ASSIGN(const auto listed, store::load_stuck(connection_));
  std::vector<EventSeq> seqs;
  for (const auto& event : listed) seqs.push_back(event.seq);
  isolation_.keep_only(SeqSet::of(seqs));
  for (const auto& event : listed)
    if (!isolation_.stuck().contains(event.seq)) isolation_.set_aside(event.seq, 1, Isolation::Clock::now());
  return {};
}

}  // namespace kudos::ledger
