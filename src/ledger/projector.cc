#include "ledger/projector.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/try.h"
#include "core/fold.h"

namespace kudos::ledger {
namespace {

// Plans must not depend on how fresh the statistics are, and a projector that is stopped or cut off must lose its lock:
// the server ends a transaction that idles, and a wait for a row ends before the deadlock detector would look for a
// victim among the hosts.
constexpr const char* kSessionSettings = R"(
SET enable_seqscan = off; SET jit = off; SET lock_timeout = '300ms'; SET statement_timeout = '60s';
SET idle_in_transaction_session_timeout = '15s')";

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
// The shortest time between two heartbeats without a fold.
constexpr std::chrono::milliseconds kBeat{1000};

std::chrono::nanoseconds& time_of(CycleReport& report, Phase phase) {
  return report.phases[static_cast<std::size_t>(phase)];
}

Status read_variable(const char* name, std::int64_t smallest, std::int64_t largest, auto assign) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return {};
  std::int64_t value = 0;
  const std::string_view view = text;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || value < smallest || value > largest)
    return fail(ErrorCode::invalid_request, std::string(name) + " is '" + text + "'; a whole number from " +
                                                std::to_string(smallest) + " to " + std::to_string(largest) +
                                                " is expected");
  assign(value);
  return {};
}

Result<std::optional<Amount>> read_amount(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const auto amount = Amount::parse(text);
  if (amount && !amount->is_negative()) return *amount;
  return fail(ErrorCode::invalid_request,
              std::string(name) + " is '" + text + "'; an amount of kudos, not negative, is expected");
}

// Events whose rows somebody else holds wait for a later cycle.
void set_blocked_aside(store::Claim& claim, const store::LockedTargets& locked, CycleReport& report) {
  if (locked.blocked_users.empty() && locked.blocked_workers.empty() && locked.blocked_teams.empty()) return;
  const auto blocked = std::erase_if(claim.events, [&](const Event& event) { return locked.blocks(event); });
  report.blocked_events = static_cast<std::int32_t>(blocked);
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

Result<ProjectorOptions> ProjectorOptions::from_environment() {
  ProjectorOptions options;
  KUDOS_TRY(read_variable("KUDOS_APPLIER_BATCH_SIZE", 1, 1'000'000,
                          [&](auto value) { options.batch_postings = static_cast<std::int32_t>(value); }));
  KUDOS_TRY(read_variable("KUDOS_APPLIER_INTERVAL", 1, 3600,
                          [&](auto value) { options.interval = std::chrono::seconds(value); }));
  KUDOS_TRY(read_variable("KUDOS_APPLIER_MAX_CATCHUP_CYCLES", 1, 10'000,
                          [&](auto value) { options.max_catchup_cycles = static_cast<std::int32_t>(value); }));
  KUDOS_ASSIGN(options.trust.threshold, read_amount("KUDOS_TRUST_THRESHOLD"));
  return options;
}

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
  return Projector(std::move(connection), options, types);
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
  return {known_, resting_, options_.batch_postings, static_cast<std::int32_t>(events * 1.25) + 8};
}

Result<CycleReport> Projector::run_once() {
  auto report = run_cycle();
  if (!report) connection_.roll_back();
  return report;
}

Result<TrustReport> Projector::promote_if_due(const CycleReport& last) {
  return trust_.run_if_due(connection_, keys_, types_, last.events > 0 && !last.more);
}

Result<bool> Projector::has_work() {
  if (!known_) return true;
  wake_rested();
  return store::has_work(connection_, *known_, resting_, beat_is_due());
}

std::chrono::milliseconds Projector::longest_wait() const {
  return resting_.empty() ? options_.interval : std::min(options_.interval, kRest);
}

Result<CycleReport> Projector::run_cycle() {
  CycleReport report;
  store::Claim claim;
  {
    Stopwatch watch(time_of(report, Phase::claim));
    KUDOS_ASSIGN(claim, store::begin_and_claim(connection_, keys_, limits()));
  }
  report.more = claim.more;
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
  KUDOS_ASSIGN(locked, store::lock_targets(connection_, claim.events));
  set_blocked_aside(claim, locked, report);
  let_rest(claimed - store::seqs_of(claim.events));
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
  }
  {
    Stopwatch watch(time_of(report, Phase::write));
    KUDOS_TRY(store::write_and_commit(connection_, types_, outcome, claim.events, row));
  }
  known_ = {row.fold, row.map};
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
