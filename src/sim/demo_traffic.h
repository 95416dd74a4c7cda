// A live stream of settlements of the simulated marketplace, emitted by a thread of its own at a steady rate.
//
// Thread-safety: all members may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "db/connection.h"
#include "kudos/session.h"
#include "sim/marketplace.h"

namespace kudos::sim {

struct TrafficOptions {
  std::string conninfo;
  std::string schema = "public";
  MarketplaceShape shape;
  int jobs_per_second = 300;
  std::function<void()> on_commit;              // e.g. wakes the projector; may be empty
  std::function<void(const std::string&)> log;  // failures, one line each; may be empty
};

class DemoTraffic {
 public:
  explicit DemoTraffic(TrafficOptions options);
  ~DemoTraffic();  // stops

  // Makes the accounts (those that exist stay as they are; a new one starts with a top-up), then starts the stream.
  Status start();
  void stop();
  std::int64_t accepted() const { return accepted_.load(); }

 private:
  Status make_accounts(db::Connection& connection, Session& session);
  Status emit_jobs(db::Connection& connection, Session& session, std::int64_t count);
  void run();
  Status run_connected();

  TrafficOptions options_;
  Marketplace market_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> accepted_{0};
};

}  // namespace kudos::sim
