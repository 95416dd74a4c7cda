// Runs a projector in a thread of its own: ticks, catch-up, reconnection.
//
// A tick runs cycles while batches come back full, up to the catch-up limit. While work arrives the next tick follows
// soon; idle, the interval doubles up to `ProjectorOptions::interval` and each tick is one cheap statement. A lost
// connection is opened again with back-off.
//
// Thread-safety: all members may be called from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "ledger/projector.h"

namespace kudos::ledger {

// Totals since the loop started.
struct ProjectorStats {
  std::int64_t cycles = 0;
  std::int64_t events = 0;
  std::int64_t postings = 0;
  std::int64_t floor_adjustments = 0;
  std::int64_t promoted_users = 0;  // became trusted
  std::int64_t promotions = 0;      // events that moved escrow
  std::int64_t expired_holds = 0;   // ended at their deadline
  std::int64_t failures = 0;        // cycles that were rolled back, and failed attempts to connect
  FailureCounts failures_by_kind{};
  std::int64_t stuck_events = 0;  // now: set apart since they can't be folded
  std::int64_t reconnections = 0;
  bool standing_by = false;      // another projector was at work at the last tick
  std::set<Uuid> broken_events;  // their postings don't match their headers; left alone
  std::string last_error;        // of the last failed tick; empty after a good one
};

struct LoopOptions {
  std::string conninfo;
  db::ConnectionOptions connection;
  ProjectorOptions projector;
  // Told about failures and recoveries, one line each; called from the loop's thread. May be empty.
  std::function<void(const std::string&)> log;
  // How long `stop` waits for the cycle under way before it cuts the connection.
  std::chrono::milliseconds stop_patience{5000};
};

class ProjectorLoop {
 public:
  explicit ProjectorLoop(LoopOptions options);
  ~ProjectorLoop();  // stops

  void start();  // no effect when it runs
  // Finishes the cycle under way, then ends. When that takes longer than `stop_patience` (the server hangs, the network
  // is gone), the connection is cut: the server rolls the cycle back. No effect when it doesn't run.
  void stop();
  // Something was committed: tick now.
  void wake();
  ProjectorStats stats() const;

 private:
  void run();
  enum class Pace { idle, working, behind };
  Result<Pace> tick(Projector& projector);
  Result<Pace> run_cycles(Projector& projector);
  Status promote(Projector& projector, const CycleReport& last);
  Status sweep(Projector& projector, bool due);
  Status connect(std::optional<Projector>& projector);
  Result<Pace> connect_and_tick(std::optional<Projector>& projector);
  void note_failure(const Error& error);
  void note_success();
  void note_broken(const std::vector<Uuid>& events);
  void note_stuck(const std::vector<store::StuckEvent>& events);
  void count_failures(Projector& projector);
  void publish_socket(int socket);
  void cut_connection();
  void say(const std::string& line) const;
  // A wake ends it early, unless it is deaf: back-off after a failure.
  void wait_for(std::chrono::milliseconds limit, bool deaf = false);
  bool stopping() const { return stopping_.load(); }

  LoopOptions options_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::condition_variable wakeup_;
  std::condition_variable ended_;
  bool running_ = false;
  int socket_ = -1;  // a duplicate of the connection's, for `stop`
  bool woken_ = false;
  bool idle_ = false;  // the last tick found nothing: look before the next cycle
  ProjectorStats stats_;
};

}  // namespace kudos::ledger
