// P2: the projector as a process that is killed at any moment. What was accepted is folded exactly once, whatever dies.
#include <csignal>
#include <random>

#include "db/process.h"
#include "ledger_test.h"
#include "sim/marketplace.h"

namespace kudos::testing {
namespace {

class ProjectorProcessTest : public LedgerTest {
 protected:
  static db::Process start_projector() {
    const char* binary = std::getenv("KUDOS_BINARY");
    EXPECT_NE(binary, nullptr) << "KUDOS_BINARY names the kudos program";
    return must(db::Process::spawn({.argv = {binary, "projector", "--database-url", server().conninfo()},
                                    .output_file = server().directory() / "projector.log"}));
  }
  static void wait_until(const std::function<bool()>& done) {
    for (int i = 0; i < 1000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(done());
  }
  static bool projector_waits() {
    return ask("SELECT count(*) FROM pg_locks WHERE NOT granted AND database IS NOT NULL") != "0" ||
           ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "0";
  }
  static bool nobody_projects() { return ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == "0"; }
  // Starts a projector, which must run into a lock that the caller holds, and kills it there.
  static void kill_waiting_projector() {
    auto process = start_projector();
    wait_until(projector_waits);
    process.signal(SIGKILL);
    process.wait(std::chrono::seconds(10));
  }
};

TEST_F(ProjectorProcessTest, KilledWhileItClaimsItLeavesNoTrace) {
  make_user("alice");
  emit_and_commit(top_up("alice", 1));
  auto holder = server().open();
  must(holder.run_script("BEGIN; LOCK TABLE kudos_events IN ACCESS EXCLUSIVE MODE"));
  kill_waiting_projector();
  must(holder.run_script("COMMIT"));
  wait_until(nobody_projects);
  EXPECT_EQ(balance("alice") + " " + pending(), "0.00 1");
  EXPECT_EQ(fold_all(), 1);
  EXPECT_EQ(balance("alice"), "1.00");
}

// The commit is already on its way when the process dies: the server finishes the whole cycle, or none of it.
TEST_F(ProjectorProcessTest, KilledWhileItWritesTheCycleIsWholeOrNothing) {
  make_user("alice");
  emit_and_commit(top_up("alice", 1));
  fold_all();
  emit_and_commit(top_up("alice", 2));
  auto holder = server().open();
  must(holder.run_script("BEGIN; SELECT FROM user_stats FOR UPDATE"));
  kill_waiting_projector();
  must(holder.run_script("COMMIT"));
  wait_until(nobody_projects);
  const std::string state = balance("alice") + " " + pending();
  EXPECT_TRUE(state == "1.00 1" || state == "3.00 0") << state;
  fold_all();
  EXPECT_EQ(balance("alice"), "3.00");
  EXPECT_EQ(ask("SELECT value FROM user_stats"), "3.00");
}

TEST_F(ProjectorProcessTest, KilledAtRandomUnderLoadItLosesNothing) {
  sim::Marketplace market({.users = 20, .workers = 8, .teams = 3, .seed = 3});
  auto client = begin();
  must(ensure_users(client.session, market.users()));
  must(ensure_teams(client.session, market.teams()));
  must(ensure_workers(client.session, market.workers()));
  commit(client);
  constexpr int kKills = 15;
  std::mt19937 random(11);
  std::int64_t accepted = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    auto process = start_projector();
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(60 + random() % 200);
    while (std::chrono::steady_clock::now() < until) {
      std::vector<Command> jobs;
      for (int i = 0; i < 20; ++i) jobs.emplace_back(market.next_settlement());
      must(client.connection.execute(db::kBegin));
      for (const auto& receipt : must(emit(client.session, jobs))) accepted += must(receipt).stored ? 1 : 0;
      commit(client);
    }
    process.signal(SIGKILL);
    process.wait(std::chrono::seconds(10));
  }
  wait_until(nobody_projects);
  EXPECT_NE(ask("SELECT count(*) FROM kudos_folds"), "0") << "the processes did fold";
  fold_all();
  EXPECT_EQ(pending(), "0");
  EXPECT_EQ(
      ask("SELECT count(*) FROM kudos_events e WHERE NOT EXISTS (SELECT FROM kudos_postings p WHERE p.event_seq = "
          "e.seq AND p.entry_type = 'FLOOR_ADJUSTMENT')"),
      std::to_string(accepted));
  EXPECT_EQ(ask("SELECT count(*) = max(id) FROM kudos_folds"), "t");
  // Every counter is the sum of its statistics.
  EXPECT_EQ(ask(R"(SELECT count(*) FROM user_stats t WHERE value <>
                   (SELECT sum(amount) FROM kudos_stat_postings s WHERE s.user_id = t.user_id AND s.stat_action = t.action
                    AND s.record = 'user_kudos'))"),
            "0");
  EXPECT_EQ(ask("SELECT (SELECT sum(fulfilments) FROM workers) = (SELECT sum(amount) FROM kudos_stat_postings WHERE "
                "record = 'fulfilments')"),
            "t");
}

// The process is stopped in the middle of a cycle, holding the lock: as good as a half-open connection. The server ends
// its session 5 s after its last statement; another projector goes on, and the stopped one finds its way back.
TEST_F(ProjectorProcessTest, StoppedInMidCycleItLosesItsLockToAnother) {
  make_user("alice");
  emit_and_commit(top_up("alice", 1));
  const std::string definition = ask("SELECT pg_get_functiondef('kudos_require'::regproc)");
  server().run(
      "CREATE OR REPLACE FUNCTION kudos_require(holds boolean, name text, message text) RETURNS boolean LANGUAGE "
      "plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN true; END $$");
  auto process = start_projector();
  wait_until([] { return ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1"; });
  process.signal(SIGSTOP);
  const auto stopped = std::chrono::steady_clock::now();
  server().run(definition);
  auto other = projector();
  EXPECT_EQ(other.run_once().error().code, ErrorCode::applier_busy);
  std::int32_t folded = 0;
  wait_until([&] {
    const auto report = other.run_once();
    if (report) folded += report->events;
    return report.has_value();
  });
  EXPECT_EQ(folded, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - stopped, std::chrono::seconds(9));
  process.signal(SIGCONT);
  emit_and_commit(top_up("alice", 2));
  wait_until([] { return pending() == "0"; });
  EXPECT_EQ(balance("alice"), "3.00");
  process.signal(SIGTERM);
  const auto exit = process.wait(std::chrono::seconds(15));
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->ok()) << exit->to_string();
}

// Its backend hangs (a host's trigger sleeps): SIGTERM ends it all the same.
TEST_F(ProjectorProcessTest, StopsOnSigtermWhileItsBackendHangs) {
  make_user("alice");
  server().run(
      "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(25); RETURN NEW; END $$; "
      "CREATE TRIGGER hang BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION hang()");
  emit_and_commit(top_up("alice", 1));
  auto process = start_projector();
  wait_until([] { return ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1"; });
  process.signal(SIGTERM);
  const auto exit = process.wait(std::chrono::seconds(10));
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->ok()) << exit->to_string();
  server().run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
  wait_until(nobody_projects);
  server().run("DROP TRIGGER hang ON users");
  EXPECT_EQ(fold_all(), 1);
}

TEST_F(ProjectorProcessTest, StopsCleanlyOnSigterm) {
  make_user("alice");
  auto process = start_projector();
  emit_and_commit(top_up("alice", 1));
  wait_until([] { return pending() == "0"; });
  process.signal(SIGTERM);
  const auto exit = process.wait(std::chrono::seconds(10));
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->ok()) << exit->to_string();
}

}  // namespace
}  // namespace kudos::testing
