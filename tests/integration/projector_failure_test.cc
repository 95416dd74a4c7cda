// What fails in a cycle, and that nothing is lost by it: C5, rows that a host holds, events that can't be folded.
#include <csignal>

#include "ledger/drain.h"
#include "ledger/projector_loop.h"
#include "ledger_test.h"
#include "store/health.h"

namespace kudos::testing {
namespace {

class FailureTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    make_user("alice");
    make_user("bob");
  }
  static db::Connection host(const std::string& sql) {
    auto connection = server().open();
    must(connection.run_script("BEGIN; " + sql));
    return connection;
  }
  static void drain(ledger::Projector& worker) { must(ledger::drain(worker, std::chrono::seconds(20), {})); }
  static std::string balances() { return balance("alice") + " " + balance("bob"); }
  static std::string stuck() { return ask("SELECT count(*) FROM kudos_stuck_events"); }
  // From now on the fold of an event of this user fails.
  static void poison(const std::string& name, const std::string& raise = "RAISE EXCEPTION 'a host''s trigger'") {
    server().run(
        "CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + raise +
        "; RETURN NEW; END $$; CREATE TRIGGER poison BEFORE UPDATE ON users FOR EACH ROW WHEN (NEW.external_id "
        "LIKE '" +
        name + "') EXECUTE FUNCTION poison()");
  }
  static void cure() { server().run("DROP TRIGGER poison ON users; DROP FUNCTION poison()"); }
  // Cycles, whether they fail or not, until `done`.
  static void run_until(ledger::Projector& worker, const std::function<bool()>& done) {
    for (int i = 0; i < 300 && !done(); ++i)
      if (const auto report = worker.run_once(); !report || !report->more)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(done());
  }
};

// Each counter table: a host that holds one row delays the events that add to it, and nobody else.
struct HeldCounter {
  const char* name;
  const char* lock;
};
class HeldCounterTest : public FailureTest, public ::testing::WithParamInterface<HeldCounter> {};

TEST_P(HeldCounterTest, DelaysOnlyTheEventsThatTouchIt) {
  make_user("owner");
  const Uuid busy = make_worker("busy", "owner"), idle = make_worker("idle", "owner");
  for (int i = 0; i < 2; ++i) emit_and_commit(settle("alice", busy, 1)), emit_and_commit(settle("bob", idle, 1));
  fold_all();
  auto holder = host(GetParam().lock);
  emit_and_commit(settle("alice", busy, 2));
  emit_and_commit(top_up("bob", 7));
  auto worker = projector();
  const auto found_out = worker.run_once();
  ASSERT_FALSE(found_out.has_value()) << "by its lock timeout";
  EXPECT_EQ(found_out.error().sqlstate, "55P03");
  const auto report = must(worker.run_once());
  EXPECT_EQ(report.events, 1);
  EXPECT_EQ(report.blocked_events, 1);
  EXPECT_EQ(
      ask("SELECT value FROM user_stats s JOIN users u ON u.id = s.user_id WHERE external_id = 'bob' AND action = "
          "'topped_up'"),
      "7.00");
  for (int i = 0; i < 20; ++i) {
    emit_and_commit(top_up("bob", 1));
    EXPECT_EQ(must(worker.run_once()).events, 1) << "and goes on";
  }
  EXPECT_EQ(stuck(), "0");
  must(holder.run_script("COMMIT"));
  drain(worker);
  EXPECT_EQ(ask("SELECT value FROM worker_stats s JOIN workers w ON w.id = s.worker_id WHERE name = 'busy'"), "4.00");
}

INSTANTIATE_TEST_SUITE_P(
    Tables, HeldCounterTest,
    ::testing::Values(
        HeldCounter{"user_stats",
                    "SELECT FROM user_stats s JOIN users u ON u.id = s.user_id WHERE external_id = 'alice' "
                    "FOR UPDATE OF s"},
        HeldCounter{"user_records",
                    "SELECT FROM user_records s JOIN users u ON u.id = s.user_id WHERE external_id = "
                    "'alice' FOR UPDATE OF s"},
        HeldCounter{"worker_stats",
                    "SELECT FROM worker_stats s JOIN workers w ON w.id = s.worker_id WHERE name = 'busy' "
                    "FOR UPDATE OF s"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(FailureTest, AnEventThatCantBeFoldedIsIsolatedAndTheOthersFold) {
  poison("alice");
  for (int i = 0; i < 20; ++i) emit_and_commit(top_up(i == 11 ? "alice" : "bob", 1));
  auto worker = projector();
  run_until(worker, [] { return pending() == "1"; });
  EXPECT_EQ(balances(), "0.00 19.00");
  EXPECT_EQ(ask("SELECT attempts || ' ' || message FROM kudos_stuck_events"), "1 a host's trigger");
  EXPECT_EQ(ask("SELECT s.event_id = e.event_id FROM kudos_stuck_events s JOIN kudos_events e ON e.seq = s.event_seq "
                "WHERE e.fold_id IS NULL"),
            "t");
  auto connection = server().open();
  EXPECT_EQ(must(store::read_health(connection)).stuck_events, 1) << "another process sees it";
  // Events go on; the stuck one is tried again, later and later.
  emit_and_commit(top_up("bob", 1));
  EXPECT_EQ(must(worker.run_once()).events, 1);
  run_until(worker, [] { return ask("SELECT attempts >= 2 FROM kudos_stuck_events") == "t"; });
  cure();
  drain(worker);
  EXPECT_EQ(balances(), "1.00 20.00");
  EXPECT_EQ(stuck(), "0");
  EXPECT_EQ(must(store::read_health(connection)).stuck_events, 0);
}

TEST_F(FailureTest, TheNextProjectorKnowsWhatIsStuck) {
  poison("alice");
  emit_and_commit(top_up("alice", 1));
  auto first = projector();
  run_until(first, [] { return stuck() == "1"; });
  for (int i = 0; i < 5; ++i) emit_and_commit(top_up("bob", 1));
  auto second = projector();
  EXPECT_EQ(must(second.run_once()).events, 5) << "without a failure";
  cure();
  drain(second);
  EXPECT_EQ(balances(), "1.00 5.00");
  EXPECT_EQ(stuck(), "0");
}

TEST_F(FailureTest, ManyPoisonousEventsInARowDontStopTheOthers) {
  poison("alice");
  auto client = begin();
  must(emit(client.session, std::vector<Command>(8, top_up("alice", 1))));
  commit(client);
  emit_and_commit(top_up("bob", 1));
  auto worker = projector();
  run_until(worker, [] { return balance("bob") == "1.00"; });
  EXPECT_EQ(stuck(), "8");
  cure();
  drain(worker);
  EXPECT_EQ(balances(), "8.00 1.00");
}

TEST_F(FailureTest, WhenEverythingFailsNothingIsLost) {
  poison("%");
  for (int i = 0; i < 10; ++i) emit_and_commit(top_up(i % 2 == 0 ? "alice" : "bob", 1));
  auto worker = projector();
  int failures = 0;
  for (int i = 0; i < 8; ++i) failures += worker.run_once().has_value() ? 0 : 1;
  EXPECT_GE(failures, 4) << "it asks for a pause again and again";
  EXPECT_EQ(balances(), "0.00 0.00");
  EXPECT_EQ(pending(), "10");
  cure();
  drain(worker);
  EXPECT_EQ(balances(), "5.00 5.00");
}

// A set-aside by one projector, folded by another that didn't know: the list forgets it.
TEST_F(FailureTest, AnEventFoldedByAnotherIsForgotten) {
  emit_and_commit(top_up("alice", 1));
  auto worker = projector();
  server().run(
      "INSERT INTO kudos_stuck_events (event_seq, event_id, message) SELECT seq, event_id, 'x' FROM kudos_events");
  EXPECT_EQ(fold_all(worker), 1) << "it has read the list before";
  auto next = projector();
  EXPECT_EQ(stuck(), "0");
}

class LoopFailureTest : public FailureTest {
 protected:
  static ledger::LoopOptions options() {
    return {.conninfo = server().conninfo(), .projector = {.interval = std::chrono::milliseconds(100)}, .log = {}};
  }
  static void wait_until(const std::function<bool()>& done) {
    for (int i = 0; i < 3000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(done());
  }
};

// C5: each kind that passes, twice in a row, in the middle of a cycle's writes.
struct Passing {
  ledger::FailureKind kind;
  const char* sqlstate;
};
class PassingFailureTest : public LoopFailureTest, public ::testing::WithParamInterface<Passing> {};

TEST_P(PassingFailureTest, IsRolledBackCountedAndTriedAgain) {
  server().run("CREATE SEQUENCE tries");
  poison("alice", std::string("IF nextval('tries') <= 2 THEN RAISE EXCEPTION 'now and then' USING ERRCODE = '") +
                      GetParam().sqlstate + "'; END IF");
  emit_and_commit(top_up("alice", 1));
  emit_and_commit(top_up("bob", 2));
  ledger::ProjectorLoop loop(options());
  loop.start();
  wait_until([] { return pending() == "0"; });
  wait_until([&] { return loop.stats().events == 2; });
  loop.stop();
  EXPECT_EQ(balances(), "1.00 2.00");
  const auto stats = loop.stats();
  EXPECT_EQ(stats.failures, 2);
  EXPECT_EQ(stats.failures_by_kind[static_cast<std::size_t>(GetParam().kind)], 2);
  EXPECT_EQ(stuck(), "0") << "nobody is to blame";
}

INSTANTIATE_TEST_SUITE_P(Kinds, PassingFailureTest,
                         ::testing::Values(Passing{ledger::FailureKind::deadlock, "40P01"},
                                           Passing{ledger::FailureKind::serialization, "40001"},
                                           Passing{ledger::FailureKind::lock_timeout, "55P03"},
                                           Passing{ledger::FailureKind::statement_timeout, "57014"}),
                         [](const auto& info) { return std::string(ledger::failure_name(info.param.kind)); });

TEST_F(LoopFailureTest, AStuckEventIsReported) {
  poison("alice");
  emit_and_commit(top_up("alice", 1));
  emit_and_commit(top_up("bob", 2));
  std::mutex mutex;
  std::string said;
  auto settings = options();
  settings.log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    said += line + "\n";
  };
  ledger::ProjectorLoop loop(settings);
  loop.start();
  wait_until([] { return balance("bob") == "2.00"; });
  wait_until([&] { return loop.stats().stuck_events == 1; });
  cure();
  wait_until([] { return pending() == "0"; });
  wait_until([&] { return loop.stats().stuck_events == 0; });
  loop.stop();
  EXPECT_NE(said.find("can't be folded"), std::string::npos) << said;
  EXPECT_GE(loop.stats().failures_by_kind[static_cast<std::size_t>(ledger::FailureKind::unexpected)], 2);
}

// The server crashes in the middle of a cycle (one of its processes is killed, so it recovers as after a power cut).
TEST_F(LoopFailureTest, AServerCrashInMidCycleLosesNothing) {
  emit_and_commit(top_up("alice", 1));
  fold_all();
  emit_and_commit(top_up("alice", 2));
  poison("alice", "PERFORM pg_sleep(3)");
  ledger::ProjectorLoop loop(options());
  loop.start();
  const std::string backend = "FROM pg_stat_activity WHERE query LIKE '%UPDATE%users%' AND wait_event = 'PgSleep'";
  wait_until([&] { return ask("SELECT count(*) " + backend) == "1"; });
  ::kill(std::stoi(ask("SELECT pid " + backend)), SIGKILL);
  // First that the connection went, or the look would come before the crash.
  wait_until([&] { return loop.stats().reconnections > 0; });
  wait_until([] { return db::Connection::open(server().conninfo()).has_value(); });
  cure();
  wait_until([] { return pending() == "0"; });
  loop.stop();
  EXPECT_EQ(balance("alice"), "3.00");
  const auto counts = loop.stats().failures_by_kind;
  EXPECT_GE(counts[static_cast<std::size_t>(ledger::FailureKind::connection)] +
                counts[static_cast<std::size_t>(ledger::FailureKind::in_doubt)],
            1);
}

TEST_F(LoopFailureTest, StopsEvenWhileItsBackendHangs) {
  poison("alice", "PERFORM pg_sleep(25)");
  emit_and_commit(top_up("alice", 1));
  auto settings = options();
  settings.stop_patience = std::chrono::milliseconds(300);
  ledger::ProjectorLoop loop(settings);
  loop.start();
  wait_until([] { return ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1"; });
  const auto start = std::chrono::steady_clock::now();
  loop.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  // The server notices that nobody listens, well before the statement ends, and rolls back.
  wait_until([] { return ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "0"; });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
  EXPECT_EQ(pending(), "1");
  cure();
  fold_all();
  EXPECT_EQ(balance("alice"), "1.00");
}

}  // namespace
}  // namespace kudos::testing
