// A transaction sits open, with a snapshot and a transaction id, while the ledger works at full load: does the
// projector or emission slow down? Everything that changes leaves dead rows that can't be cleaned up meanwhile
// (scenario P8).
//
// Writers send transactions of 20 settlements; they pause while the projector is far behind, so both work as fast as
// the machine allows and the projector always has work. Printed for each tenth of the run; then the last is compared
// with the first.
//
// Options: --batch N (1000 postings), --fk 0 to see the part of the foreign key from postings to users, --seconds N
// (60; 600 for the long form), --fillfactor N to try another one than the schema's, --writers N (2), --open 0 for a
// control run without the transaction,
// --tables 1 to show what grew, --statements 1 for the statements of the first and the last tenth (needs the server's
// contrib module pg_stat_statements).
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "bench.h"
#include "ledger/projector_loop.h"
#include "market.h"

namespace kudos::bench {
namespace {

constexpr std::int64_t kMostBehind = 2000;
constexpr int kPerTransaction = 20;
constexpr std::size_t kParts = 10;

struct Part {
  double folded_per_second = 0, cycles_per_second = 0;
  double emission_p50 = 0, emission_p99 = 0;  // ms for a transaction
};

class Load {
 public:
  Load(const sim::ScratchLedger& ledger, ledger::ProjectorLoop& loop, long writers) : loop_(loop) {
    for (long i = 0; i < writers; ++i)
      threads_.emplace_back([this, client = ledger.client(), market = market_of_writer(static_cast<int>(i))]() mutable {
        while (!stop_) write(client, market);
      });
  }
  ~Load() {
    stop_ = true;
    for (auto& thread : threads_) thread.join();
  }
  std::vector<double> take_latencies() {
    const std::lock_guard lock(mutex_);
    return std::exchange(latencies_, {});
  }

 private:
  void write(sim::Client& client, sim::Marketplace& market) {
    if (accepted_ - loop_.stats().events > kMostBehind) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    const auto start = Clock::now();
    settle_jobs(client, market, kPerTransaction);
    accepted_ += kPerTransaction;
    const std::lock_guard lock(mutex_);
    latencies_.push_back(seconds_since(start) * 1000);
  }

  ledger::ProjectorLoop& loop_;
  std::atomic<std::int64_t> accepted_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<double> latencies_;
  std::vector<std::thread> threads_;
};

Part measure(Load& load, const ledger::ProjectorLoop& loop, double seconds) {
  load.take_latencies();
  const auto before = loop.stats();
  const auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double took = seconds_since(start);
  const auto after = loop.stats();
  auto latencies = load.take_latencies();
  return {static_cast<double>(after.events - before.events) / took,
          static_cast<double>(after.cycles - before.cycles) / took, percentile(latencies, 0.5),
          percentile(latencies, 0.99)};
}

void print(std::size_t number, const Part& part) {
  std::printf("%6zu %12.0f %10.0f %13.2f %13.2f\n", number, part.folded_per_second, part.cycles_per_second,
              part.emission_p50, part.emission_p99);
  std::fflush(stdout);
}

void print_tables(const sim::ScratchLedger& ledger) {
  std::printf("%s\n", ledger
                          .ask(R"(
SELECT string_agg(format('%-28s %9s live %9s dead %8s updates %8s HOT %9s', relname, n_live_tup, n_dead_tup, n_tup_upd,
                         n_tup_hot_upd, pg_size_pretty(pg_relation_size(relid))), E'\n' ORDER BY n_dead_tup DESC)
FROM pg_stat_user_tables WHERE n_tup_upd > 0)")
                          .c_str());
}

void print_statements(const sim::ScratchLedger& ledger) {
  std::printf("%s\n", ledger
                          .ask(R"(
SELECT string_agg(format('%9s ms %8s calls %9s ms each  %s', round(total_exec_time), calls, round(mean_exec_time::numeric, 3),
                         left(regexp_replace(query, '\s+', ' ', 'g'), 110)), E'\n')
FROM (SELECT * FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 16) top)")
                          .c_str());
  ledger.run("SELECT pg_stat_statements_reset()");
}

std::map<std::string, std::string> settings(bool statements) {
  if (!statements) return {};
  return {{"shared_preload_libraries", "pg_stat_statements"}};
}

}  // namespace

int run_horizon(const Arguments& arguments) {
  const long seconds = option(arguments, "seconds", 60), writers = option(arguments, "writers", 2);
  const bool open = option(arguments, "open", 1) != 0;
  const bool statements = option(arguments, "statements", 0) != 0;
  sim::ScratchLedger ledger(settings(statements));
  if (statements) ledger.run("CREATE EXTENSION pg_stat_statements; SELECT 1");
  fill_market(ledger, market_of_writer(0));
  if (const long room = option(arguments, "fillfactor", 0); room > 0)
    for (const char* table : {"users", "workers", "teams", "user_stats", "user_records", "worker_stats"})
      ledger.run("ALTER TABLE " + std::string(table) + " SET (fillfactor = " + std::to_string(room) + ")");
  ledger::ProjectorLoop loop(
      {.conninfo = ledger.conninfo(),
       .projector = {.batch_postings = static_cast<std::int32_t>(option(arguments, "batch", 1000))},
       .log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }});
  loop.start();
  if (option(arguments, "fk", 1) == 0)
    ledger.run("ALTER TABLE kudos_postings DROP CONSTRAINT kudos_postings_user_id_fkey");
  std::vector<Part> parts;
  {
    Load load(ledger, loop, writers);
    measure(load, loop, 5);  // warm-up
    auto sitting = ledger.open();
    if (open)
      must(sitting.run_script(
          "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id(), count(*) FROM users"));
    std::printf("horizon: full load for %ld s, %ld writers%s\n", seconds, writers,
                open ? ", a transaction with an id and a snapshot open all the time" : ", control: nothing open");
    std::printf("%6s %12s %10s %13s %13s\n", "tenth", "folded/s", "cycles/s", "emit p50 ms", "emit p99 ms");
    for (std::size_t part = 0; part < kParts; ++part) {
      parts.push_back(measure(load, loop, static_cast<double>(seconds) / kParts));
      print(part + 1, parts.back());
      if (statements && part == 0) print_statements(ledger);
      if (statements && part == kParts - 2) ledger.run("SELECT pg_stat_statements_reset()");
      if (statements && part == kParts - 1) print_statements(ledger);
    }
    if (open) must(sitting.run_script("COMMIT"));
  }
  loop.stop();
  const auto change = [&](double Part::* value) { return (parts.back().*value / (parts.front().*value) - 1) * 100; };
  std::printf("last tenth against the first: folded/s %+.1f %%, emit p50 %+.1f %%\n", change(&Part::folded_per_second),
              change(&Part::emission_p50));
  if (option(arguments, "tables", 0) != 0) print_tables(ledger);
  return 0;
}

}  // namespace kudos::bench
