// The projector's cycle: what it finds, what it must wait for, what it leaves behind.
#include <atomic>
#include <future>

#include "core/canonical.h"
#include "ledger/drain.h"
#include "ledger/projector_loop.h"
#include "ledger_test.h"
#include "sim/marketplace.h"
#include "store/health.h"
#include "store/queries.h"

namespace kudos::testing {
namespace {

class ProjectorTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    make_user("alice");
    make_user("bob");
  }
  // Folds what is pending, also what has to rest for a moment first.
  static std::int64_t drain(ledger::Projector& worker) {
    return must(ledger::drain(worker, std::chrono::seconds(20), {})).folded_events;
  }
  static std::string gaps() { return ask("SELECT gaps FROM kudos_work_map"); }
  // Gaps grow old in the projector's mind; what they became is published by its next fold (decision 0006).
  static void age_and_publish_gaps(ledger::Projector& worker) {
    for (int i = 0; i < 3; ++i) must(worker.run_once());
    emit_and_commit(top_up("bob", 1));
    EXPECT_EQ(fold_all(worker), 1);
  }
  static db::Connection host(const std::string& sql) {
    auto connection = server().open();
    must(connection.run_script("BEGIN; " + sql));
    return connection;
  }
};

// P1: the lower number commits later.
TEST_F(ProjectorTest, ALateCommitWithALowerNumberIsFoldedOnce) {
  auto late = begin();
  must(emit(late.session, top_up("alice", 1)));
  emit_and_commit(top_up("alice", 10));
  auto worker = projector();
  EXPECT_EQ(fold_all(worker), 1);
  EXPECT_EQ(balance("alice"), "10.00");
  for (int i = 0; i < 5; ++i) must(worker.run_once());
  EXPECT_NE(gaps(), "{}") << "its owner is still running";
  commit(late);
  EXPECT_EQ(fold_all(worker), 1);
  EXPECT_EQ(balance("alice"), "11.00");
  age_and_publish_gaps(worker);
  EXPECT_EQ(gaps(), "{}");
}

TEST_F(ProjectorTest, ARolledBackBulkLeavesNoGapForEver) {
  auto bulk = begin();
  std::vector<Command> commands(1000, Command(top_up("alice", 1)));
  must(emit(bulk.session, commands));
  emit_and_commit(top_up("bob", 1));
  fold_all();
  EXPECT_EQ(gaps(), "{[1,1001)}");
  must(bulk.connection.execute(db::kRollback));
  auto worker = projector();
  age_and_publish_gaps(worker);
  EXPECT_EQ(gaps(), "{}");
  EXPECT_EQ(balance("alice"), "0.00");
}

TEST_F(ProjectorTest, SequenceJumpsAfterACrashAreForgotten) {
  emit_and_commit(top_up("alice", 1));
  server().run("SELECT setval('kudos_events_seq', 5000)");
  emit_and_commit(top_up("alice", 1));
  EXPECT_EQ(fold_all(), 2);
  EXPECT_EQ(gaps(), "{[2,5001)}");
  auto worker = projector();
  age_and_publish_gaps(worker);
  EXPECT_EQ(gaps(), "{}");
}

TEST_F(ProjectorTest, AnEventThatSomebodyHoldsWaitsAndTheOthersFold) {
  const auto first = emit_and_commit(top_up("alice", 1));
  emit_and_commit(top_up("bob", 2));
  auto holder = host("SELECT FROM kudos_events WHERE seq = " + std::to_string(first.seq.value) + " FOR UPDATE");
  EXPECT_EQ(fold_all(), 1);
  EXPECT_EQ(balance("alice") + " " + balance("bob"), "0.00 2.00");
  auto worker = projector();
  for (int i = 0; i < 4; ++i) must(worker.run_once());  // the gap's generation passes while it is held
  must(holder.run_script("COMMIT"));
  EXPECT_EQ(drain(worker), 1);
  EXPECT_EQ(balance("alice"), "1.00");
}

// V7.
TEST_F(ProjectorTest, AHostOnAUsersRowDelaysOnlyThatUser) {
  emit_and_commit(top_up("alice", 1));
  emit_and_commit(top_up("bob", 2));
  auto holder = host("SELECT FROM users WHERE external_id = 'alice' FOR UPDATE");
  auto worker = projector();
  const auto report = must(worker.run_once());
  EXPECT_EQ(report.events, 1);
  EXPECT_EQ(report.blocked_events, 1);
  EXPECT_EQ(balance("bob"), "2.00");
  emit_and_commit(top_up("bob", 3));
  EXPECT_EQ(fold_all(worker), 1) << "and goes on";
  must(holder.run_script("COMMIT"));
  EXPECT_EQ(drain(worker), 1);
  EXPECT_EQ(balance("alice"), "1.00");
}

TEST_F(ProjectorTest, AHostOnAWorkersRowDelaysOnlyItsEvents) {
  const Uuid busy = make_worker("busy", "bob"), idle = make_worker("idle", "bob");
  emit_and_commit(settle("alice", busy, 0));
  emit_and_commit(settle("alice", idle, 0));
  auto holder = host("UPDATE workers SET paused = true WHERE name = 'busy'");
  auto worker = projector();
  EXPECT_EQ(must(worker.run_once()).events, 1);
  must(holder.run_script("COMMIT"));
  EXPECT_EQ(drain(worker), 1);
  EXPECT_EQ(ask("SELECT string_agg(fulfilments::text, ' ') FROM workers"), "1.00 1.00");
}

// P3, V4: the loser claims nothing, although its claim was in the same pipeline as the lock.
TEST_F(ProjectorTest, ASecondProjectorLeavesAtOnce) {
  emit_and_commit(top_up("alice", 1));
  const auto keys = store::lock_keys("public");
  auto holder = host("SELECT pg_advisory_xact_lock(" + std::to_string(keys.applier) + ")");
  auto second = projector();
  EXPECT_EQ(second.run_once().error().code, ErrorCode::applier_busy);
  EXPECT_FALSE(second.connection().in_transaction());
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE xmax <> 0"), "0") << "no row was locked";
  must(holder.run_script("COMMIT"));
  EXPECT_EQ(must(second.run_once()).events, 1);
}

TEST_F(ProjectorTest, TwoProjectorsInTurn) {
  make_user("anonymous", "anonymous");
  auto a = projector(), b = projector();
  const Uuid worker = make_worker("w", "bob");
  for (int i = 0; i < 12; ++i) {
    emit_and_commit(settle("anonymous", worker, 30));  // most of them with a floor adjustment
    must((i % 2 == 0 ? a : b).run_once());
  }
  EXPECT_EQ(pending(), "0");
  EXPECT_EQ(balance("anonymous"), "-50.00");
  EXPECT_EQ(ask("SELECT count(*) = max(id) AND count(*) = 12 FROM kudos_folds"), "t") << "ids are consecutive";
  age_and_publish_gaps(a);  // notices the number of b's last floor adjustment
  age_and_publish_gaps(a);
  EXPECT_EQ(gaps(), "{}");
}

// What changes the journal's map behind the ledger's back, and what the next projector must do about it: find
// everything.
class BrokenMapTest : public ProjectorTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(BrokenMapTest, IsMendedByTheNextProjector) {
  auto late = begin();
  must(emit(late.session, top_up("alice", 1)));
  for (int i = 0; i < 5; ++i) emit_and_commit(top_up("bob", 1));
  fold_all();
  server().run(std::string("SET session_replication_role = replica; ") + GetParam());
  emit_and_commit(top_up("bob", 1));
  commit(late);
  auto worker = projector();
  EXPECT_EQ(fold_all(worker), 2);
  EXPECT_EQ(balance("alice") + " " + balance("bob"), "1.00 6.00");
  age_and_publish_gaps(worker);
  EXPECT_EQ(gaps(), "{}");
}

INSTANTIATE_TEST_SUITE_P(Ways, BrokenMapTest,
                         ::testing::Values("DELETE FROM kudos_ledger_applier_state",
                                           "UPDATE kudos_folds SET frontier = NULL, gaps = '{}', young_gaps = '{}'",
                                           "UPDATE kudos_folds SET gaps = '{}', young_gaps = '{}'"));

// Cycles that fold nothing learn too, but nothing is written for it: readers keep the last fold's map, which covers it.
TEST_F(ProjectorTest, IdleCyclesWriteNothingButTheHeartbeat) {
  emit_and_commit(top_up("alice", 1));
  auto worker = projector();
  fold_all(worker);
  const std::string before = ask("SELECT count(*) || ' ' || max(id) FROM kudos_folds");
  const std::string xid = ask("SELECT pg_snapshot_xmax(pg_current_snapshot())");
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(must(worker.has_work()).events);
    EXPECT_EQ(must(worker.run_once()).events, 0);
  }
  EXPECT_EQ(ask("SELECT count(*) || ' ' || max(id) FROM kudos_folds"), before);
  EXPECT_LE(std::stoll(ask("SELECT pg_snapshot_xmax(pg_current_snapshot())")), std::stoll(xid) + 2);
  emit_and_commit(top_up("alice", 1));
  EXPECT_TRUE(must(worker.has_work()).events);
  EXPECT_EQ(must(worker.run_once()).events, 1);
}

// Two projectors that take turns without folding anything: each one's memory of the map must stay right.
TEST_F(ProjectorTest, AMapRememberedFromBeforeAnothersFoldIsForgotten) {
  auto a = projector(), b = projector();
  auto late = begin();
  must(emit(late.session, top_up("alice", 1)));
  emit_and_commit(top_up("bob", 1));
  EXPECT_EQ(must(a.run_once()).events, 1);
  emit_and_commit(top_up("bob", 1));
  EXPECT_EQ(must(b.run_once()).events, 1);
  EXPECT_TRUE(must(a.has_work()).events) << "the journal has moved";
  EXPECT_EQ(must(a.run_once()).events, 0);
  commit(late);
  EXPECT_TRUE(must(a.has_work()).events);
  EXPECT_EQ(must(a.run_once()).events, 1);
  EXPECT_EQ(balance("alice"), "1.00");
}

TEST_F(ProjectorTest, BatchesAreBoundedInPostingsButTakeAtLeastOneEvent) {
  for (int i = 0; i < 6; ++i) emit_and_commit(top_up("alice", 1));  // 3 postings each
  auto small = projector(7);
  const auto first = must(small.run_once());
  EXPECT_EQ(first.events, 2);
  EXPECT_TRUE(first.more);
  auto tiny = projector(1);
  EXPECT_EQ(must(tiny.run_once()).events, 1);
  auto exact = projector(9);
  const auto last = must(exact.run_once());
  EXPECT_EQ(last.events, 3);
  EXPECT_TRUE(last.more) << "just full: there may be more";
  EXPECT_FALSE(must(exact.run_once()).more);
}

// P4, with a statistic from a writer that doesn't use the library.
TEST_F(ProjectorTest, APoisonStatisticIsSetAsideWithItsWholeEvent) {
  server().run(R"(
INSERT INTO kudos_events (seq, event_id, posting_count) VALUES (1, gen_random_uuid(), 4);
INSERT INTO kudos_postings (event_seq, line, entry_type, user_id, amount)
    SELECT 1, 1, 'AWARD'::kudos_entry_type, id, 10 FROM users WHERE external_id = 'alice' UNION ALL SELECT 1, 2, 'AWARD', -1, -10;
INSERT INTO kudos_stat_postings (event_seq, line, entry_type, unit, target, user_id, amount, stat_action, record)
    SELECT 1, 3, 'AWARD'::kudos_entry_type, 'kudos'::kudos_unit, 'user_stat'::kudos_target, id, 10, 'awarded', 'user_kudos' FROM users WHERE external_id = 'alice'
    UNION ALL SELECT 1, 4, 'AWARD', 'kudos', NULL, id, 10, 'awarded', 'no such record' FROM users WHERE external_id = 'alice';
SELECT setval('kudos_events_seq', 1))");
  emit_and_commit(top_up("bob", 2));
  EXPECT_EQ(fold_all(), 2);
  EXPECT_EQ(balance("alice") + " " + balance("bob"), "10.00 2.00");
  EXPECT_EQ(ask("SELECT count(*) || ' ' || min(quarantine_reason::text) || ' ' || bool_or(applied)::text FROM "
                "kudos_stat_events WHERE quarantined"),
            "2 unknown_projection false");
  EXPECT_EQ(ask("SELECT count(*) FROM user_stats WHERE action = 'awarded'"), "0");
  EXPECT_EQ(pending(), "0");
}

TEST_F(ProjectorTest, ADeletedWorkersTeamShareStillFolds) {
  make_team("t", "bob");
  const Uuid worker = make_worker("w", "bob", Uuid::v5({}, "team t"));
  emit_and_commit(settle("alice", worker, 0));
  server().run("DELETE FROM workers");
  EXPECT_EQ(fold_all(), 1);
  EXPECT_EQ(ask("SELECT fulfilments FROM teams"), "1.00");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE quarantine_reason IS NOT NULL"), "0");
}

// Rule 7 through the database: the same events in batches of 1, 7 and 5,000 give the same read models and adjustments.
TEST_F(ProjectorTest, BatchSizesDontMatter) {
  constexpr const char* kDigest = R"(
SELECT md5(string_agg(line, ';' ORDER BY line)) FROM (
    SELECT 'u' || coalesce(external_id, '') || kudos || ' ' || evaluating_kudos AS line FROM users
    UNION ALL SELECT 'w' || name || kudos || contributions || fulfilments FROM workers
    UNION ALL SELECT 't' || name || kudos || contributions || fulfilments FROM teams
    UNION ALL SELECT 's' || user_id || action || value FROM user_stats
    UNION ALL SELECT 'r' || user_id || record_type || record || value FROM user_records
    UNION ALL SELECT 'x' || worker_id || action || value FROM worker_stats
    UNION ALL SELECT 'f' || event_id || amount || detail::text FROM kudos_ledger WHERE entry_type = 'FLOOR_ADJUSTMENT') lines)";
  std::set<std::string> digests;
  for (const std::int32_t batch : {1, 7, 5000}) {
    server().fresh_database();
    sim::Marketplace market({.users = 12, .workers = 8, .teams = 3, .seed = 5});
    auto client = begin();
    must(ensure_users(client.session, market.users()));
    must(ensure_teams(client.session, market.teams()));
    must(ensure_workers(client.session, market.workers()));
    std::vector<Command> jobs;
    for (int i = 0; i < 300; ++i) {
      auto job = market.next_settlement();
      job.options.key = {"test", std::to_string(i)};
      jobs.emplace_back(job);
    }
    for (const auto& receipt : must(emit(client.session, jobs))) must(receipt);
    commit(client);
    auto worker = projector(batch * 13);
    EXPECT_EQ(fold_all(worker), 300);
    digests.insert(ask(kDigest));
  }
  EXPECT_EQ(digests.size(), 1u);
}

// The chain can be computed again from the facts alone.
TEST_F(ProjectorTest, TheJournalsDigestsFollowFromTheFacts) {
  make_user("anonymous", "anonymous");
  const Uuid worker = make_worker("w", "bob");
  auto noted = top_up("alice", 1, "key");
  noted.options.metadata = R"({"b": 1, "aa": "x"})";
  emit_and_commit(noted);
  auto small = projector(20);
  for (int i = 0; i < 4; ++i) emit_and_commit(settle("anonymous", worker, 30));
  fold_all(small);
  auto connection = server().open();
  Digest previous{};
  const int folds = std::stoi(ask("SELECT max(id) FROM kudos_folds"));
  EXPECT_GT(folds, 2);
  for (int fold = 1; fold <= folds; ++fold) {
    FoldDigest digest({fold}, previous);
    const std::string in_fold = " FROM kudos_events WHERE fold_id = " + std::to_string(fold);
    const int events = std::stoi(ask("SELECT count(*)" + in_fold));
    for (int i = 0; i < events; ++i) {
      const auto id = must(
          Uuid::parse(ask("SELECT event_id" + in_fold + " ORDER BY seq OFFSET " + std::to_string(i) + " LIMIT 1")));
      const auto row = must(store::read_event(connection, id));
      const bool born =
          !row.event.postings.empty() && row.event.postings.front().entry_type == EntryType::floor_adjustment;
      digest.add(row.event, born ? Disposition::born : Disposition::applied);
    }
    previous = digest.finish();
    EXPECT_EQ(ask("SELECT encode(digest, 'hex') FROM kudos_folds WHERE id = " + std::to_string(fold)),
              to_hex(previous));
  }
}

TEST_F(ProjectorTest, APostingRemovedBehindTheTriggersBackStopsItsFoldAndSaysSo) {
  const auto receipt = emit_and_commit(top_up("alice", 1));
  server().run("SET session_replication_role = replica; DELETE FROM kudos_stat_postings");
  emit_and_commit(top_up("bob", 2));
  auto worker = projector();
  const auto report = must(worker.run_once());
  EXPECT_EQ(report.broken_events, std::vector{receipt.event_id});
  EXPECT_EQ(balance("alice") + " " + balance("bob"), "0.00 2.00") << "it is left alone, the others fold";
  EXPECT_EQ(pending(), "1");
}

// One blocked user must not fill every claim (found by review: 400 events of a locked user stopped everybody).
TEST_F(ProjectorTest, ManyEventsOfABlockedUserDontStopTheOthers) {
  for (int i = 0; i < 4; ++i) {
    auto client = begin();
    must(emit(client.session, std::vector<Command>(100, top_up("alice", 1))));
    commit(client);
  }
  emit_and_commit(top_up("bob", 2));
  auto holder = host("SELECT FROM users WHERE external_id = 'alice' FOR UPDATE");
  auto worker = projector(100);
  for (int i = 0; i < 20; ++i) must(worker.run_once());
  EXPECT_EQ(balance("bob"), "2.00");
  emit_and_commit(top_up("bob", 3));
  for (int i = 0; i < 3; ++i) must(worker.run_once());
  EXPECT_EQ(balance("bob"), "5.00") << "also those that come later";
  must(holder.run_script("COMMIT"));
  EXPECT_EQ(must(ledger::drain(worker, std::chrono::seconds(20), {})).folded_events, 400);
  EXPECT_EQ(balance("alice"), "400.00");
}

// The same with the events' own rows, which a worker's deletion locks.
TEST_F(ProjectorTest, ManyLockedEventsDontStopTheOthers) {
  auto client = begin();
  must(emit(client.session, std::vector<Command>(400, top_up("alice", 1))));
  commit(client);
  emit_and_commit(top_up("bob", 2));
  auto holder = host("SELECT FROM kudos_events WHERE seq <= 400 FOR UPDATE");
  auto worker = projector(100);
  for (int i = 0; i < 20; ++i) must(worker.run_once());
  EXPECT_EQ(balance("bob"), "2.00");
  must(holder.run_script("COMMIT"));
  must(ledger::drain(worker, std::chrono::seconds(20), {}));
  EXPECT_EQ(balance("alice"), "400.00");
}

// The floor that is applied is that of the class at the moment of the lock, never one of neither (found by review).
TEST_F(ProjectorTest, AClassChangeDuringTheFoldUsesOneOfTheTwoFloors) {
  server().run("UPDATE users SET account_class = 'registered' WHERE external_id = 'alice'");
  std::atomic<bool> stop{false};
  std::thread flipper([&] {
    auto connection = server().open();
    while (!stop) {
      must(connection.run_script("UPDATE users SET account_class = 'pseudonymous' WHERE external_id = 'alice'"));
      must(connection.run_script("UPDATE users SET account_class = 'registered' WHERE external_id = 'alice'"));
    }
  });
  auto worker = projector();
  for (int i = 0; i < 150; ++i) {
    emit_and_commit(Charge{UserRef::external("alice"), Amount::whole(1), {}, {}, {}});
    must(worker.run_once());
  }
  stop = true;
  flipper.join();
  must(ledger::drain(worker, std::chrono::seconds(20), {}));
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_ledger WHERE entry_type = 'FLOOR_ADJUSTMENT' AND detail ->> 'floor' NOT IN "
                "('14.00', '25.00')"),
            "0");
}

TEST_F(ProjectorTest, AFloorAdjustmentWhoseIdIsTakenStopsItsFold) {
  const auto charge = emit_and_commit(Charge{UserRef::external("alice"), Amount::whole(10), {}, {}, {}});
  const std::string user = ask("SELECT id FROM users WHERE external_id = 'alice'");
  server().run(
      "INSERT INTO kudos_events (event_id, posting_count, fold_id) SELECT "
      "kudos_uuid_v5('5e0c1f3a-8d27-4b6e-9a41-77d206be9358', '" +
      charge.event_id.to_string() + "/" + user + "'), 1, 0");
  auto worker = projector();
  const auto failed = worker.run_once();
  ASSERT_FALSE(failed.has_value());
  EXPECT_NE(failed.error().message.find("its id is taken"), std::string::npos) << failed.error().to_string();
  EXPECT_EQ(pending(), "1");
}

TEST_F(ProjectorTest, HealthIsReadWhereTheWorkCanBe) {
  auto late = begin();
  must(emit(late.session, top_up("alice", 1)));
  emit_and_commit(top_up("bob", 1));
  fold_all();
  commit(late);
  emit_and_commit(top_up("bob", 1));
  auto connection = server().open();
  auto health = must(store::read_health(connection));
  EXPECT_EQ(health.pending_events, 2);
  EXPECT_EQ(health.pending.rows, 6);
  EXPECT_EQ(health.pending_currency.rows, 4);
  EXPECT_TRUE(health.pending.oldest_seconds.has_value());
  EXPECT_LT(health.heartbeat_seconds.value_or(1e9), 60);
  EXPECT_EQ(must(store::read_user(connection, UserRef::external("alice"))).pending, Total::whole(1));
  auto worker = projector();
  EXPECT_EQ(must(ledger::drain(worker, std::chrono::seconds(10), {})).folded_events, 2);
  health = must(store::read_health(connection));
  EXPECT_EQ(health.pending_events, 0);
}

class LoopTest : public ProjectorTest {
 protected:
  static ledger::LoopOptions options() {
    return {.conninfo = server().conninfo(), .projector = {.interval = std::chrono::milliseconds(200)}, .log = {}};
  }
  static void wait_until(const std::function<bool()>& done) {
    for (int i = 0; i < 500 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(done());
  }
};

TEST_F(LoopTest, FoldsWhatIsWokenForAndStopsCleanly) {
  ledger::ProjectorLoop loop(options());
  loop.start();
  loop.start();
  emit_and_commit(top_up("alice", 1));
  loop.wake();
  wait_until([] { return pending() == "0"; });
  loop.stop();
  loop.stop();
  EXPECT_EQ(loop.stats().events, 1);
}

// C5: the connection is lost, again and again; nothing is dropped and it shows.
TEST_F(LoopTest, ALostConnectionIsOpenedAgain) {
  ledger::ProjectorLoop loop(options());
  loop.start();
  wait_until([&] { return loop.stats().cycles > 0; });
  server().run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = "
      "'kudos' AND datname = current_database()");
  emit_and_commit(top_up("alice", 1));
  loop.wake();
  wait_until([] { return pending() == "0"; });
  EXPECT_GE(loop.stats().reconnections, 1);
  EXPECT_TRUE(loop.stats().last_error.empty());
}

// P3: when the first ends, the second takes over within a tick.
TEST_F(LoopTest, TheSecondTakesOver) {
  auto first = std::make_unique<ledger::ProjectorLoop>(options());
  ledger::ProjectorLoop second(options());
  first->start();
  second.start();
  for (int i = 0; i < 20; ++i) emit_and_commit(top_up("alice", 1));
  wait_until([] { return pending() == "0"; });
  first.reset();
  const auto before = second.stats().events;
  emit_and_commit(top_up("alice", 1));
  wait_until([] { return pending() == "0"; });
  EXPECT_EQ(second.stats().events, before + 1);
}

}  // namespace
}  // namespace kudos::testing
