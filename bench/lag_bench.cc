// How long after its commit an event is visible in the balances.
//
// First the sustained load is measured: writers that send one settlement after the other beside a projector, at the
// rate that both keep up with. Then the writers follow a fixed schedule at half of it, whether the ledger keeps up or
// not, and the lag of every event is measured.
//
// Both ends are the database's own commit times (track_commit_timestamp): of the transaction that stored the event, and
// of the fold that applied it. Nothing is polled, so the measurement doesn't round or disturb. A commit's time is taken
// before its log is flushed, at both ends.
//
// Options: --writers N (4), --seconds N (20, of each part), --percent N (50, of the sustained load).
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "bench.h"
#include "ledger/projector_loop.h"
#include "market.h"

namespace kudos::bench {
namespace {

constexpr std::int64_t kMostBehind = 500;  // events that may wait while the sustained load is measured

ledger::LoopOptions loop_options(const sim::ScratchLedger& ledger) {
  return {.conninfo = ledger.conninfo(),
          .log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }};
}

class Writers {
 public:
  Writers(const sim::ScratchLedger& ledger, long count) {
    for (long i = 0; i < count; ++i) writers_.push_back({ledger.client(), market_of_writer(static_cast<int>(i))});
  }
  // Each writer calls `step` again and again until the time is over.
  void run(long seconds, const std::function<void(sim::Client&, sim::Marketplace&, std::size_t)>& step) {
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < writers_.size(); ++i)
      threads.emplace_back([&, i] {
        while (Clock::now() < end) step(writers_[i].first, writers_[i].second, i);
      });
    for (auto& thread : threads) thread.join();
  }
  std::size_t size() const { return writers_.size(); }

 private:
  std::vector<std::pair<sim::Client, sim::Marketplace>> writers_;
};

// Events a second that are both accepted and folded.
double sustained(Writers& writers, ledger::ProjectorLoop& loop, long seconds) {
  std::atomic<std::int64_t> accepted{0};
  const std::int64_t folded_before = loop.stats().events;
  const auto start = Clock::now();
  writers.run(seconds, [&](sim::Client& client, sim::Marketplace& market, std::size_t) {
    if (accepted - (loop.stats().events - folded_before) > kMostBehind) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    settle_jobs(client, market, 1);
    ++accepted;
  });
  return static_cast<double>(loop.stats().events - folded_before) / seconds_since(start);
}

// One settlement a transaction on a schedule of random (exponential) distances.
void follow_schedule(Writers& writers, double rate, long seconds, ledger::ProjectorLoop* to_wake) {
  std::vector<std::pair<std::mt19937_64, Clock::time_point>> schedules;
  for (std::size_t i = 0; i < writers.size(); ++i) schedules.emplace_back(std::mt19937_64(i + 1), Clock::now());
  std::exponential_distribution<double> distance(rate / static_cast<double>(writers.size()));
  writers.run(seconds, [&](sim::Client& client, sim::Marketplace& market, std::size_t writer) {
    auto& [random, next] = schedules[writer];
    next += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(distance(random)));
    std::this_thread::sleep_until(next);
    settle_jobs(client, market, 1);
    if (to_wake != nullptr) to_wake->wake();
  });
}

void print_lag(const sim::ScratchLedger& ledger, const char* label, const std::string& after, long seconds) {
  const std::string lags =
      "FROM (SELECT extract(epoch FROM pg_xact_commit_timestamp(f.xmin) - pg_xact_commit_timestamp(p.xmin)) * 1000 AS "
      "ms "
      "FROM kudos_events e JOIN kudos_folds f ON f.id = e.fold_id JOIN kudos_postings p ON p.event_seq = e.seq AND "
      "p.line "
      "= 1 WHERE p.entry_type <> 'FLOOR_ADJUSTMENT' AND e.seq > " +
      after + ") lags";
  const auto at = [&](const char* share) {
    return ledger.ask("SELECT round(percentile_cont(" + std::string(share) +
                      ") WITHIN GROUP (ORDER BY ms)::numeric, 1) " + lags);
  };
  const double rate = std::stod(ledger.ask("SELECT count(*) " + lags)) / static_cast<double>(seconds);
  std::printf("  %-22s %8.0f events/s %8s ms %8s ms %8s ms %8s ms %8s ms\n", label, rate, at("0.5").c_str(),
              at("0.95").c_str(), at("0.99").c_str(), at("0.999").c_str(), at("1").c_str());
}

void measure(const sim::ScratchLedger& ledger, Writers& writers, double rate, long seconds, ledger::ProjectorLoop& loop,
             bool wakes) {
  const std::string before = ledger.ask("SELECT coalesce(max(seq), 0) FROM kudos_events");
  follow_schedule(writers, rate, seconds, wakes ? &loop : nullptr);
  while (ledger.ask("SELECT count(*) FROM kudos_events WHERE fold_id IS NULL") != "0")
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  print_lag(ledger, wakes ? "woken by each commit" : "polling", before, seconds);
}

}  // namespace

int run_lag(const Arguments& arguments) {
  const long count = option(arguments, "writers", 4), seconds = option(arguments, "seconds", 20),
             percent = option(arguments, "percent", 50);
  sim::ScratchLedger ledger({{"track_commit_timestamp", "on"}});
  fill_market(ledger, market_of_writer(0));
  Writers writers(ledger, count);
  ledger::ProjectorLoop loop(loop_options(ledger));
  loop.start();
  sustained(writers, loop, 2);  // warm-up
  const double load = sustained(writers, loop, seconds);
  std::printf(
      "lag: settlements of 12 postings, one a transaction, %ld writers, durable, projector on the same machine\n",
      count);
  std::printf("  sustained              %8.0f events/s\n", load);
  std::printf("at %ld %% of it, commit to visible:\n  %-22s %17s %11s %11s %11s %11s %11s\n", percent, "", "", "p50",
              "p95", "p99", "p99.9", "max");
  const double rate = load * static_cast<double>(percent) / 100;
  measure(ledger, writers, rate, seconds, loop, false);
  measure(ledger, writers, rate, seconds, loop, true);
  loop.stop();
  return 0;
}

}  // namespace kudos::bench
