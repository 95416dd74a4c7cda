#include "ledger/projector.h"

#include <algorithm>

#include "base/try.h"
#include "core/fold.h"
#include "store/holds.h"
#include "store/lock_counters.h"

namespace kudos::ledger {
namespace {

// Plans must not depend on how fresh the statistics are, and a projector that is stopped or cut off must lose its lock:
// the server ends a transaction that idles for 5 s, a statement after 30 s, and a connection whose other end is gone
// after 20 s. A wait for a row ends before the deadlock detector would look for a victim among the hosts.
constexpr const char* kSessionSettings = R"(
SET enable_seqscan = off; SET jit = off; SET lock_timeout = '300ms'; SET statement_timeout = '30s';
SET idle_in_transaction_session_timeout = '5s'; SET client_connection_check_interval = '5s';
SET tcp_user_timeout = '20s'; SET tcp_keepalives_idle = '10s'; SET tcp_keepalives_interval = '5s';
SET tcp_keepalives_count = 2)";

class Stopwatch {
 public:
  explicit Stopwatch(std::chrono::nanoseconds& total) : total_(total) {}
  ~Stopwatch() { total_ += std::chrono::steady_clock::now() - start_; }

 private:
  std::chrono::nanoseconds& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// How long an event that somebody blocks is left alone.
constexpr std::chrono::milliseconds kRest{200};

constexpr std::chrono::seconds kSweepInterval{1};
constexpr std::int32_t kMostSwept = 500;
// The shortest time between two heartbeats without a fold.
constexpr std::chrono::milliseconds kBeat{1000};
// How long counter rows are locked in advance after somebody was found to hold some.
constexpr std::chrono::seconds kCareful{10};

std::chrono::nanoseconds& time_of(CycleReport& report, Phase phase) {
  return report.phases[static_cast<std::size_t>(phase)];
}

// Events whose rows somebody else holds wait for a later cycle.
void set_blocked_aside(store::Claim& claim, const store::LockedTargets& locked, CycleReport& report) {
  if (!locked.blocks_any()) return;
  const auto blocked = std::erase_if(claim.events, [&](const Event& event) { return locked.blocks(event); });
  report.blocked_events += static_cast<std::int32_t>(blocked);
}

store::JournalRow journal_row(const store::Claim& claim, const FoldOutcome& outcome) {
  store::JournalRow row;
  row.fold = {claim.head.fold.value + 1};
  row.folded_at = claim.now;
  row.previous = claim.head.digest;
  row.floor_adjustments = static_cast<std::int32_t>(outcome.floor_adjustments.size());
  row.quarantined_events = static_cast<std::int32_t>(outcome.quarantined.size());
  FoldDigest digest(row.fold, row.previous);
  auto quarantined = outcome.quarantined.begin();
  for (const Event& event : claim.events) {
    row.events += 1;
    row.postings += static_cast<std::int32_t>(event.postings.size());
    row.stat_postings += static_cast<std::int32_t>(event.statistics.size());
    row.inline_events += event.applied_inline ? 1 : 0;
    const bool set_aside = quarantined != outcome.quarantined.end() && quarantined->seq == event.seq;
    if (set_aside)
      digest.add(event, Disposition::set_aside, label((quarantined++)->reason));
    else
      digest.add(event, event.applied_inline ? Disposition::inline_only : Disposition::applied);
  }
  for (const Event& event : outcome.floor_adjustments) {
    digest.add(event, Disposition::born);
  }
  row.seqs = store::seqs_of(claim.events) | store::seqs_of(outcome.floor_adjustments);
  row.digest = digest.finish();
  return row;
}

}  // namespace

Projector::Projector(db::Connection connection, ProjectorOptions options, store::EnumTypes types)
    : connection_(std::move(connection)),
      options_(options),
      types_(types),
      keys_(store::lock_keys(connection_.options().schema)),
      trust_(options_.trust) {}

Result<Projector> Projector::create(db::Connection connection, ProjectorOptions options) {
  KUDOS_TRY(store::check_schema(connection));
  KUDOS_ASSIGN(const auto types, store::load_enum_types(connection));
  KUDOS_TRY(store::ensure_state(connection));
  KUDOS_TRY(connection.run_script(kSessionSettings));
  Projector projector(std::move(connection), options, types);
  KUDOS_TRY(projector.learn_stuck());
  return projector;
}

void Projector::let_rest(const SeqSet& seqs) {
  if (seqs.empty()) return;
  if (resting_.empty()) rest_until_ = std::chrono::steady_clock::now() + kRest;
  resting_ = resting_ | seqs;
}

void Projector::wake_rested() {
  if (std::chrono::steady_clock::now() >= rest_until_) resting_ = {};
}

bool Projector::beat_is_due() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_beat_) return false;
  next_beat_ = now + kBeat;
  return true;
}

store::ClaimLimits Projector::limits() {
  wake_rested();
  const double events = options_.batch_postings / std::max(1.0, postings_per_event_);
  return {.known = known_,
          .resting = resting_ | isolation_.stuck(),
          .only = {},
          .postings = options_.batch_postings,
          .events = static_cast<std::int32_t>(events * 1.25) + 8,
          .at_most = isolation_.at_most()};
}

Result<TrustReport> Projector::promote_if_due(const CycleReport& last) {
  return trust_.run_if_due(connection_, keys_, types_, last.events > 0 && !last.more);
}

Result<std::int64_t> Projector::sweep_if_due(bool due) {
  const auto now = std::chrono::steady_clock::now();
  if (!due && now < next_sweep_) return 0;
  next_sweep_ = now + kSweepInterval;
  auto swept = store::sweep_holds(connection_, keys_, kMostSwept);
  if (!swept) connection_.roll_back();
  return swept;
}

Result<store::Work> Projector::has_work() {
  if (!known_) return store::Work{.events = true};
  wake_rested();
  if (isolation_.due(std::chrono::steady_clock::now())) return store::Work{.events = true};
  return store::has_work(connection_, *known_, resting_ | isolation_.stuck(), beat_is_due());
}

std::chrono::milliseconds Projector::longest_wait() const {
  return resting_.empty() ? options_.interval : std::min(options_.interval, kRest);
}

Result<CycleReport> Projector::run_cycle(const store::ClaimLimits& limits) {
  CycleReport report;
  attempted_.clear();
  store::Claim claim;
  {
    Stopwatch watch(time_of(report, Phase::claim));
    KUDOS_ASSIGN(claim, store::begin_and_claim(connection_, keys_, limits));
  }
  report.more = claim.more;
  for (const Event& event : claim.events) attempted_.push_back({event.seq, event.id});
  let_rest(claim.held);
  store::LockedTargets locked;
  if (!claim.events.empty()) KUDOS_TRY(prepare_claim(claim, report, locked));
  if (!claim.events.empty()) return fold_and_commit(std::move(claim), std::move(locked), std::move(report));
  Stopwatch watch(time_of(report, Phase::write));
  KUDOS_TRY(store::commit_idle(connection_, beat_is_due()));
  known_ = {claim.head.fold, next_map(claim)};
  return report;
}

Status Projector::prepare_claim(store::Claim& claim, CycleReport& report, store::LockedTargets& locked) {
  {
    Stopwatch watch(time_of(report, Phase::load));
    KUDOS_ASSIGN(report.broken_events, store::load_postings(connection_, claim.events, claim.counts));
  }
  const SeqSet claimed = store::seqs_of(claim.events);
  std::erase_if(claim.events,
                [&](const Event& event) { return std::ranges::count(report.broken_events, event.id) > 0; });
  Stopwatch watch(time_of(report, Phase::lock));
  KUDOS_ASSIGN(locked, store::lock_targets(connection_, claim.events, places_));
  set_blocked_aside(claim, locked, report);
  KUDOS_TRY(lock_carefully(claim, report));
  let_rest(claimed - store::seqs_of(claim.events));
  attempted_.clear();
  for (const Event& event : claim.events) attempted_.push_back({event.seq, event.id});
  return {};
}

void Projector::be_careful() { careful_until_ = std::chrono::steady_clock::now() + kCareful; }

// Counter rows that somebody holds delay only the events that add to them.
Status Projector::lock_carefully(store::Claim& claim, CycleReport& report) {
  if (std::chrono::steady_clock::now() >= careful_until_) return {};
  KUDOS_ASSIGN(const auto blocked, store::lock_counters(connection_, claim.events));
  if (blocked.empty()) return {};
  be_careful();
  const auto left = std::erase_if(claim.events, [&](const Event& event) { return blocked.blocks(event); });
  report.blocked_events += static_cast<std::int32_t>(left);
  return {};
}

Result<CycleReport> Projector::fold_and_commit(store::Claim claim, store::LockedTargets locked, CycleReport report) {
  FoldOutcome outcome;
  store::JournalRow row;
  {
    Stopwatch watch(time_of(report, Phase::fold));
    outcome = fold(claim.events, locked.targets);
    KUDOS_TRY(number_adjustments(outcome, claim.now));
    row = journal_row(claim, outcome);
    row.map = next_map(claim);
    for (const SeqRange& range : (row.seqs & isolation_.stuck()).ranges())
      for (auto seq = range.first; seq <= range.last; ++seq) row.unstuck.push_back({seq});
  }
  {
    Stopwatch watch(time_of(report, Phase::write));
    KUDOS_TRY(store::write_and_commit(connection_, types_, outcome, claim.events, row, places_));
  }
  known_ = {row.fold, row.map};
  isolation_.folded(row.seqs);
  next_beat_ = std::chrono::steady_clock::now() + kBeat;
  own_seqs_ = (own_seqs_ | store::seqs_of(outcome.floor_adjustments)) - SeqSet::range(0, row.map.frontier);
  report.events = row.events;
  report.postings = row.postings + row.stat_postings;
  report.floor_adjustments = row.floor_adjustments;
  report.quarantined_events = row.quarantined_events;
  report.fold = row.fold;
  postings_per_event_ += 0.2 * (static_cast<double>(report.postings) / report.events - postings_per_event_);
  return report;
}

Status Projector::number_adjustments(FoldOutcome& outcome, Timestamp now) {
  const auto count = static_cast<std::int32_t>(outcome.floor_adjustments.size());
  KUDOS_ASSIGN(const auto seqs, store::draw_seqs(connection_, count));
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    outcome.floor_adjustments[i].seq = seqs[i];
    outcome.floor_adjustments[i].created = now;
  }
  return {};
}

WorkMap Projector::next_map(const store::Claim& claim) const {
  Sighting sighting;
  sighting.settled = store::seqs_of(claim.events) | own_seqs_;
  sighting.highest = claim.highest_seen;
  sighting.waiting = claim.pending_in_gaps - sighting.settled;
  // With more in the gaps than was listed, nothing can be concluded from what isn't there.
  sighting.snapshot_xmin = claim.gaps_cut_short ? 0 : claim.snapshot_xmin;
  sighting.snapshot_xmax = claim.snapshot_xmax;
  return advance(claim.map, sighting);
}

}  // namespace kudos::ledger
