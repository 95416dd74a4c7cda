// What emission costs: kudos_emit for one settlement a transaction beside the same rows written by plain multi-row
// INSERTs (statement by statement, as a driver sends them, and all in one pipeline), and bulk emission from C++.
// Options: --clients N (16), --seconds N (10), --rounds N (3).
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "base/try.h"
#include "bench.h"
#include "sim/marketplace.h"
#include "sim/scratch_ledger.h"

namespace kudos::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kUsers = 500;

// One settlement of 2 currency and 10 statistic postings, as the producers store it for an anonymous owner.
constexpr db::Statement kEmit{"bench_emit", "SELECT event_id, seq FROM @schema@.kudos_emit($1::jsonb)"};
constexpr db::Statement kPlainHeader{
    "plain_header", "INSERT INTO kudos_events (event_id, wp_type, posting_count) VALUES ($1::uuid, 'image', 12)"};
constexpr db::Statement kPlainPostings{"plain_postings", R"(
INSERT INTO kudos_postings (event_seq, line, entry_type, user_id, escrow, amount) VALUES
    (currval('kudos_events_seq'), 1, 'GENERATION', $1::integer, false, -10.00),
    (currval('kudos_events_seq'), 2, 'GENERATION', $2::integer, false, 10.00))"};
constexpr db::Statement kPlainStatistics{"plain_statistics", R"(
INSERT INTO kudos_stat_postings (event_seq, line, entry_type, unit, target, user_id, worker_user_id, worker_id, team_id, amount, stat_action, record) VALUES
    (currval('kudos_events_seq'), 3, 'GENERATION', 'kudos', 'user_stat', $2::integer, NULL, NULL, NULL, 10.00, 'accumulated', 'user_kudos'),
    (currval('kudos_events_seq'), 4, 'STAT_RECORD', 'count', 'user_record', $2::integer, NULL, NULL, NULL, 1, 'FULFILLMENT', 'image'),
    (currval('kudos_events_seq'), 5, 'STAT_RECORD', 'things', 'user_record', $2::integer, NULL, NULL, NULL, 2.50, 'CONTRIBUTION', 'image'),
    (currval('kudos_events_seq'), 6, 'STAT_ACTIVITY', 'count', 'user_activity', $2::integer, NULL, NULL, NULL, 1, 'activity', 'user_activity'),
    (currval('kudos_events_seq'), 7, 'GENERATION', 'kudos', 'worker_stat', NULL, $2::integer, $3::uuid, $4::uuid, 10.00, 'generated', 'worker_kudos'),
    (currval('kudos_events_seq'), 8, 'STAT_CONTRIBUTION', 'things', 'worker_contributions', NULL, $2::integer, $3::uuid, $4::uuid, 2.50, 'contribution', 'contributions'),
    (currval('kudos_events_seq'), 9, 'STAT_CONTRIBUTION', 'count', 'worker_fulfilments', NULL, $2::integer, $3::uuid, $4::uuid, 1, 'fulfilment', 'fulfilments'),
    (currval('kudos_events_seq'), 10, 'GENERATION', 'kudos', 'user_stat', $1::integer, NULL, NULL, NULL, -10.00, 'accumulated', 'user_kudos'),
    (currval('kudos_events_seq'), 11, 'STAT_RECORD', 'count', 'user_record', $1::integer, NULL, NULL, NULL, 1, 'REQUEST', 'image'),
    (currval('kudos_events_seq'), 12, 'STAT_RECORD', 'things', 'user_record', $1::integer, NULL, NULL, NULL, 2.50, 'USAGE', 'image'))"};

struct Parties {
  std::int32_t requester, owner;
  Uuid worker, team;
};

Parties parties(unsigned draw) {
  const auto user = [](unsigned n) { return static_cast<std::int32_t>(1 + n % kUsers); };
  return {user(draw * 7919), user(draw * 104729 + 1), Uuid::v5({}, std::to_string(draw % 50)),
          Uuid::v5({}, "t" + std::to_string(draw % 5))};
}

std::string document(const Parties& p) {
  const std::string requester = std::to_string(p.requester), owner = std::to_string(p.owner);
  const std::string of_worker = R"("worker":")" + p.worker.to_string() + R"(","worker_user":)" + owner +
                                R"(,"team":")" + p.team.to_string() + R"(",)";
  const auto user_line = [](const std::string& user, const char* rest) {
    return R"({"user":)" + user + "," + rest + "}";
  };
  return R"({"wp_type":"image","postings":[)" + user_line(requester, R"("entry_type":"GENERATION","amount":"-10.00")") +
         "," + user_line(owner, R"("entry_type":"GENERATION","amount":"10.00")") + R"(],"statistics":[)" +
         user_line(
             owner,
             R"("entry_type":"GENERATION","unit":"kudos","amount":"10.00","stat_action":"accumulated","record":"user_kudos")") +
         "," +
         user_line(
             owner,
             R"("entry_type":"STAT_RECORD","unit":"count","amount":1,"stat_action":"FULFILLMENT","record":"image")") +
         "," +
         user_line(
             owner,
             R"("entry_type":"STAT_RECORD","unit":"things","amount":"2.50","stat_action":"CONTRIBUTION","record":"image")") +
         "," +
         user_line(
             owner,
             R"("entry_type":"STAT_ACTIVITY","unit":"count","amount":1,"stat_action":"activity","record":"user_activity")") +
         ",{" + of_worker +
         R"("entry_type":"GENERATION","unit":"kudos","amount":"10.00","stat_action":"generated","record":"worker_kudos"},{)" +
         of_worker +
         R"("entry_type":"STAT_CONTRIBUTION","unit":"things","amount":"2.50","stat_action":"contribution","record":"contributions"},{)" +
         of_worker +
         R"("entry_type":"STAT_CONTRIBUTION","unit":"count","amount":1,"stat_action":"fulfilment","record":"fulfilments"},)" +
         user_line(
             requester,
             R"("entry_type":"GENERATION","unit":"kudos","amount":"-10.00","stat_action":"accumulated","record":"user_kudos")") +
         "," +
         user_line(requester,
                   R"("entry_type":"STAT_RECORD","unit":"count","amount":1,"stat_action":"REQUEST","record":"image")") +
         "," +
         user_line(
             requester,
             R"("entry_type":"STAT_RECORD","unit":"things","amount":"2.50","stat_action":"USAGE","record":"image")") +
         "]}";
}

void queue_plain(db::Connection& connection, unsigned draw) {
  const Parties p = parties(draw);
  connection.queue(db::kBegin);
  connection.queue(kPlainHeader, db::Params().add(Uuid::v7()));
  connection.queue(kPlainPostings, db::Params().add(p.requester).add(p.owner));
  connection.queue(kPlainStatistics, db::Params().add(p.requester).add(p.owner).add(p.worker).add(p.team));
  connection.queue(db::kCommit);
}

using Write = Status (*)(db::Connection&, unsigned draw);

template <class T>
Status status_of(Result<T> result) {
  if (!result) return std::unexpected(std::move(result).error());
  return {};
}

Status write_emit(db::Connection& connection, unsigned draw) {
  return status_of(connection.execute(kEmit, db::Params().add_text_format(document(parties(draw)))));
}

// All in one round trip, as a careful caller with a pipeline would.
Status write_pipelined(db::Connection& connection, unsigned draw) {
  queue_plain(connection, draw);
  return status_of(connection.flush());
}

// Statement by statement, as most drivers send them.
Status write_plain(db::Connection& connection, unsigned draw) {
  const Parties p = parties(draw);
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_TRY(connection.execute(kPlainHeader, db::Params().add(Uuid::v7())));
  KUDOS_TRY(connection.execute(kPlainPostings, db::Params().add(p.requester).add(p.owner)));
  KUDOS_TRY(connection.execute(kPlainStatistics, db::Params().add(p.requester).add(p.owner).add(p.worker).add(p.team)));
  return status_of(connection.execute(db::kCommit));
}

double run_clients(const sim::ScratchLedger& ledger, long clients, long seconds, Write write) {
  std::atomic<long> events{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (long client = 0; client < clients; ++client)
    threads.emplace_back([&, client] {
      auto connection = ledger.open();
      for (unsigned draw = static_cast<unsigned>(client) * 1'000'003; !stop; ++draw) {
        if (const auto done = write(connection, draw); !done) {
          std::fprintf(stderr, "bench: %s\n", done.error().to_string().c_str());
          std::exit(1);
        }
        ++events;
      }
    });
  std::this_thread::sleep_for(std::chrono::seconds(1));  // warm-up
  const long before = events;
  const auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  const double rate =
      static_cast<double>(events - before) / std::chrono::duration<double>(Clock::now() - start).count();
  stop = true;
  for (auto& thread : threads) thread.join();
  return rate;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double bulk_rate(const sim::ScratchLedger& ledger, long seconds) {
  auto client = ledger.client();
  sim::Marketplace market({.users = 400, .workers = 60, .teams = 5, .seed = 3});
  const auto check = [](const auto& result) {
    if (result) return;
    std::fprintf(stderr, "bench: %s\n", result.error().to_string().c_str());
    std::exit(1);
  };
  check(client.connection.execute(db::kBegin));
  check(ensure_users(client.session, market.users()));
  check(ensure_teams(client.session, market.teams()));
  check(ensure_workers(client.session, market.workers()));
  check(client.connection.execute(db::kCommit));
  long events = 0;
  const auto start = Clock::now();
  while (Clock::now() - start < std::chrono::seconds(seconds)) {
    std::vector<Command> jobs;
    for (int i = 0; i < 100; ++i) jobs.emplace_back(market.next_settlement());
    check(client.connection.execute(db::kBegin));
    check(emit(client.session, jobs));
    check(client.connection.execute(db::kCommit));
    events += 100;
  }
  return static_cast<double>(events) / std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

int run_emit(const Arguments& arguments) {
  const long clients = option(arguments, "clients", 16), seconds = option(arguments, "seconds", 10),
             rounds = option(arguments, "rounds", 3);
  sim::ScratchLedger ledger;
  const double bulk = bulk_rate(ledger, seconds);
  ledger.fresh_database();
  ledger.run("INSERT INTO users (id) SELECT generate_series(1, " + std::to_string(kUsers) + "); ANALYZE");
  std::vector<double> plain, pipelined, emitted, ratios, pipelined_ratios;
  for (long round = 0; round < rounds; ++round) {
    plain.push_back(run_clients(ledger, clients, seconds, write_plain));
    emitted.push_back(run_clients(ledger, clients, seconds, write_emit));
    pipelined.push_back(run_clients(ledger, clients, seconds, write_pipelined));
    ratios.push_back(emitted.back() / plain.back());
    pipelined_ratios.push_back(emitted.back() / pipelined.back());
  }
  std::printf("emit: one settlement of 12 postings a transaction, %ld clients, durable, medians of %ld rounds\n",
              clients, rounds);
  std::printf("  kudos_emit                          %8.0f events/s\n", median(emitted));
  std::printf("  plain INSERTs, one at a time        %8.0f events/s   kudos_emit is %.2f of it\n", median(plain),
              median(ratios));
  std::printf("  plain INSERTs, all in one pipeline  %8.0f events/s   kudos_emit is %.2f of it\n", median(pipelined),
              median(pipelined_ratios));
  std::printf(
      "bulk: 100 settlements a transaction from C++, one connection\n  kudos::emit              %8.0f events/s\n",
      bulk);
  if (const auto sum = ledger.ask("SELECT sum(amount) FROM kudos_postings"); sum != "0.00") {
    std::fprintf(stderr, "bench: the currency postings sum to %s\n", sum.c_str());
    return 1;
  }
  return 0;
}

}  // namespace kudos::bench
