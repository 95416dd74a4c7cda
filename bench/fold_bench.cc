// How fast the projector drains a backlog of settlements, at the default batch and at 10,000 postings a batch, and what
// the time is spent on. Options: --events N (a backlog, default 100000), --batch N (only this batch size).
#include <cstdio>
#include <vector>

#include "bench.h"
#include "ledger/projector.h"
#include "sim/marketplace.h"
#include "sim/scratch_ledger.h"
#include "store/health.h"

namespace kudos::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kEventsPerTransaction = 500;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "bench: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void create_accounts(sim::Client& client, const sim::Marketplace& market) {
  must(client.connection.execute(db::kBegin));
  must(ensure_users(client.session, market.users()));
  must(ensure_teams(client.session, market.teams()));
  must(ensure_workers(client.session, market.workers()));
  must(client.connection.execute(db::kCommit));
}

struct Drain {
  double seconds = 0;
  long events = 0, postings = 0, cycles = 0, adjustments = 0;
  ledger::PhaseTimes phases{};
};

Drain drain(const sim::ScratchLedger& ledger, std::int32_t batch) {
  auto projector = must(ledger::Projector::create(ledger.open(), {.batch_postings = batch}));
  Drain drain;
  const auto start = Clock::now();
  for (;;) {
    const auto report = must(projector.run_once());
    if (report.events == 0) break;
    drain.events += report.events;
    drain.postings += report.postings;
    drain.adjustments += report.floor_adjustments;
    ++drain.cycles;
    for (std::size_t i = 0; i < ledger::kPhases; ++i) drain.phases[i] += report.phases[i];
  }
  drain.seconds = seconds_since(start);
  return drain;
}

// Enough for the whole run, so that only the anonymous user lives at its floor.
void fund_accounts(const sim::ScratchLedger& ledger, sim::Client& client, const sim::Marketplace& market) {
  std::vector<Command> commands;
  for (const NewUser& user : market.users())
    if (user.account_class != "anonymous")
      commands.emplace_back(TopUp{UserRef::external(user.external_id), Amount::whole(1'000'000), {}});
  must(client.connection.execute(db::kBegin));
  for (const auto& receipt : must(emit(client.session, commands))) must(receipt);
  must(client.connection.execute(db::kCommit));
  drain(ledger, 10'000);
}

// Returns the events per second of bulk emission.
double emit_backlog(sim::Client& client, sim::Marketplace& market, long events) {
  const auto start = Clock::now();
  for (long done = 0; done < events;) {
    std::vector<Command> commands;
    for (; commands.size() < kEventsPerTransaction && done < events; ++done)
      commands.emplace_back(market.next_settlement());
    must(client.connection.execute(db::kBegin));
    for (const auto& receipt : must(emit(client.session, commands))) must(receipt);
    must(client.connection.execute(db::kCommit));
  }
  return static_cast<double>(events) / seconds_since(start);
}

void print(std::int32_t batch, double emitted, const Drain& drain) {
  std::printf("%8d %10.0f %10.0f %12.0f %8ld %11.2f", batch, emitted, static_cast<double>(drain.events) / drain.seconds,
              static_cast<double>(drain.postings) / drain.seconds, drain.cycles,
              static_cast<double>(drain.adjustments) / static_cast<double>(drain.events));
  for (const auto phase : drain.phases)
    std::printf(" %5.0f%%", std::chrono::duration<double>(phase).count() / drain.seconds * 100);
  std::printf("\n");
}

}  // namespace

int run_fold(const Arguments& arguments) {
  const long events = option(arguments, "events", 100'000);
  const long only = option(arguments, "batch", 0);
  sim::ScratchLedger ledger;
  std::printf("fold: a backlog of %ld settlements, drained by one projector on the same machine\n", events);
  std::printf("%8s %10s %10s %12s %8s %11s %6s %6s %6s %6s %6s\n", "batch", "emitted/s", "folded/s", "postings/s",
              "cycles", "adjusted", "claim", "load", "lock", "fold", "write");
  for (const std::int32_t batch : only > 0 ? std::vector{static_cast<std::int32_t>(only)} : std::vector{1000, 10'000}) {
    ledger.fresh_database();
    auto client = ledger.client();
    sim::Marketplace market({.users = 2000, .workers = 400, .teams = 20, .seed = 7});
    create_accounts(client, market);
    fund_accounts(ledger, client, market);
    const double emitted = emit_backlog(client, market, events);
    ledger.run("CHECKPOINT");
    print(batch, emitted, drain(ledger, batch));
    if (const auto sum = ledger.ask("SELECT sum(amount) FROM kudos_postings"); sum != "0.00") {
      std::fprintf(stderr, "bench: the currency postings sum to %s\n", sum.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace kudos::bench
