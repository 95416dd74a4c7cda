// Events that were set aside, and what operators do with them (contract, "Quarantine"; scenario P4).
#include "ledger/quarantine.h"

#include <future>

#include "ledger_test.h"
#include "store/health.h"

namespace kudos::testing {
namespace {

const ledger::Reviewer kAlice{"alice", "because"};

class QuarantineTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    make_user("ann");
    make_user("bob");
  }

  // A foreign writer's event: statistics only, each a row of columns (entry_type, unit, target, user_id, worker_id,
  // team_id, amount, stat_action, record).
  static Uuid insert_raw(const std::vector<std::string>& lines) {
    const Uuid id = Uuid::v7();
    std::string rows;
    for (std::size_t i = 0; i < lines.size(); ++i)
      rows += std::string(i == 0 ? "" : ", ") + "(currval('kudos_events_seq'), " + std::to_string(i + 1) + ", " +
              lines[i] + ")";
    server().run("INSERT INTO kudos_events (event_id, posting_count) VALUES ('" + id.to_string() + "', " +
                 std::to_string(lines.size()) +
                 "); INSERT INTO kudos_stat_postings (event_seq, line, entry_type, unit, target, user_id, worker_id, "
                 "team_id, amount, stat_action, record) VALUES " +
                 rows);
    return id;
  }
  static std::string good_line(const std::string& user = "1") {
    return "'AWARD', 'kudos', 'user_stat', " + user + ", NULL, NULL, 7, 'awarded', 'user_kudos'";
  }
  static std::string unknown_line() { return "'AWARD', 'kudos', NULL, 1, NULL, NULL, 7, 'awarded', 'nonsense'"; }

  static Result<ledger::Repair> repair(const Uuid& event, const ledger::Reviewer& reviewer = kAlice) {
    auto client = begin();
    auto done = ledger::repair_quarantined(client.session, event, reviewer);
    if (done) commit(client);
    return done;
  }
  static Result<ledger::Acceptance> accept(const Uuid& event, const ledger::Reviewer& reviewer = kAlice) {
    auto client = begin();
    auto done = ledger::accept_quarantined(client.session, event, reviewer);
    if (done) commit(client);
    return done;
  }
  static std::size_t listed(bool all) {
    auto connection = server().open();
    return must(store::list_quarantined(connection, all, 100)).size();
  }
  static std::string counter(const std::string& action = "awarded") {
    return ask("SELECT coalesce(sum(value), 0) FROM user_stats WHERE action = '" + action + "'");
  }
};

TEST_F(QuarantineTest, EveryReasonIsReached) {
  const std::string long_action(21, 'a'), long_record(31, 'r');
  const std::string worker = "'00000000-0000-0000-0000-000000000001'";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"missing_user", "'AWARD', 'kudos', 'user_stat', 99, NULL, NULL, 1, 'awarded', 'user_kudos'"},
      {"stat_action_too_long", "'AWARD', 'kudos', 'user_stat', 1, NULL, NULL, 1, '" + long_action + "', 'user_kudos'"},
      {"record_too_long", "'STAT_RECORD', 'count', 'user_record', 1, NULL, NULL, 1, 'REQUEST', '" + long_record + "'"},
      {"invalid_user_kudos", "'AWARD', 'things', 'user_stat', 1, NULL, NULL, 1, 'awarded', 'user_kudos'"},
      {"invalid_worker_kudos", "'AWARD', 'kudos', 'worker_stat', 1, NULL, NULL, 1, 'generated', 'worker_kudos'"},
      {"invalid_stat_record", "'STAT_RECORD', 'count', 'user_record', 1, NULL, NULL, 1, 'SLEEP', 'image'"},
      {"invalid_stat_record_unit", "'STAT_RECORD', 'things', 'user_record', 1, NULL, NULL, 1, 'REQUEST', 'image'"},
      {"invalid_stat_contribution",
       "'STAT_CONTRIBUTION', 'count', 'worker_contributions', NULL, " + worker + ", NULL, 1, 'x', 'contributions'"},
      {"invalid_stat_activity",
       "'STAT_ACTIVITY', 'count', 'user_activity', NULL, " + worker + ", NULL, 1, 'x', 'user_activity'"},
      {"unknown_projection", "'AWARD', 'kudos', 'user_stat', 1, NULL, NULL, 1, 'awarded', 'nonsense'"},
  };
  for (const auto& [reason, line] : cases) insert_raw({good_line(), line});
  EXPECT_EQ(fold_all(), 10);
  std::string expected;
  for (const auto& [reason, line] : cases) expected += (expected.empty() ? "" : " ") + reason;
  EXPECT_EQ(ask("SELECT string_agg(quarantine_reason::text, ' ' ORDER BY seq) FROM kudos_events"), expected);
  EXPECT_EQ(ask("SELECT count(*) FROM unnest(enum_range(NULL::kudos_quarantine_reason))"), "10");
  EXPECT_EQ(counter(), "0") << "nothing of a spoilt event folds";
}

TEST_F(QuarantineTest, ARepairEmitsWhatCanFoldAndNamesWhatCant) {
  const Uuid event = insert_raw({good_line(), unknown_line(), good_line("2")});
  fold_all();
  const std::string marks =
      ask("SELECT row(e.*)::text FROM kudos_events e WHERE event_id = '" + event.to_string() + "'");
  const auto done = must(repair(event));
  EXPECT_FALSE(done.receipt.replayed);
  EXPECT_EQ(done.receipt.event_id, repair_id(event));
  EXPECT_EQ(done.mending.kept, (std::vector<std::int16_t>{1, 3}));
  EXPECT_EQ(done.mending.left_out, (std::vector<LeftOut>{{2, QuarantineReason::unknown_projection}}));
  EXPECT_EQ(fold_all(), 1);
  EXPECT_EQ(counter(), "14.00");
  EXPECT_EQ(ask("SELECT string_agg(DISTINCT entry_type || ' ' || (detail ->> 'reason') || ' ' || applied, ';') FROM "
                "kudos_stat_events WHERE event_id = '" +
                done.receipt.event_id.to_string() + "' AND detail ->> 'event_id' = '" + event.to_string() + "'"),
            "RECONCILIATION quarantine true");
  EXPECT_EQ(ask("SELECT row(e.*)::text FROM kudos_events e WHERE event_id = '" + event.to_string() + "'"), marks);
  EXPECT_EQ(listed(false), 0u);
  EXPECT_EQ(listed(true), 1u);
}

TEST_F(QuarantineTest, ASecondRepairIsAReplay) {
  const Uuid event = insert_raw({good_line(), good_line("99")});
  fold_all();
  const auto first = must(repair(event));
  server().run("INSERT INTO users (id) VALUES (99)");
  const auto again = must(repair(event, {"bob", ""}));
  EXPECT_TRUE(again.receipt.replayed);
  EXPECT_EQ(again.receipt.seq, first.receipt.seq);
  fold_all();
  EXPECT_EQ(must(repair(event)).receipt.replayed, true);
  fold_all();
  EXPECT_EQ(counter(), "7.00");
  EXPECT_EQ(ask("SELECT string_agg(action || ' ' || reviewer || ' ' || note, ';') FROM kudos_quarantine_reviews"),
            "repaired alice because");
}

TEST_F(QuarantineTest, TwoOperatorsAtOnceHaveOneEffect) {
  const Uuid event = insert_raw({good_line(), unknown_line()});
  fold_all();
  auto alice = begin();
  const auto first = must(ledger::repair_quarantined(alice.session, event, {"alice", ""}));
  auto second = std::async(std::launch::async, [&] { return repair(event, {"bob", ""}); });
  while (ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == "0")
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  commit(alice);
  const auto bobs = must(second.get());
  EXPECT_TRUE(bobs.receipt.replayed);
  EXPECT_EQ(bobs.receipt.event_id, first.receipt.event_id);
  EXPECT_EQ(fold_all(), 1);
  EXPECT_EQ(counter(), "7.00");
  EXPECT_EQ(ask("SELECT reviewer FROM kudos_quarantine_reviews"), "alice");
}

TEST_F(QuarantineTest, ARolledBackRepairLeavesTheEventOpen) {
  const Uuid event = insert_raw({good_line(), unknown_line()});
  fold_all();
  auto client = begin();
  must(ledger::repair_quarantined(client.session, event, kAlice));
  must(client.connection.execute(db::kRollback));
  EXPECT_EQ(listed(false), 1u);
  EXPECT_FALSE(must(repair(event)).receipt.replayed);
}

TEST_F(QuarantineTest, AUserWhoExistsByNowIsMended) {
  const Uuid event = insert_raw({good_line("99")});
  fold_all();
  const auto refused = repair(event);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_statistic);
  EXPECT_EQ(listed(false), 1u) << "a refusal reviews nothing";
  server().run("INSERT INTO users (id) VALUES (99)");
  EXPECT_TRUE(must(repair(event)).mending.left_out.empty());
  fold_all();
  EXPECT_EQ(ask("SELECT value FROM user_stats WHERE user_id = 99"), "7.00");
}

TEST_F(QuarantineTest, AMissingWorkerIsNoObstacleAndItsTeamGetsItsPart) {
  const Uuid team = make_team("t", "bob");
  const std::string of_worker =
      "NULL, '00000000-0000-0000-0000-000000000009', '" + team.to_string() + "', 5, 'generated', 'worker_kudos'";
  insert_raw({"'GENERATION', 'kudos', 'worker_stat', " + of_worker});
  const Uuid spoilt = insert_raw({"'GENERATION', 'kudos', NULL, " + of_worker, unknown_line()});
  fold_all();
  EXPECT_EQ(ask("SELECT kudos FROM teams"), "5.00");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE quarantine_reason IS NOT NULL"), "1");
  EXPECT_EQ(must(repair(spoilt)).mending.kept, (std::vector<std::int16_t>{1}));
  fold_all();
  EXPECT_EQ(ask("SELECT kudos FROM teams"), "10.00");
}

TEST_F(QuarantineTest, ARepairReachesEveryCounter) {
  const Uuid team = make_team("t", "bob");
  const Uuid worker = make_worker("w", "bob", team);
  const std::string of_worker = "NULL, '" + worker.to_string() + "', '" + team.to_string() + "', ";
  const Uuid event = insert_raw({
      good_line(),
      "'STAT_RECORD', 'count', 'user_record', 1, NULL, NULL, 2, 'REQUEST', 'user_kudos'",
      "'STAT_ACTIVITY', 'count', 'user_activity', 1, NULL, NULL, 1, 'activity', 'user_activity'",
      "'GENERATION', 'kudos', 'worker_stat', " + of_worker + "3, 'generated', 'worker_kudos'",
      "'STAT_CONTRIBUTION', 'things', 'worker_contributions', " + of_worker + "4, 'x', 'contributions'",
      "'STAT_CONTRIBUTION', 'count', 'worker_fulfilments', " + of_worker + "5, 'x', 'fulfilments'",
      unknown_line(),
  });
  fold_all();
  must(repair(event));
  fold_all();
  EXPECT_EQ(listed(false), 0u) << "the repair itself isn't set aside";
  EXPECT_EQ(counter(), "7.00");
  EXPECT_EQ(ask("SELECT record_type || record || value FROM user_records"), "REQUESTuser_kudos2.00");
  EXPECT_EQ(ask("SELECT kudos || ' ' || contributions || ' ' || fulfilments FROM workers"), "3.00 4.00 5.00");
  EXPECT_EQ(ask("SELECT kudos || ' ' || contributions || ' ' || fulfilments FROM teams"), "3.00 4.00 5.00");
  EXPECT_EQ(ask("SELECT value FROM worker_stats"), "3.00");
  EXPECT_EQ(ask("SELECT u.last_active = e.created FROM users u, kudos_events e WHERE u.id = 1 AND e.event_id = '" +
                event.to_string() + "'"),
            "t");
}

TEST_F(QuarantineTest, AnAcceptanceIsRecordedOnce) {
  const Uuid event = insert_raw({unknown_line()});
  fold_all();
  EXPECT_EQ(accept(event, {"alice", ""}).error().code, ErrorCode::invalid_request);
  EXPECT_FALSE(must(accept(event, {"alice", "a load test"})).replayed);
  const auto again = must(accept(event, {"bob", "another reason"}));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.review.reviewer + ": " + again.review.note, "alice: a load test");
  EXPECT_EQ(listed(false), 0u);
  EXPECT_EQ(listed(true), 1u);
}

TEST_F(QuarantineTest, AnAcceptedEventMayStillBeRepairedButNotTheOtherWayRound) {
  const Uuid event = insert_raw({good_line(), unknown_line()});
  fold_all();
  must(accept(event));
  must(repair(event));
  EXPECT_EQ(accept(event).error().code, ErrorCode::already_exists);
  EXPECT_EQ(ask("SELECT string_agg(action::text, ' ' ORDER BY reviewed_at) FROM kudos_quarantine_reviews"),
            "accepted repaired");
}

TEST_F(QuarantineTest, WhatIsRefused) {
  const Uuid good = insert_raw({good_line()});
  const Uuid spoilt = insert_raw({good_line(), unknown_line()});
  fold_all();
  EXPECT_EQ(repair(Uuid::v7()).error().code, ErrorCode::unknown_event);
  EXPECT_EQ(accept(Uuid::v7()).error().code, ErrorCode::unknown_event);
  EXPECT_EQ(repair(good).error().code, ErrorCode::invalid_request);
  EXPECT_EQ(repair(spoilt, {"", ""}).error().code, ErrorCode::invalid_request);
  auto outside = server().client();
  EXPECT_EQ(ledger::repair_quarantined(outside.session, spoilt, kAlice).error().code, ErrorCode::not_in_transaction);
  auto serial = server().client();
  must(serial.connection.run_script("BEGIN ISOLATION LEVEL REPEATABLE READ"));
  EXPECT_EQ(ledger::repair_quarantined(serial.session, spoilt, kAlice).error().code, ErrorCode::wrong_isolation_level);
  EXPECT_EQ(listed(false), 1u);
}

TEST_F(QuarantineTest, InShadowModeARepairIsRefusedAndAnAcceptanceIsNot) {
  const Uuid event = insert_raw({good_line(), unknown_line()});
  fold_all();
  server().run("UPDATE kudos_ledger_control SET mode = 'shadow'");
  auto client = begin();
  EXPECT_EQ(ledger::repair_quarantined(client.session, event, kAlice).error().code, ErrorCode::shadow_mode_unsupported);
  must(ledger::accept_quarantined(client.session, event, kAlice));
  commit(client);
}

TEST_F(QuarantineTest, ReviewsCantBeChanged) {
  const Uuid event = insert_raw({unknown_line()});
  fold_all();
  must(accept(event));
  auto connection = server().open();
  for (const char* change : {"UPDATE kudos_quarantine_reviews SET note = 'other'",
                             "DELETE FROM kudos_quarantine_reviews", "TRUNCATE kudos_quarantine_reviews"}) {
    const auto refused = connection.run_script(change);
    ASSERT_FALSE(refused.has_value()) << change;
    EXPECT_NE(refused.error().message.find("append-only"), std::string::npos) << refused.error().to_string();
  }
}

// The user went away between repair and fold: the repair itself is set aside, and can be repaired in turn.
TEST_F(QuarantineTest, ARepairWhoseUserWentAwayIsOpenAgain) {
  server().run("INSERT INTO users (id) VALUES (99)");
  const Uuid event = insert_raw({good_line("99"), unknown_line()});
  fold_all();
  const auto first = must(repair(event));
  server().run("DELETE FROM users WHERE id = 99");
  fold_all();
  EXPECT_EQ(listed(false), 1u);
  server().run("INSERT INTO users (id) VALUES (99)");
  must(repair(first.receipt.event_id));
  fold_all();
  EXPECT_EQ(listed(false), 0u);
  EXPECT_EQ(counter(), "7.00");
}

TEST_F(QuarantineTest, HealthCountsWhatWasSetAsideAndShowsWhatIsOpenApart) {
  const Uuid first = insert_raw({good_line(), unknown_line()});
  insert_raw({good_line("99")});
  insert_raw({unknown_line()});
  fold_all();
  auto connection = server().open();
  auto health = must(store::read_health(connection));
  EXPECT_EQ(health.quarantined_events, 3);
  EXPECT_EQ(health.quarantined_rows, 4);
  EXPECT_EQ(health.open_quarantined_events, 3);
  ASSERT_EQ(health.quarantined_by_reason.size(), 2u);
  EXPECT_EQ(health.quarantined_by_reason[0].reason, "missing_user");
  EXPECT_EQ(health.quarantined_by_reason[1].events, 2);
  must(repair(first));
  health = must(store::read_health(connection));
  EXPECT_EQ(health.quarantined_rows, 4) << "evidence stays";
  EXPECT_EQ(health.open_quarantined_events, 2);
  EXPECT_EQ(health.open_quarantined_rows, 2);
  EXPECT_EQ(health.quarantined_by_reason[1].open_events, 1);
  EXPECT_EQ(health.pending_statistics.rows, 1) << "the repair waits";
  EXPECT_FALSE(health.pending_currency.oldest_seconds.has_value());
  EXPECT_TRUE(health.pending_statistics.oldest_seconds.has_value());
}

TEST_F(QuarantineTest, AgesAreThoseOfTheOldestAndTheNewest) {
  const Uuid old = insert_raw({unknown_line()});
  fold_all();
  server().run(
      "SET session_replication_role = replica; UPDATE kudos_events SET quarantined_at = clock_timestamp() - interval "
      "'1 hour'");
  insert_raw({good_line("99")});
  fold_all();
  auto connection = server().open();
  auto health = must(store::read_health(connection));
  EXPECT_NEAR(health.oldest_quarantined_seconds.value_or(0), 3600, 60);
  EXPECT_NEAR(health.newest_quarantined_seconds.value_or(-1), 30, 30);
  EXPECT_NEAR(health.oldest_open_quarantined_seconds.value_or(0), 3600, 60);
  must(accept(old));
  health = must(store::read_health(connection));
  EXPECT_NEAR(health.oldest_quarantined_seconds.value_or(0), 3600, 60);
  EXPECT_NEAR(health.oldest_open_quarantined_seconds.value_or(-1), 30, 30);
}

// A big archive is never read: no table of facts is scanned from its start.
TEST_F(QuarantineTest, HealthDoesNotReadTheArchive) {
  server().run(R"(
INSERT INTO kudos_events (event_id, posting_count, fold_id, inline)
    SELECT gen_random_uuid(), 4, 1, true FROM generate_series(1, 30000);
INSERT INTO kudos_stat_postings (event_seq, line, entry_type, unit, target, user_id, amount, stat_action, record)
    SELECT seq, line, 'AWARD', 'kudos', 'user_stat', 1, 1, 'awarded', 'user_kudos' FROM kudos_events, generate_series(3, 4) line;
INSERT INTO kudos_postings (event_seq, line, entry_type, user_id, amount)
    SELECT seq, line, 'AWARD', -line, 3 - 2 * line FROM kudos_events, generate_series(1, 2) line)");
  insert_raw({unknown_line()});
  fold_all();
  server().run("VACUUM ANALYZE kudos_events, kudos_postings, kudos_stat_postings");
  emit_and_commit(top_up("ann", 1));
  // The counts of the transaction's own scans, by table.
  static constexpr db::Statement kScans{"scans", R"(
SELECT string_agg(relname || ' ' || seq_scan || ' ' || (idx_scan > 0), ', ' ORDER BY relname) FROM pg_stat_xact_user_tables
WHERE relname IN ('kudos_events', 'kudos_postings', 'kudos_stat_postings'))"};
  auto connection = server().open();
  must(connection.execute(db::kBegin));
  const auto health = must(store::read_health(connection));
  EXPECT_EQ(health.quarantined_events, 1);
  EXPECT_EQ(health.pending_events, 1);
  EXPECT_EQ(must(store::count_pending(connection)), 1);
  EXPECT_EQ(must(connection.execute(kScans)).text(0, 0),
            "kudos_events 0 true, kudos_postings 0 true, kudos_stat_postings 0 true");
  must(connection.execute(db::kRollback));
  fold_all();
  server().run("SET session_replication_role = replica; DELETE FROM kudos_events WHERE inline");
}

}  // namespace
}  // namespace kudos::testing
