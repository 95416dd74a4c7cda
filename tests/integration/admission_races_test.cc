// Admission under concurrency: twins of a key, races for the same funds, holds and deadlines, group commit, failures.
#include <algorithm>
#include <atomic>
#include <future>
#include <latch>

#include "admission_test.h"

namespace kudos::testing {
namespace {

class RacesTest : public AdmissionTest {
 protected:
  // Runs the commands at once, each on a connection of its own; results in the order given.
  static std::vector<Result<Receipt>> race(const std::vector<Command>& commands) {
    std::vector<std::future<Result<Receipt>>> runs;
    std::latch start(static_cast<std::ptrdiff_t>(commands.size()));
    for (const Command& command : commands)
      runs.push_back(std::async(std::launch::async, [&] {
        start.arrive_and_wait();
        return run(command);
      }));
    std::vector<Result<Receipt>> results;
    for (auto& each : runs) results.push_back(each.get());
    return results;
  }

  static long accepted(const std::vector<Result<Receipt>>& results) {
    return std::ranges::count_if(results, [](const auto& result) { return result.has_value(); });
  }
  static long refused(const std::vector<Result<Receipt>>& results, ErrorCode code) {
    return std::ranges::count_if(results, [&](const auto& result) { return !result && result.error().code == code; });
  }

  static BatcherOptions batching() { return {.conninfo = server().conninfo()}; }
};

// A1
TEST_F(RacesTest, ManyHoldsNeverClaimMoreThanThereIs) {
  make_funded("alice", 5000);
  std::vector<Command> commands;
  for (int i = 0; i < 20; ++i) commands.push_back(reserve("alice", 1000, "hold " + std::to_string(i)));
  const auto results = race(commands);
  EXPECT_EQ(accepted(results), 5);
  EXPECT_EQ(refused(results, ErrorCode::insufficient_funds), 15);
  EXPECT_EQ(available("alice"), "0.00");
  EXPECT_EQ(balance("alice"), "5000.00");
}

// A3
TEST_F(RacesTest, OneOfTwoCapturesOfAllWins) {
  make_funded("alice", 1000);
  must(run(reserve("alice", 1000, "h")));
  const auto results = race({capture("h", 1000), capture("h", 1000)});
  EXPECT_EQ(accepted(results), 1);
  EXPECT_EQ(refused(results, ErrorCode::hold_ended), 1);
  EXPECT_EQ(available("alice"), "0.00");
}

// A13
TEST_F(RacesTest, OneOfTwoTransfersOfTheSameFundsWins) {
  make_funded("alice", 100);
  for (const char* name : {"bob", "carol"}) make_funded(name, 0);
  const auto results = race({transfer("alice", "bob", 80), transfer("alice", "carol", 80)});
  EXPECT_EQ(accepted(results), 1);
  EXPECT_EQ(refused(results, ErrorCode::insufficient_funds), 1);
}

// I1
TEST_F(RacesTest, FiftyTwinsAreOneEvent) {
  make_funded("alice", 100);
  make_funded("bob", 0);
  const auto results = race(std::vector<Command>(50, keyed(transfer("alice", "bob", 30), "k")));
  ASSERT_EQ(accepted(results), 50);
  EXPECT_EQ(std::ranges::count_if(results, [](const auto& result) { return result->replayed; }), 49);
  for (const auto& result : results) EXPECT_EQ(result->event_id, results.front()->event_id);
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events e JOIN kudos_postings p ON p.event_seq = e.seq WHERE entry_type = "
                "'TRANSFER' AND amount < 0"),
            "1");
  EXPECT_EQ(available("alice"), "70.00");
}

// The same key for other payers: their locks don't meet, the unique index decides.
TEST_F(RacesTest, OneKeyOfManyPayersIsOneEventAndConflicts) {
  std::vector<Command> commands;
  make_funded("sink of gifts", 0);
  for (int i = 0; i < 8; ++i) {
    const std::string payer = "payer " + std::to_string(i);
    make_funded(payer, 100);
    commands.push_back(keyed(transfer(payer, "sink of gifts", 5), "k"));
    commands.push_back(keyed(reserve(payer, 5, "hold of " + payer), "k"));
  }
  const auto results = race(commands);
  EXPECT_EQ(accepted(results), 2) << "one transfer, one hold: kinds are scopes";
  EXPECT_EQ(refused(results, ErrorCode::idempotency_conflict), 14);
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_transfers"), "1");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_reservations WHERE owner_event_id IS NULL"), "1");
}

TEST_F(RacesTest, OneIdOfManyPayersIsOneHold) {
  std::vector<Command> commands;
  for (int i = 0; i < 8; ++i) {
    make_funded("payer " + std::to_string(i), 100);
    commands.push_back(reserve("payer " + std::to_string(i), 5, "h"));
  }
  const auto results = race(commands);
  EXPECT_EQ(accepted(results), 1);
  EXPECT_EQ(refused(results, ErrorCode::hold_conflict), 7);
}

// V11
TEST_F(RacesTest, OneOfTwoOppositeTransfersPasses) {
  make_funded("alice", 100);
  make_funded("bob", 100);
  const auto results = race({transfer("alice", "bob", 10), transfer("bob", "alice", 10)});
  EXPECT_EQ(accepted(results), 1);
  EXPECT_EQ(refused(results, ErrorCode::reverse_transfer), 1);
}

// A late capture and the sweeper: one winner, one fate.
TEST_F(RacesTest, TheSweeperAndACaptureHaveOneWinner) {
  make_funded("alice", 1000);
  for (int round = 0; round < 10; ++round) {
    const std::string hold = "h" + std::to_string(round);
    auto short_lived = reserve("alice", 10, hold);
    short_lived.lifetime = std::chrono::seconds(1000);
    must(run(short_lived));
    server().run(
        "UPDATE kudos_reservations SET expires = clock_timestamp() + interval '20 ms' WHERE reservation_id = '" + hold +
        "'");
    std::atomic<bool> done{false};
    auto sweeping = std::async(std::launch::async, [&] {
      auto connection = server().open();
      while (!done) must(store::sweep_holds(connection, store::lock_keys("public"), 10));
      must(store::sweep_holds(connection, store::lock_keys("public"), 10));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(15 + round));
    const auto captured = run(capture(hold, 10));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    done = true;
    sweeping.get();
    EXPECT_EQ(hold_state(hold), captured ? "consumed" : "expired");
  }
}

// V12: bulks with the same keys in opposite order.
TEST_F(RacesTest, BatchesWithTheSameKeysInAnyOrderMeetWithoutADeadlock) {
  make_funded("bob", 0);
  std::vector<Command> commands;
  for (int i = 0; i < 40; ++i) {
    make_funded("p" + std::to_string(i), 100);
    commands.push_back(keyed(transfer("p" + std::to_string(i), "bob", 1), "k" + std::to_string(i)));
  }
  auto reversed = commands;
  std::ranges::reverse(reversed);
  RetryCounters counters;
  const auto emit_all = [&](const std::vector<Command>& batch) {
    auto client = server().client();
    must(run_transaction(
        client.session,
        [&]() -> Status {
          auto receipts = emit(client.session, batch);
          if (!receipts) return std::unexpected(receipts.error());
          for (const auto& receipt : *receipts) EXPECT_TRUE(receipt.has_value());
          return {};
        },
        {}, &counters));
  };
  auto one = std::async(std::launch::async, [&] { emit_all(commands); });
  auto two = std::async(std::launch::async, [&] { emit_all(reversed); });
  one.get();
  two.get();
  EXPECT_EQ(counters.deadlocks, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_transfers"), "40");
}

// A service's own rows in the wrong order: the victim runs again, and both get through.
TEST_F(RacesTest, ADeadlockOfTheServicesOwnRowsIsRetried) {
  make_funded("alice", 100);
  make_funded("bob", 0);
  server().run("CREATE TABLE jobs (id integer PRIMARY KEY, state text); INSERT INTO jobs VALUES (1, ''), (2, '')");
  RetryCounters counters;
  std::latch both(2);
  const auto activate = [&](int first, int second) {
    auto client = server().client();
    bool waited = false;
    must(run_transaction(
        client.session,
        [&]() -> Status {
          const auto touch = [&](int job) {
            return client.connection.run_script("UPDATE jobs SET state = 'active' WHERE id = " + std::to_string(job));
          };
          if (auto done = touch(first); !done) return done;
          if (!waited) both.arrive_and_wait();
          waited = true;
          if (auto done = touch(second); !done) return done;
          const auto receipt = emit(client.session, transfer("alice", "bob", 10));
          if (!receipt) return std::unexpected(receipt.error());
          return {};
        },
        {}, &counters));
  };
  auto one = std::async(std::launch::async, [&] { activate(1, 2); });
  auto two = std::async(std::launch::async, [&] { activate(2, 1); });
  one.get();
  two.get();
  EXPECT_GE(counters.deadlocks, 1);
  EXPECT_EQ(counters.given_up, 0);
  EXPECT_EQ(available("alice"), "80.00");
}

// Group commit --------------------------------------------------------------------------------------------------------

TEST_F(RacesTest, ABatcherGathersWhatComesTogether) {
  make_funded("alice", 1000);
  make_funded("bob", 0);
  auto options = batching();
  options.lanes = 1;
  options.linger = std::chrono::milliseconds(50);
  Batcher batcher(options);
  std::vector<std::future<Result<Receipt>>> answers;
  for (int i = 0; i < 100; ++i) answers.push_back(batcher.submit(transfer("alice", "bob", 11)));
  long accepted = 0;
  for (auto& answer : answers) accepted += answer.get().has_value();
  EXPECT_EQ(accepted, 90) << "running availability inside a batch";
  EXPECT_LE(batcher.stats().batches, 5);
  EXPECT_EQ(batcher.stats().commands, 100);
  EXPECT_EQ(batcher.stats().refused, 10);
  EXPECT_EQ(available("alice"), "10.00");
}

// One command that the database refuses can't fail its neighbours.
TEST_F(RacesTest, APoisonedCommandIsFoundByHalving) {
  make_funded("alice", 1000);
  make_funded("bob", 0);
  server().run(R"(
    CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.amount = 13 THEN RAISE 'poison'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER poison BEFORE INSERT ON kudos_transfers FOR EACH ROW EXECUTE FUNCTION poison())");
  auto options = batching();
  options.lanes = 1;
  options.linger = std::chrono::milliseconds(50);
  Batcher batcher(options);
  std::vector<std::future<Result<Receipt>>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(batcher.submit(transfer("alice", "bob", i == 7 ? 13 : 1)));
  for (int i = 0; i < 20; ++i) {
    const auto answer = answers[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(answer.has_value(), i != 7);
    if (!answer) EXPECT_NE(answer.error().message.find("poison"), std::string::npos);
  }
  EXPECT_GE(batcher.stats().halvings, 4);
  EXPECT_EQ(available("alice"), "981.00");
}

// I4, V13: connections are cut again and again, also while they commit; every command has its effect once.
TEST_F(RacesTest, CutConnectionsLoseAndDoubleNothing) {
  make_funded("alice", 100'000);
  make_funded("bob", 0);
  auto options = batching();
  options.outage = std::chrono::seconds(120);
  Batcher batcher(options);
  std::atomic<bool> done{false};
  auto cutting = std::async(std::launch::async, [&] {
    while (!done) {
      ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
          "pg_backend_pid()");
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
    }
  });
  std::vector<std::thread> callers;
  std::atomic<long> accepted{0};
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 50; ++i) {
        Command command = transfer("alice", "bob", 1);
        if (i % 2 == 0) command = keyed(transfer("alice", "bob", 1), std::to_string(caller) + "/" + std::to_string(i));
        const auto receipt = batcher.run(command);
        if (receipt)
          ++accepted;
        else
          ADD_FAILURE() << receipt.error().to_string();
      }
    });
  for (auto& caller : callers) caller.join();
  done = true;
  cutting.get();
  EXPECT_GT(batcher.stats().reconnections, 0);
  EXPECT_EQ(accepted, 400);
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_transfers"), "400");
  EXPECT_EQ(available("alice"), "99600.00");
}

// A caller that fixed the id, and sends the same command again: what is there counts as done.
TEST_F(RacesTest, AFixedIdIsDoneOnce) {
  make_funded("alice", 100);
  make_funded("bob", 0);
  auto gift = transfer("alice", "bob", 80);
  gift.options.event_id = Uuid::v7();
  auto estimate = reserve("alice", 10, "h");
  estimate.options.event_id = Uuid::v7();
  auto options = batching();
  options.linger = std::chrono::milliseconds(50);
  Batcher batcher(options);
  // Twice in one batch, with a neighbour, and once more later.
  auto neighbour = batcher.submit(top_up("bob", 1));
  auto one = batcher.submit(gift), two = batcher.submit(gift), held = batcher.submit(estimate);
  EXPECT_TRUE(neighbour.get().has_value());
  const auto first = must(one.get());
  EXPECT_EQ(must(two.get()).seq, first.seq);
  const auto later = must(batcher.run(gift));
  EXPECT_EQ(later.event_id, *gift.options.event_id);
  EXPECT_EQ(later.hold, first.hold);
  EXPECT_EQ(later.amount.to_string(), "80.00");
  const auto hold = must(held.get()).hold;
  must(batcher.run(Release{.hold = "h"}));
  EXPECT_EQ(must(batcher.run(estimate)).hold, hold);
  EXPECT_EQ(hold_state("h"), "released") << "the same command again reserves nothing";
  EXPECT_EQ(available("alice"), "20.00");
}

// A user who appears between the look for the name and the locks.
TEST_F(RacesTest, AUserWhoAppearsMeanwhileIsJudgedAfresh) {
  make_funded("alice", 100);
  must(run(reserve("alice", 10, "h")));
  auto holder = server().open();
  must(holder.run_script("BEGIN; SELECT FROM kudos_reservations FOR UPDATE"));
  auto waiting = std::async(std::launch::async, [&] { return run(reserve("late", 10, "h")); });
  while (ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "0")
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  make_user("late");
  must(holder.run_script("UPDATE kudos_reservations SET state = 'released', ended = now(), reason = 'x'; COMMIT"));
  EXPECT_EQ(refusal(waiting.get()), ErrorCode::insufficient_funds);
}

TEST_F(RacesTest, AFullQueueRefusesAtOnce) {
  make_funded("alice", 1000);
  auto holder = begin();
  must(emit(holder.session, reserve("alice", 1, "h")));  // keeps alice's lock
  auto options = batching();
  options.lanes = 1;
  options.queue_limit = 3;
  options.linger = {};
  Batcher batcher(options);
  std::vector<std::future<Result<Receipt>>> answers;
  answers.push_back(batcher.submit(reserve("alice", 1, "first")));
  while (batcher.stats().waiting > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int i = 0; i < 4; ++i) answers.push_back(batcher.submit(reserve("alice", 1, "i" + std::to_string(i))));
  EXPECT_EQ(refusal(answers.back().get()), ErrorCode::overloaded);
  commit(holder);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(answers[i].get().has_value());
  batcher.stop();
  EXPECT_EQ(refusal(batcher.run(reserve("alice", 1, "late"))), ErrorCode::overloaded);
  EXPECT_EQ(batcher.stats().overloaded, 2);
}

// A caller that goes away: its command is done, and no lock stays.
TEST_F(RacesTest, ACallerThatGoesAwayLeavesNoLock) {
  make_funded("alice", 100);
  {
    Batcher batcher(batching());
    for (int i = 0; i < 10; ++i) {
      [[maybe_unused]] auto ignored = batcher.submit(reserve("alice", 1, std::to_string(i)));
    }
  }
  EXPECT_EQ(available("alice"), "90.00");
  EXPECT_EQ(ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
}

// C8: a refusal leaves its connection usable by the next caller.
TEST_F(RacesTest, ARefusalLeavesItsLaneUsable) {
  make_funded("alice", 100);
  auto options = batching();
  options.lanes = 1;
  Batcher batcher(options);
  EXPECT_EQ(refusal(batcher.run(reserve("alice", 101, "h"))), ErrorCode::insufficient_funds);
  EXPECT_EQ(refusal(batcher.run(reserve("nobody", 1, "h"))), ErrorCode::unknown_user);
  EXPECT_EQ(refusal(batcher.run(capture("no such", 1))), ErrorCode::unknown_hold);
  EXPECT_TRUE(batcher.run(reserve("alice", 100, "h")).has_value());
  EXPECT_EQ(batcher.stats().reconnections, 0);
}

}  // namespace
}  // namespace kudos::testing
