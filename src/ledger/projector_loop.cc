#include "ledger/projector_loop.h"

#include <algorithm>

#include "base/try.h"

namespace kudos::ledger {
namespace {

constexpr std::chrono::milliseconds kFirstBackoff{100};
constexpr std::chrono::milliseconds kLongestBackoff{5000};

}  // namespace

ProjectorLoop::ProjectorLoop(LoopOptions options) : options_(std::move(options)) {}
ProjectorLoop::~ProjectorLoop() { stop(); }

void ProjectorLoop::start() {
  if (thread_.joinable()) return;
  stopping_ = false;
  thread_ = std::thread([this] { run(); });
}

void ProjectorLoop::stop() {
  stopping_ = true;
  wake();
  if (thread_.joinable()) thread_.join();
}

void ProjectorLoop::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wakeup_.notify_one();
}

ProjectorStats ProjectorLoop::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void ProjectorLoop::wait_for(std::chrono::milliseconds limit, bool deaf) {
  std::unique_lock lock(mutex_);
  wakeup_.wait_for(lock, limit, [&] { return (woken_ && !deaf) || stopping(); });
  if (!deaf) woken_ = false;
}

void ProjectorLoop::say(const std::string& line) const {
  if (options_.log) options_.log(line);
}

void ProjectorLoop::note_failure(const Error& error) {
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    stats_.failures += 1;
    news = stats_.last_error != error.message;
    stats_.last_error = error.message;
  }
  if (news) say("projector: " + error.message + "; trying again");
}

void ProjectorLoop::note_broken(const std::vector<Uuid>& events) {
  for (const Uuid& event : events) {
    {
      const std::lock_guard lock(mutex_);
      if (!stats_.broken_events.insert(event).second) continue;
    }
    say("projector: the postings of event " + event.to_string() +
        " don't match its header: it is left alone. A fact was added or removed behind the ledger's back.");
  }
}

void ProjectorLoop::note_success() {
  bool recovered = false;
  {
    const std::lock_guard lock(mutex_);
    recovered = !stats_.last_error.empty();
    stats_.last_error.clear();
  }
  if (recovered) say("projector: working again");
}

Result<ProjectorLoop::Pace> ProjectorLoop::tick(Projector& projector) {
  if (idle_) {
    KUDOS_ASSIGN(const bool work, projector.has_work());
    if (!work) {
      KUDOS_TRY(promote(projector, {}));
      return Pace::idle;
    }
  }
  idle_ = false;
  const auto pace = run_cycles(projector);
  const std::lock_guard lock(mutex_);
  idle_ = pace && *pace == Pace::idle && !stats_.standing_by;
  return pace;
}

// Cycles while batches come back full. Another projector at work isn't a failure.
Result<ProjectorLoop::Pace> ProjectorLoop::run_cycles(Projector& projector) {
  Pace pace = Pace::idle;
  for (std::int32_t cycle = 0; cycle < options_.projector.max_catchup_cycles && !stopping(); ++cycle) {
    const auto report = projector.run_once();
    const bool busy = !report && report.error().code == ErrorCode::applier_busy;
    {
      const std::lock_guard lock(mutex_);
      stats_.standing_by = busy;
      if (report) {
        stats_.cycles += 1;
        stats_.events += report->events;
        stats_.postings += report->postings;
        stats_.floor_adjustments += report->floor_adjustments;
      }
    }
    if (busy) return Pace::idle;
    if (!report) return std::unexpected(report.error());
    note_broken(report->broken_events);
    KUDOS_TRY(promote(projector, *report));
    if (report->events > 0) pace = Pace::working;
    if (!report->more) return pace;
  }
  return Pace::behind;
}

Status ProjectorLoop::promote(Projector& projector, const CycleReport& last) {
  const auto report = projector.promote_if_due(last);
  if (!report && report.error().code == ErrorCode::applier_busy) return {};
  if (!report) return std::unexpected(report.error());
  const std::lock_guard lock(mutex_);
  stats_.promoted_users += report->promoted_users;
  stats_.promotions += report->promotions;
  return {};
}

Result<ProjectorLoop::Pace> ProjectorLoop::connect_and_tick(std::optional<Projector>& projector) {
  if (!projector) {
    KUDOS_ASSIGN(auto connection, db::Connection::open(options_.conninfo, options_.connection));
    KUDOS_ASSIGN(auto made, Projector::create(std::move(connection), options_.projector));
    projector.emplace(std::move(made));
  }
  auto pace = tick(*projector);
  if (!pace && projector->connection().is_broken()) {
    projector.reset();
    const std::lock_guard lock(mutex_);
    stats_.reconnections += 1;
  }
  return pace;
}

void ProjectorLoop::run() {
  auto backoff = kFirstBackoff;
  auto interval = options_.projector.shortest_interval;
  std::optional<Projector> projector;
  while (!stopping()) {
    const auto pace = connect_and_tick(projector);
    if (!pace) {
      note_failure(pace.error());
      wait_for(backoff, true);
      backoff = std::min(backoff * 2, kLongestBackoff);
      continue;
    }
    note_success();
    backoff = kFirstBackoff;
    if (*pace == Pace::behind) continue;
    interval = *pace == Pace::working ? options_.projector.shortest_interval
                                      : std::min(interval * 2, projector->longest_wait());
    wait_for(interval);
  }
}

}  // namespace kudos::ledger
