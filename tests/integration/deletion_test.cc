// Workers and teams are deleted while their events fold (scenarios P10, V6): neither side fails, in whatever order, and
// the team's share arrives. The fold's cycle is played step by step where the test must stop in the middle of it.
#include <future>

#include "core/canonical.h"
#include "core/fold.h"
#include "ledger/drain.h"
#include "ledger_test.h"

namespace kudos::testing {
namespace {

class DeletionTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    make_user("alice", "postpaid");  // no floor adjustments
    make_user("bob", "standard", true);
    team_ = make_team("t", "bob");
    worker_ = make_worker("w", "bob", team_);
  }

  static std::string team_row() { return ask("SELECT kudos || ' ' || fulfilments FROM teams"); }
  static void wait_for_blocked(const db::Connection& connection) {
    const std::string blocked =
        "SELECT cardinality(pg_blocking_pids(" + std::to_string(connection.backend_pid()) + ")) > 0";
    for (int i = 0; i < 1000 && ask(blocked) != "t"; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(ask(blocked), "t");
  }
  static void expect_no_deadlock() {
    EXPECT_EQ(ask("SELECT sum(deadlocks) FROM pg_stat_database WHERE datname = current_database()"), "0");
  }
  // Folds what is pending, also what has to rest for a moment first.
  static std::int64_t drain() {
    auto worker = projector();
    return must(ledger::drain(worker, std::chrono::seconds(20), {})).folded_events;
  }

  // A cycle that has claimed and locked its targets, and holds them.
  struct OpenCycle {
    db::Connection connection = server().open();
    store::Claim claim;
    store::LockedTargets locked;
    store::RowPlaces places;

    OpenCycle() {
      must(connection.run_script("SET lock_timeout = '300ms'"));
      claim = must(store::begin_and_claim(connection, store::lock_keys("public"), {}));
      must(store::load_postings(connection, claim.events, claim.counts));
      locked = must(store::lock_targets(connection, claim.events, places));
    }
    void finish() {
      const auto outcome = fold(claim.events, locked.targets);
      store::JournalRow row;
      row.fold = {claim.head.fold.value + 1};
      row.folded_at = claim.now;
      row.events = static_cast<std::int32_t>(claim.events.size());
      row.previous = claim.head.digest;
      row.map = claim.map;
      row.map.frontier = claim.highest_seen;
      const auto types = must(store::load_enum_types(connection));
      must(store::write_and_commit(connection, types, outcome, claim.events, row, places));
    }
  };

  Uuid team_, worker_;
};

TEST_F(DeletionTest, TheDeletionComesFirst) {
  emit_and_commit(settle("alice", worker_, 10));
  auto deletion = begin();
  const auto gone = must(delete_worker(deletion.session, worker_));
  EXPECT_EQ(gone.name, "w");
  EXPECT_EQ(gone.pending_events, 1);
  auto worker = projector();
  const auto report = must(worker.run_once());
  EXPECT_EQ(report.events, 0) << "its event is held";
  commit(deletion);
  EXPECT_EQ(must(ledger::drain(worker, std::chrono::seconds(20), {})).folded_events, 1);
  EXPECT_EQ(team_row(), "10.00 1.00");
  EXPECT_EQ(balance("bob"), "10.00");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE quarantine_reason IS NOT NULL"), "0");
  expect_no_deadlock();
}

TEST_F(DeletionTest, TheFoldComesFirst) {
  emit_and_commit(settle("alice", worker_, 10));
  OpenCycle cycle;
  EXPECT_EQ(cycle.claim.events.size(), 1u);
  auto deletion = begin();
  auto gone = std::async(std::launch::async, [&] { return delete_worker(deletion.session, worker_); });
  wait_for_blocked(deletion.connection);
  cycle.finish();
  const auto done = must(gone.get());
  EXPECT_EQ(done.kudos.to_string(), "10.00") << "it saw what the fold added";
  EXPECT_EQ(done.dependants, 1);
  EXPECT_EQ(done.pending_events, 0);
  commit(deletion);
  EXPECT_EQ(team_row(), "10.00 1.00");
  EXPECT_EQ(ask("SELECT count(*) FROM workers"), "0");
  expect_no_deadlock();
}

// An event that came after the deletion looked for them isn't locked, but its worker row is.
TEST_F(DeletionTest, AnEventThatArrivesDuringTheDeletionRests) {
  auto deletion = begin();
  EXPECT_EQ(must(delete_worker(deletion.session, worker_)).pending_events, 0);
  emit_and_commit(settle("alice", worker_, 10));
  auto worker = projector();
  EXPECT_EQ(must(worker.run_once()).blocked_events, 1);
  commit(deletion);
  EXPECT_EQ(must(ledger::drain(worker, std::chrono::seconds(20), {})).folded_events, 1);
  EXPECT_EQ(team_row(), "10.00 1.00");
}

TEST_F(DeletionTest, ARolledBackDeletionChangesNothing) {
  emit_and_commit(settle("alice", worker_, 10));
  auto deletion = begin();
  must(delete_worker(deletion.session, worker_));
  must(deletion.connection.execute(db::kRollback));
  EXPECT_EQ(drain(), 1);
  EXPECT_EQ(ask("SELECT kudos FROM workers"), "10.00");
}

// V6: a host locks the row, then deletes it, both by hand, while the events fold.
TEST_F(DeletionTest, AHostLocksTheWorkerAndThenDeletesItByHand) {
  emit_and_commit(settle("alice", worker_, 10));
  auto host = server().open();
  must(host.run_script("BEGIN; SELECT FROM workers FOR UPDATE"));
  auto worker = projector();
  EXPECT_EQ(must(worker.run_once()).blocked_events, 1);
  must(host.run_script("DELETE FROM workers; COMMIT"));
  EXPECT_EQ(must(ledger::drain(worker, std::chrono::seconds(20), {})).folded_events, 1);
  EXPECT_EQ(team_row(), "10.00 1.00");
  expect_no_deadlock();
}

TEST_F(DeletionTest, APlainDeleteWaitsForTheFoldThatIsUnderWay) {
  emit_and_commit(settle("alice", worker_, 10));
  OpenCycle cycle;
  auto host = server().open();
  auto gone = std::async(std::launch::async, [&] { return host.run_script("DELETE FROM workers"); });
  wait_for_blocked(host);
  cycle.finish();
  EXPECT_TRUE(gone.get().has_value());
  EXPECT_EQ(team_row(), "10.00 1.00");
  EXPECT_EQ(ask("SELECT count(*) FROM workers"), "0");
  expect_no_deadlock();
}

// Only where the map says: what a late commit left in a gap is found too.
TEST_F(DeletionTest, APendingEventInAGapIsLocked) {
  auto late = begin();
  must(emit(late.session, settle("alice", worker_, 10)));
  emit_and_commit(top_up("alice", 1));
  fold_all();
  commit(late);
  auto deletion = begin();
  EXPECT_EQ(must(delete_worker(deletion.session, worker_)).pending_events, 1);
  commit(deletion);
  EXPECT_EQ(drain(), 1);
  EXPECT_EQ(team_row(), "10.00 1.00");
}

TEST_F(DeletionTest, ADeletedTeamLosesItsShareAndTheWorkerKeepsItsOwn) {
  emit_and_commit(settle("alice", worker_, 10));
  auto deletion = begin();
  const auto gone = must(delete_team(deletion.session, team_));
  EXPECT_EQ(gone.pending_events, 1);
  EXPECT_EQ(gone.dependants, 1);
  auto worker = projector();
  EXPECT_EQ(must(worker.run_once()).events, 0);
  commit(deletion);
  EXPECT_EQ(must(ledger::drain(worker, std::chrono::seconds(20), {})).folded_events, 1);
  EXPECT_EQ(ask("SELECT kudos || ' ' || coalesce(team_id::text, 'none') FROM workers"), "10.00 none");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE quarantine_reason IS NOT NULL"), "0");
}

TEST_F(DeletionTest, ATeamsDeletionWaitsForTheFold) {
  emit_and_commit(settle("alice", worker_, 10));
  OpenCycle cycle;
  auto deletion = begin();
  auto gone = std::async(std::launch::async, [&] { return delete_team(deletion.session, team_); });
  wait_for_blocked(deletion.connection);
  cycle.finish();
  EXPECT_EQ(must(gone.get()).kudos.to_string(), "10.00");
  commit(deletion);
  EXPECT_EQ(ask("SELECT kudos FROM workers"), "10.00");
  expect_no_deadlock();
}

// Many deletions of workers and teams against a projector under load.
TEST_F(DeletionTest, ManyDeletionsUnderLoadDisturbNobody) {
  std::vector<Uuid> workers;
  for (int i = 0; i < 24; ++i) workers.push_back(make_worker("w" + std::to_string(i), "bob", team_));
  std::atomic<bool> stop{false};
  std::thread folding([&] {
    auto worker = projector(60);
    while (!stop) must(worker.run_once());
  });
  std::thread emitting([&] {
    for (int round = 0; round < 10; ++round)
      for (const Uuid& id : workers) {
        auto client = begin();
        if (emit(client.session, settle("alice", id, 1))) commit(client);  // some are gone by now
      }
  });
  std::thread deleting([&] {
    for (std::size_t i = 0; i < workers.size(); i += 2) {
      auto client = begin();
      must(delete_worker(client.session, workers[i]));
      commit(client);
    }
  });
  emitting.join();
  deleting.join();
  stop = true;
  folding.join();
  drain();
  EXPECT_EQ(pending(), "0");
  EXPECT_EQ(ask("SELECT fulfilments = (SELECT count(*) FROM kudos_events) FROM teams"), "t");
  expect_no_deadlock();
}

TEST_F(DeletionTest, WhatIsRefused) {
  auto client = server().client();
  EXPECT_EQ(delete_worker(client.session, worker_).error().code, ErrorCode::not_in_transaction);
  must(client.connection.execute(db::kBegin));
  EXPECT_EQ(delete_worker(client.session, Uuid::v7()).error().code, ErrorCode::unknown_worker);
  EXPECT_EQ(delete_team(client.session, Uuid::v7()).error().code, ErrorCode::unknown_team);
  EXPECT_EQ(must(delete_worker(client.session, worker_)).name, "w") << "the transaction is still usable";
  must(client.connection.execute(db::kRollback));
  must(client.connection.run_script("BEGIN ISOLATION LEVEL REPEATABLE READ"));
  EXPECT_EQ(delete_team(client.session, team_).error().code, ErrorCode::wrong_isolation_level);
}

TEST_F(DeletionTest, FromSql) {
  emit_and_commit(settle("alice", worker_, 10));
  EXPECT_EQ(ask("SELECT kudos_delete_worker('" + worker_.to_string() + "')"), "1");
  EXPECT_EQ(ask("SELECT kudos_delete_team('" + team_.to_string() + "')"), "1");
  auto connection = server().open();
  for (const std::string what : {"worker", "team"}) {
    const auto refused = connection.run_script("SELECT kudos_delete_" + what + "('" + worker_.to_string() + "')");
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, what == "worker" ? ErrorCode::unknown_worker : ErrorCode::unknown_team);
  }
  EXPECT_EQ(drain(), 1);
}

}  // namespace
}  // namespace kudos::testing
