// Trust promotion and the drain of escrow (contract, "Trust").
#include "ledger/projector_loop.h"
#include "ledger_test.h"

namespace kudos::testing {
namespace {

class TrustTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    make_user("alice");
    make_user("owner");
    server().run("UPDATE users SET created = now() - interval '8 days'");
    worker_ = make_worker("w", "owner");
  }
  static ledger::Projector projector(std::optional<Amount> threshold) {
    return must(ledger::Projector::create(server().open(), {.trust = {threshold}}));
  }
  // A cycle and what follows it.
  static ledger::TrustReport step(ledger::Projector& projector) {
    const auto cycle = must(projector.run_once());
    return must(projector.promote_if_due(cycle));
  }
  // Half of the reward goes to the owner's escrow.
  void earn(std::int64_t cost) { emit_and_commit(settle("alice", worker_, cost)); }
  static std::string owner() {
    return ask("SELECT kudos || ' ' || evaluating_kudos || ' ' || trusted FROM users WHERE external_id = 'owner'");
  }
  static std::string promotions() {
    return ask("SELECT count(DISTINCT event_id) FROM kudos_ledger WHERE entry_type = 'EVALUATION_PROMOTION'");
  }
  static db::Connection host(const std::string& sql) {
    auto connection = server().open();
    must(connection.run_script("BEGIN; " + sql));
    return connection;
  }
  // `count` trusted users with an escrow of 5 each, folded.
  static void make_wave(int count) {
    server().run("INSERT INTO users (external_id, trusted) SELECT 'wave ' || i, true FROM generate_series(1, " +
                 std::to_string(count) + R"() i;
WITH events AS (INSERT INTO kudos_events (event_id, posting_count)
                SELECT gen_random_uuid(), 2 FROM users WHERE external_id LIKE 'wave %' RETURNING seq),
     pairs AS (SELECT row_number() OVER (ORDER BY seq) AS n, seq FROM events),
     owners AS (SELECT row_number() OVER (ORDER BY id) AS n, id FROM users WHERE external_id LIKE 'wave %')
INSERT INTO kudos_postings (event_seq, line, entry_type, user_id, escrow, amount)
    SELECT seq, 1, 'UPTIME_REWARD'::kudos_entry_type, id, true, 5 FROM pairs JOIN owners USING (n)
    UNION ALL SELECT seq, 2, 'UPTIME_REWARD', -1, false, -5 FROM pairs)");
    auto worker = LedgerTest::projector(20'000);
    EXPECT_EQ(fold_all(worker), count);
  }

  Uuid worker_;
};

TEST_F(TrustTest, WhoEarnedItBecomesTrustedAndGetsTheWholeEscrowOnce) {
  server().run("UPDATE workers SET paused = true");
  auto worker = projector(Amount::whole(30));
  earn(60);
  EXPECT_EQ(step(worker).promoted_users, 0) << "30 is the threshold, not more";
  earn(40);
  const auto report = step(worker);
  EXPECT_EQ(report.promoted_users, 1);
  EXPECT_EQ(report.promotions, 1);
  EXPECT_EQ(owner(), "50.00 50.00 true") << "the event waits for its fold";
  EXPECT_EQ(ask("SELECT paused FROM workers"), "f");
  EXPECT_EQ(step(worker).promotions, 0);
  EXPECT_EQ(owner(), "100.00 0.00 true");
  EXPECT_EQ(ask("SELECT value FROM user_stats s JOIN users u ON u.id = s.user_id WHERE u.external_id = 'owner' AND "
                "action = 'accumulated'"),
            "100.00");
  EXPECT_EQ(promotions(), "1");
}

TEST_F(TrustTest, NoSecondPairWhileOneIsInFlightWhateverCrashes) {
  earn(100);
  auto first = std::make_unique<ledger::Projector>(projector(Amount::whole(30)));
  EXPECT_EQ(step(*first).promotions, 1);
  first.reset();  // dies before it folds the promotion
  // Another event keeps the rounds coming, and the user's row is held: the promotion stays in flight.
  auto holder = host("SELECT FROM users WHERE external_id = 'owner' FOR UPDATE");
  for (int i = 0; i < 3; ++i) {
    emit_and_commit(top_up("alice", 1));
    auto next = projector(Amount::whole(30));
    EXPECT_EQ(step(next).promotions, 0);
  }
  must(holder.run_script("COMMIT"));
  emit_and_commit(top_up("alice", 1));
  auto last = projector(Amount::whole(30));
  step(last);
  EXPECT_EQ(owner(), "100.00 0.00 true");
  EXPECT_EQ(promotions(), "1");
}

// The promotion's number lies below the frontier when it commits after others: it is in flight all the same.
TEST_F(TrustTest, APromotionInAGapIsInFlight) {
  earn(100);
  auto worker = projector(Amount::whole(30));
  EXPECT_EQ(step(worker).promotions, 1);
  auto holder = host("SELECT FROM users WHERE external_id = 'owner' FOR UPDATE");
  emit_and_commit(top_up("alice", 1));
  EXPECT_EQ(must(worker.run_once()).events, 1);
  EXPECT_NE(ask("SELECT gaps FROM kudos_work_map"), "{}");
  must(holder.run_script("COMMIT"));
  auto next = projector(Amount::whole(30));
  must(next.promote_if_due({.events = 1}));
  EXPECT_EQ(promotions(), "1");
}

TEST_F(TrustTest, AStrandedEscrowHealsItselfEvenWithoutThreshold) {
  earn(100);
  auto worker = projector(std::nullopt);
  EXPECT_EQ(step(worker).promotions, 0);
  EXPECT_EQ(owner(), "50.00 50.00 false");
  server().run("UPDATE users SET trusted = true WHERE external_id = 'owner'");
  emit_and_commit(top_up("alice", 1));
  EXPECT_EQ(step(worker).promotions, 1);
  step(worker);
  EXPECT_EQ(owner(), "100.00 0.00 true");
}

TEST_F(TrustTest, NothingHappensInShadowMode) {
  earn(100);
  fold_all();
  server().run("UPDATE kudos_ledger_control SET mode = 'shadow'");
  auto worker = projector(Amount::whole(30));
  const auto report = must(worker.promote_if_due({.events = 1}));
  EXPECT_EQ(report.promoted_users + report.promotions, 0);
  EXPECT_EQ(owner(), "50.00 50.00 false");
}

TEST_F(TrustTest, AClaimThatCameBackFullPutsItOff) {
  earn(100);
  fold_all();
  auto worker = projector(Amount::whole(30));
  must(worker.promote_if_due({}));  // the first look, at once: none was ever made
  server().run("UPDATE users SET trusted = false WHERE external_id = 'owner'");
  EXPECT_EQ(must(worker.promote_if_due({.events = 1, .more = true})).promoted_users, 0);
  EXPECT_EQ(owner(), "50.00 50.00 false");
}

TEST_F(TrustTest, RowsThatSomebodyHoldsAreLeftForLater) {
  server().run("UPDATE workers SET paused = true");
  earn(100);
  fold_all();
  auto holder = host("SELECT FROM workers FOR UPDATE");
  {
    auto worker = projector(Amount::whole(30));
    EXPECT_EQ(must(worker.promote_if_due({.events = 1})).promoted_users, 0);
  }
  EXPECT_EQ(owner(), "50.00 50.00 false") << "not trusted with a worker that stays paused";
  must(holder.run_script("COMMIT"));
  auto worker = projector(Amount::whole(30));
  EXPECT_EQ(must(worker.promote_if_due({.events = 1})).promoted_users, 1);
  EXPECT_EQ(ask("SELECT paused FROM workers"), "f");
}

TEST_F(TrustTest, AWaveIsTakenInBoundedRoundsAndNobodyIsLeftBehind) {
  make_wave(1200);
  // The first ones are held by a host for the whole time: they must not stop those behind them.
  auto holder = host(
      "SELECT FROM users WHERE id IN (SELECT id FROM users WHERE external_id LIKE 'wave %' ORDER BY id "
      "LIMIT 500) FOR UPDATE");
  auto worker = must(ledger::Projector::create(server().open(), {.batch_postings = 5000}));
  std::int32_t promoted = 0;
  for (int i = 0; i < 4; ++i) {
    emit_and_commit(top_up("alice", 1));
    const auto report = step(worker);
    EXPECT_LE(report.promotions, 500);
    promoted += report.promotions;
    if (report.promotions == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // it rests
  }
  EXPECT_EQ(promoted, 700);
  must(holder.run_script("COMMIT"));
}

class TrustLoopTest : public TrustTest {};

TEST_F(TrustLoopTest, TheLoopPromotesAndFolds) {
  earn(100);
  ledger::ProjectorLoop loop({.conninfo = server().conninfo(),
                              .projector = {.interval = std::chrono::milliseconds(100), .trust = {Amount::whole(30)}},
                              .log = {}});
  loop.start();
  for (int i = 0; i < 500 && owner() != "100.00 0.00 true"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  loop.stop();
  EXPECT_EQ(owner(), "100.00 0.00 true");
  EXPECT_EQ(loop.stats().promoted_users, 1);
  EXPECT_EQ(loop.stats().promotions, 1);
}

}  // namespace
}  // namespace kudos::testing
