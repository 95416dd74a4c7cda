// What admission costs: transfers a second with latencies, one call at a time and in group commit, beside a baseline
// that locks both account rows in the order of their ids and updates running balances in the request.
// A projector folds all the while. Options: --seconds N (5), --callers N (64), --lanes N (1), --linger-us N (0),
// --only-groups 1 (no single calls), --profile 1 (the server's time by statement).
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "base/try.h"
#include "bench.h"
#include "kudos/accounts.h"
#include "kudos/batcher.h"
#include "kudos/transaction.h"
#include "ledger/projector_loop.h"
#include "sim/scratch_ledger.h"

namespace kudos::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kUsers = 1000;  // payers are the first half, recipients the second

enum class Shape { uniform, hot_payer, hot_recipient };
const char* name_of(Shape shape) {
  return shape == Shape::uniform ? "uniform" : shape == Shape::hot_payer ? "hot payer" : "hot recipient";
}

struct Parties {
  std::int32_t payer, recipient;
};

Parties parties(Shape shape, std::uint64_t draw) {
  // Two unrelated walks over the users.
  const auto half = [](std::uint64_t n) { return static_cast<std::int32_t>(n * 2654435761u % (kUsers / 2)); };
  const std::int32_t payer = shape == Shape::hot_payer ? 0 : half(draw * 7 + 3);
  const std::int32_t recipient = shape == Shape::hot_recipient ? 0 : half(draw / 3 + draw * 11);
  return {1 + payer, 1 + kUsers / 2 + recipient};
}

struct Figures {
  double rate = 0;
  double p50 = 0, p99 = 0, worst = 0;  // milliseconds
};

void stop_on(const Error& error) {
  std::fprintf(stderr, "bench: %s\n", error.to_string().c_str());
  std::exit(1);
}

// Each caller's own way of doing one transfer.
using Caller = std::function<Status(Shape, std::uint64_t draw)>;

Figures measure(Shape shape, long callers, long seconds, const std::function<Caller()>& make_caller) {
  std::atomic<bool> measuring{false}, stop{false};
  std::vector<std::vector<double>> latencies(static_cast<std::size_t>(callers));
  std::vector<std::thread> threads;
  for (long i = 0; i < callers; ++i)
    threads.emplace_back([&, i] {
      const Caller call = make_caller();
      auto& own = latencies[static_cast<std::size_t>(i)];
      for (std::uint64_t draw = static_cast<std::uint64_t>(i) * 1'000'003; !stop; ++draw) {
        const bool counts = measuring;
        const auto start = Clock::now();
        if (auto done = call(shape, draw); !done) stop_on(done.error());
        if (counts) own.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
      }
    });
  std::this_thread::sleep_for(std::chrono::seconds(1));  // warm-up
  measuring = true;
  const auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  const double time = std::chrono::duration<double>(Clock::now() - start).count();
  stop = true;
  for (auto& thread : threads) thread.join();
  std::vector<double> all;
  for (const auto& own : latencies) all.insert(all.end(), own.begin(), own.end());
  if (all.empty()) return {};
  std::ranges::sort(all);
  const auto at = [&](double part) {
    return all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))];
  };
  return {static_cast<double>(all.size()) / time, at(0.5), at(0.99), all.back()};
}

void print(const char* how, long callers, Shape shape, const Figures& figures, double baseline) {
  std::printf("  %-13s %-26s %3ld  %8.0f/s  p50 %7.2f ms  p99 %7.2f ms  worst %8.2f ms", name_of(shape), how, callers,
              figures.rate, figures.p50, figures.p99, figures.worst);
  if (baseline > 0) std::printf("  %5.1f × baseline", figures.rate / baseline);
  std::printf("\n");
  std::fflush(stdout);
}

// The baseline: what people write today. -----------------------------------------------------------------------------

constexpr db::Statement kLockAccounts{"bench_lock_accounts", R"(
SELECT id, balance FROM bench_accounts WHERE id IN ($1::integer, $2::integer) ORDER BY id FOR UPDATE)"};
constexpr db::Statement kMoveBalance{
    "bench_move", "UPDATE bench_accounts SET balance = balance + $2::numeric WHERE id = $1::integer"};
constexpr db::Statement kNoteEntry{"bench_note", R"(
INSERT INTO bench_entries (id, payer, recipient, amount) VALUES ($1::uuid, $2::integer, $3::integer, $4::numeric))"};

Status transfer_in_the_request(db::Connection& connection, const Parties& who) {
  const Amount amount = Amount::whole(1);
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_ASSIGN(const auto rows, connection.execute(kLockAccounts, db::Params().add(who.payer).add(who.recipient)));
  if (rows.size() != 2) return fail(ErrorCode::unknown_user, "an account is missing");
  KUDOS_TRY(connection.execute(kMoveBalance, db::Params().add(who.payer).add(-amount)));
  KUDOS_TRY(connection.execute(kMoveBalance, db::Params().add(who.recipient).add(amount)));
  KUDOS_TRY(connection.execute(kNoteEntry, db::Params().add(Uuid::v7()).add(who.payer).add(who.recipient).add(amount)));
  KUDOS_TRY(connection.execute(db::kCommit));
  return {};
}

Figures baseline(const sim::ScratchLedger& ledger, Shape shape, long callers, long seconds) {
  return measure(shape, callers, seconds, [&]() -> Caller {
    auto connection = std::make_shared<db::Connection>(ledger.open());
    return [connection](Shape shape, std::uint64_t draw) {
      return transfer_in_the_request(*connection, parties(shape, draw));
    };
  });
}

// Kudos --------------------------------------------------------------------------------------------------------------

Transfer transfer_of(const Parties& who) {
  return {
      .payer = UserRef::number({who.payer}), .recipient = UserRef::number({who.recipient}), .amount = Amount::whole(1)};
}

Figures one_by_one(const sim::ScratchLedger& ledger, Shape shape, long callers, long seconds) {
  return measure(shape, callers, seconds, [&]() -> Caller {
    auto client = std::make_shared<sim::Client>(ledger.client());
    return [client](Shape shape, std::uint64_t draw) {
      return run_transaction(client->session, [&]() -> Status {
        KUDOS_TRY(emit(client->session, transfer_of(parties(shape, draw))));
        return {};
      });
    };
  });
}

Figures grouped(Batcher& batcher, Shape shape, long callers, long seconds) {
  return measure(shape, callers, seconds, [&]() -> Caller {
    return [&](Shape shape, std::uint64_t draw) -> Status {
      KUDOS_TRY(batcher.run(transfer_of(parties(shape, draw))));
      return {};
    };
  });
}

void print_profile(const sim::ScratchLedger& ledger) {
  std::printf("%s\n", ledger
                          .ask("SELECT string_agg(format('      %s ms in %s calls: %s', round(total_exec_time), calls, "
                               "left(regexp_replace(query, '\\s+', ' ', 'g'), 90)), E'\\n') FROM (SELECT * FROM "
                               "pg_stat_statements ORDER BY total_exec_time DESC LIMIT 24) s")
                          .c_str());
}

void prepare(const sim::ScratchLedger& ledger) {
  ledger.run("INSERT INTO users (id, kudos) SELECT n, 1000000000 FROM generate_series(1, " + std::to_string(kUsers) +
             ") n; CREATE TABLE bench_accounts (id integer PRIMARY KEY, balance numeric(30,2) NOT NULL) WITH "
             "(fillfactor = 80); INSERT INTO bench_accounts SELECT n, 1000000000 FROM generate_series(1, " +
             std::to_string(kUsers) +
             ") n; CREATE TABLE bench_entries (id uuid PRIMARY KEY, created timestamptz NOT NULL DEFAULT now(), payer "
             "integer NOT NULL, recipient integer NOT NULL, amount numeric(20,2) NOT NULL); ANALYZE");
}

}  // namespace

int run_admission(const Arguments& arguments) {
  const long seconds = option(arguments, "seconds", 5), callers = option(arguments, "callers", 64),
             lanes = option(arguments, "lanes", 1), linger = option(arguments, "linger-us", 0);
  const bool only_groups = option(arguments, "only-groups", 0) != 0, profiled = option(arguments, "profile", 0) != 0;
  std::map<std::string, std::string> settings;
  if (profiled) settings["shared_preload_libraries"] = "pg_stat_statements";
  sim::ScratchLedger ledger(settings);
  if (profiled) ledger.run("CREATE EXTENSION pg_stat_statements");
  prepare(ledger);
  std::printf("admission: transfers of 1 between %d users, durable, a projector folds meanwhile\n", kUsers);
  for (const Shape shape : {Shape::uniform, Shape::hot_payer, Shape::hot_recipient}) {
    const Figures plain = baseline(ledger, shape, callers, seconds);
    print("baseline, rows locked", callers, shape, plain, 0);
    ledger::ProjectorLoop projector({ledger.conninfo(), {}, {}, {}});
    projector.start();
    for (const long connections : {1L, 16L, 64L})
      if (!only_groups)
        print("one call at a time", connections, shape, one_by_one(ledger, shape, connections, seconds), plain.rate);
    BatcherOptions options{.conninfo = ledger.conninfo()};
    options.lanes = static_cast<int>(lanes);
    options.linger = std::chrono::microseconds(linger);
    options.committed = [&] { projector.wake(); };
    Batcher batcher(options);
    if (profiled) ledger.run("SELECT pg_stat_statements_reset()");
    const auto before = projector.stats();
    const auto figures = grouped(batcher, shape, callers, seconds);
    print("group commit", callers, shape, figures, plain.rate);
    const auto stats = batcher.stats();
    const auto after = projector.stats();
    std::printf("    %.1f commands a batch; %lld events folded meanwhile, %lld left behind; %lld retries\n",
                static_cast<double>(stats.commands) / static_cast<double>(std::max<std::int64_t>(1, stats.batches)),
                static_cast<long long>(after.events - before.events),
                std::stoll(ledger.ask("SELECT count(*) FROM kudos_events WHERE fold_id IS NULL")),
                static_cast<long long>(stats.deadlocks + stats.serializations + stats.timeouts));
    if (profiled) print_profile(ledger);
    batcher.stop();
    while (ledger.ask("SELECT count(*) FROM kudos_events WHERE fold_id IS NULL") != "0")
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    projector.stop();
  }
  const auto wrong = ledger.ask(
      "SELECT count(*) FROM users u WHERE id > 0 AND kudos <> 1000000000 + (SELECT coalesce(sum(amount), 0) FROM "
      "kudos_postings p WHERE p.user_id = u.id AND NOT escrow)");
  if (wrong == "0" && ledger.ask("SELECT sum(amount) FROM kudos_postings") == "0.00") return 0;
  std::fprintf(stderr, "bench: %s balances differ from their postings\n", wrong.c_str());
  return 1;
}

}  // namespace kudos::bench
