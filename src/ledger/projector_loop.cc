#include "ledger/projector_loop.h"

#include <unistd.h>

#include <algorithm>
#include <sys/socket.h>

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
  running_ = true;
  thread_ = std::thread([this] {
    run();
    const std::lock_guard lock(mutex_);
    running_ = false;
    ended_.notify_all();
  });
}

void ProjectorLoop::stop() {
  stopping_ = true;
  wake();
  if (!thread_.joinable()) return;
  cut_connection();
  thread_.join();
}

// Unless the thread ends by itself in time. Shutting the socket down ends any wait for the server, even one that hangs.
void ProjectorLoop::cut_connection() {
  std::unique_lock lock(mutex_);
  if (ended_.wait_for(lock, options_.stop_patience, [this] { return !running_; })) return;
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

void ProjectorLoop::publish_socket(int socket) {
  const std::lock_guard lock(mutex_);
  if (socket_ >= 0) ::close(socket_);
  socket_ = socket >= 0 ? ::dup(socket) : -1;
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

void ProjectorLoop::note_stuck(const std::vector<store::StuckEvent>& events) {
  for (const auto& event : events)
    say("projector: event " + event.id.to_string() + " can't be folded (attempt " + std::to_string(event.attempts) +
        "): it is set apart and tried again later, the others go on. The reason is in kudos_stuck_events.");
}

void ProjectorLoop::count_failures(Projector& projector) {
  const FailureCounts counts = projector.take_failures();
  const std::lock_guard lock(mutex_);
  for (std::size_t kind = 0; kind < kFailureKinds; ++kind) {
    stats_.failures += counts[kind];
    stats_.failures_by_kind[kind] += counts[kind];
  }
  stats_.stuck_events = static_cast<std::int64_t>(projector.stuck_events());
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
    KUDOS_ASSIGN(const auto work, projector.has_work());
    if (work.due_holds) KUDOS_TRY(sweep(projector, true));
    if (!work.events) {
      KUDOS_TRY(promote(projector, {}));
      return Pace::idle;
    }
  }
  idle_ = false;
  const auto pace = run_cycles(projector);
  if (pace) KUDOS_TRY(sweep(projector, false));
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
    note_stuck(report->stuck_events);
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

// Somebody's lock is no failure: the hold waits for the next sweep.
Status ProjectorLoop::sweep(Projector& projector, bool due) {
  const auto swept = projector.sweep_if_due(due);
  if (!swept && swept.error().recovery == Recovery::retry) return {};
  if (!swept) return std::unexpected(swept.error());
  const std::lock_guard lock(mutex_);
  stats_.expired_holds += *swept;
  return {};
}

Status ProjectorLoop::connect(std::optional<Projector>& projector) {
  auto connection = db::Connection::open(options_.conninfo, options_.connection);
  if (connection) {
    publish_socket(connection->socket());
    auto made = Projector::create(*std::move(connection), options_.projector);
    if (made) {
      projector.emplace(*std::move(made));
      return {};
    }
    publish_socket(-1);
    return std::unexpected(std::move(made).error());
  }
  return std::unexpected(std::move(connection).error());
}

Result<ProjectorLoop::Pace> ProjectorLoop::connect_and_tick(std::optional<Projector>& projector) {
  if (!projector) {
    if (auto connected = connect(projector); !connected) {
      const std::lock_guard lock(mutex_);
      stats_.failures += 1;
      stats_.failures_by_kind[static_cast<std::size_t>(failure_kind(connected.error()))] += 1;
      return std::unexpected(std::move(connected).error());
    }
  }
  auto pace = tick(*projector);
  count_failures(*projector);
  if (!pace && projector->connection().is_broken()) {
    publish_socket(-1);
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
    // Under load the next fold gathers what comes meanwhile: few full folds cost less than many small ones, and leave
    // fewer dead rows behind. So only an idle projector can be woken.
    const bool working = *pace == Pace::working;
    interval = working ? options_.projector.shortest_interval : std::min(interval * 2, projector->longest_wait());
    wait_for(interval, working);
  }
  publish_socket(-1);
}

}  // namespace kudos::ledger
