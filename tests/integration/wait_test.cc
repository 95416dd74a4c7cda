// Waiting (scenario P5): prompt, and truthful under late commits.
#include "kudos/wait.h"

#include <future>

#include "ledger/drain.h"
#include "ledger/projector_loop.h"
#include "ledger_test.h"

namespace kudos::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class WaitTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    make_user("alice");
    make_user("bob");
  }
  static Status wait_all(std::chrono::milliseconds timeout) {
    auto client = server().client();
    return wait_for_all(client.session, timeout);
  }
  static Result<WaitOutcome> wait_event(const Uuid& event, std::chrono::milliseconds timeout) {
    auto client = server().client();
    return wait_for_event(client.session, event, timeout);
  }
  // An event that a fold can't take, whatever else it takes.
  static db::Connection hold(EventSeq seq) {
    auto connection = server().open();
    must(connection.run_script("BEGIN; SELECT FROM kudos_events WHERE seq = " + std::to_string(seq.value) +
                               " FOR UPDATE"));
    return connection;
  }
};

TEST_F(WaitTest, AnEventIsWaitedForUntilItsFoldCommits) {
  const auto receipt = emit_and_commit(top_up("alice", 5));
  EXPECT_EQ(wait_event(receipt.event_id, 0ms).error().code, ErrorCode::timed_out);
  auto waiting = std::async(std::launch::async, [&] {
    auto client = server().client();
    const auto outcome = wait_for_event(client.session, receipt.event_id, 20s);
    return std::pair(outcome, balance("alice"));
  });
  EXPECT_EQ(waiting.wait_for(150ms), std::future_status::timeout);
  fold_all();
  const auto folded = Clock::now();
  const auto [outcome, seen] = waiting.get();
  EXPECT_LT(Clock::now() - folded, 2s);
  EXPECT_EQ(must(outcome), WaitOutcome::folded);
  EXPECT_EQ(seen, "5.00") << "who waited sees the effect";
}

TEST_F(WaitTest, AWaitThatIsInVainEndsInTime) {
  const auto receipt = emit_and_commit(top_up("alice", 5));
  const auto start = Clock::now();
  const auto outcome = wait_event(receipt.event_id, 200ms);
  EXPECT_EQ(outcome.error().code, ErrorCode::timed_out);
  EXPECT_GE(Clock::now() - start, 200ms);
  EXPECT_LT(Clock::now() - start, 3s);
}

TEST_F(WaitTest, ASpoiltEventIsSaidToBeSetAside) {
  server().run(R"(INSERT INTO kudos_events (event_id, posting_count) VALUES ('00000000-0000-0000-0000-000000000007', 1);
INSERT INTO kudos_stat_postings (event_seq, line, entry_type, unit, user_id, amount, stat_action, record)
    VALUES (currval('kudos_events_seq'), 1, 'AWARD', 'kudos', 1, 1, 'x', 'nonsense'))");
  const Uuid id = must(Uuid::parse("00000000-0000-0000-0000-000000000007"));
  EXPECT_FALSE(wait_all(0ms).has_value());
  fold_all();
  EXPECT_EQ(must(wait_event(id, 0ms)), WaitOutcome::quarantined);
  EXPECT_TRUE(wait_all(0ms).has_value()) << "it counts as progress";
  EXPECT_EQ(ask("SELECT kudos_wait('00000000-0000-0000-0000-000000000007')"), "quarantined");
}

TEST_F(WaitTest, AnEventAppliedInlineIsNotWaitedFor) {
  server().run("UPDATE kudos_ledger_control SET mode = 'shadow'");
  const std::string id = ask(
      R"(SELECT event_id FROM kudos_emit('{"postings": [{"entry_type": "AWARD", "user": 1, "amount": 1},
         {"entry_type": "AWARD", "user": -1, "amount": -1}]}', project => false))");
  EXPECT_EQ(must(wait_event(must(Uuid::parse(id)), 0ms)), WaitOutcome::folded);
  EXPECT_TRUE(wait_all(0ms).has_value());
  server().run("UPDATE users SET kudos = 1 WHERE id = 1");  // the caller's own inline code
}

// "Everything up to now": what is committed and visible when the call begins, whatever its number.
TEST_F(WaitTest, ALateCommitIsWaitedForOnlyWhenItCameBeforeTheCall) {
  auto late = begin();
  const auto lower = must(emit(late.session, top_up("alice", 1)));
  emit_and_commit(top_up("bob", 1));
  fold_all();
  EXPECT_TRUE(wait_all(0ms).has_value()) << "the lower one isn't committed";
  auto client = server().client();
  const std::string before = ask("SELECT kudos_wait_position()");
  commit(late);
  auto holder = hold(lower.seq);
  EXPECT_EQ(ask("SELECT kudos_folded_up_to('" + before + "')"), "t") << "it came after that position was taken";
  EXPECT_EQ(wait_all(100ms).error().code, ErrorCode::timed_out) << "now it is part of what is waited for";
  must(holder.run_script("COMMIT"));
  auto worker = projector();
  must(ledger::drain(worker, 20s, {}));
  EXPECT_TRUE(wait_all(0ms).has_value());
}

TEST_F(WaitTest, WhatCommitsDuringTheWaitIsNotPartOfIt) {
  emit_and_commit(top_up("alice", 1));
  auto waiting = std::async(std::launch::async, [&] { return wait_all(20s); });
  while (ask("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%kudos_folded_up_to%' AND pid <> "
             "pg_backend_pid()") == "0")
    std::this_thread::sleep_for(5ms);
  const auto newer = emit_and_commit(top_up("bob", 1));
  auto holder = hold(newer.seq);
  auto worker = projector();
  EXPECT_EQ(must(worker.run_once()).events, 1);
  EXPECT_TRUE(waiting.get().has_value());
  EXPECT_EQ(pending(), "1");
  EXPECT_EQ(wait_all(0ms).error().code, ErrorCode::timed_out);
}

// Under a running projector and writers: after every wait, everything that was committed before it is folded.
TEST_F(WaitTest, EveryWaitIsTruthfulUnderLoad) {
  ledger::ProjectorLoop loop(
      {.conninfo = server().conninfo(), .connection = {}, .projector = {.interval = 50ms}, .log = {}});
  loop.start();
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i)
    writers.emplace_back([&] {
      auto client = server().client();
      while (!stop) {
        must(client.connection.execute(db::kBegin));
        must(emit(client.session, top_up("bob", 1)));
        std::this_thread::sleep_for(1ms);
        must(client.connection.execute(db::kCommit));
      }
    });
  auto client = server().client();
  for (int i = 0; i < 40; ++i) {
    const std::string unfolded =
        ask("SELECT coalesce(string_agg(seq::text, ','), '0') FROM kudos_events WHERE fold_id IS NULL");
    must(wait_for_all(client.session, 20s));
    EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE fold_id IS NULL AND seq IN (" + unfolded + ")"), "0");
  }
  stop = true;
  for (auto& writer : writers) writer.join();
  must(wait_for_all(client.session, 20s));
  EXPECT_EQ(pending(), "0");
  loop.stop();
}

TEST_F(WaitTest, WhatIsRefused) {
  const auto receipt = emit_and_commit(top_up("alice", 1));
  auto client = begin();
  EXPECT_EQ(wait_for_event(client.session, receipt.event_id, 1s).error().code, ErrorCode::in_transaction);
  EXPECT_EQ(wait_for_all(client.session, 1s).error().code, ErrorCode::in_transaction);
  const auto uncommitted = must(emit(client.session, top_up("alice", 1)));
  EXPECT_EQ(wait_event(uncommitted.event_id, 1s).error().code, ErrorCode::unknown_event);
  EXPECT_EQ(wait_event(Uuid::v7(), 1s).error().code, ErrorCode::unknown_event);
  fold_all();
}

TEST_F(WaitTest, NoTransactionIsHeldOpenBetweenPolls) {
  const auto receipt = emit_and_commit(top_up("alice", 1));
  auto client = server().client();
  const std::string state = "SELECT state || coalesce(backend_xmin::text, '') FROM pg_stat_activity WHERE pid = " +
                            std::to_string(client.connection.backend_pid());
  auto waiting = std::async(std::launch::async, [&] { return wait_for_event(client.session, receipt.event_id, 20s); });
  std::this_thread::sleep_for(200ms);
  int idle = 0;
  for (int i = 0; i < 20; ++i) idle += ask(state) == "idle" ? 1 : 0;
  EXPECT_GT(idle, 10);
  fold_all();
  must(waiting.get());
}

TEST_F(WaitTest, FromSql) {
  const auto receipt = emit_and_commit(top_up("alice", 1));
  const std::string id = "'" + receipt.event_id.to_string() + "'";
  EXPECT_EQ(ask("SELECT kudos_is_folded(" + id + ")"), "f");
  const std::string position = ask("SELECT kudos_wait_position()");
  EXPECT_EQ(ask("SELECT kudos_folded_up_to('" + position + "')"), "f");
  auto connection = server().open();
  EXPECT_EQ(connection.run_script("SELECT kudos_wait(" + id + ", '50 ms')").error().code, ErrorCode::timed_out);
  EXPECT_EQ(connection.run_script("SELECT kudos_wait_all('50 ms')").error().code, ErrorCode::timed_out);
  EXPECT_EQ(connection.run_script("SELECT kudos_wait(gen_random_uuid())").error().code, ErrorCode::unknown_event);
  EXPECT_EQ(connection.run_script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT kudos_wait(" + id + ")").error().code,
            ErrorCode::wrong_isolation_level);
  connection.roll_back();
  EXPECT_EQ(connection.run_script("BEGIN; UPDATE users SET trusted = true; SELECT kudos_wait(" + id + ")").error().code,
            ErrorCode::in_transaction);
  connection.roll_back();
  // Truthful inside one statement: it began before the fold committed.
  auto waiting = std::async(std::launch::async, [&] { return ask("SELECT kudos_wait(" + id + ", '20 s')"); });
  auto all = std::async(std::launch::async, [&] { return ask("SELECT kudos_wait_all('20 s')"); });
  EXPECT_EQ(waiting.wait_for(150ms), std::future_status::timeout);
  fold_all();
  EXPECT_EQ(waiting.get(), "folded");
  all.get();
  EXPECT_EQ(ask("SELECT kudos_is_folded(" + id + ")"), "t");
  EXPECT_EQ(ask("SELECT kudos_folded_up_to('" + position + "')"), "t");
}

}  // namespace
}  // namespace kudos::testing
