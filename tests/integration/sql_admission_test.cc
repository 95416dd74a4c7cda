// What only SQL has: locks inside functions, dialogues between sessions, many at once, bulk release, old signatures.
#include <algorithm>
#include <future>
#include <map>

#include "ledger/migrations.h"
#include "surfaces_test.h"

namespace kudos::testing {
namespace {

class SqlAdmissionTest : public SurfacesTest {
 protected:
  void SetUp() override {
    SurfacesTest::SetUp();
    execute("SELECT kudos_topup('ext:alice', 100), kudos_topup('ext:trusted', 100)");
    fold_all();
  }

  // "accepted", the name of the refusal, or what PostgreSQL said.
  static std::string outcome(db::Connection& connection, const std::string& sql) {
    const auto ran = connection.run_script(sql);
    if (ran) return "accepted";
    if (!ran.error().sqlstate.empty()) return ran.error().sqlstate;
    return std::string(error_name(ran.error().code));
  }
  static std::string outcome(const std::string& sql) {
    auto connection = server().open();
    return outcome(connection, sql);
  }
  // How often each outcome came of one call in each of many sessions at once.
  static std::map<std::string, int> at_once(int sessions, const std::function<std::string(int)>& sql) {
    std::vector<std::future<std::string>> running;
    for (int i = 0; i < sessions; ++i)
      running.push_back(std::async(std::launch::async, [&, i] { return outcome(sql(i)); }));
    std::map<std::string, int> outcomes;
    for (auto& each : running) ++outcomes[each.get()];
    return outcomes;
  }
  using Outcomes = std::map<std::string, int>;

  // A session in which a statement is under way: it waits for somebody.
  struct Waiting {
    db::Connection connection;
    std::future<std::string> answer;
  };
  static std::unique_ptr<Waiting> start(const std::string& sql) {
    auto waiting = std::make_unique<Waiting>(Waiting{server().open(), {}});
    const std::string pid = std::to_string(PQbackendPID(waiting->connection.raw()));
    waiting->answer =
        std::async(std::launch::async, [&connection = waiting->connection, sql] { return outcome(connection, sql); });
    while (ask("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " + pid) == "0" &&
           waiting->answer.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
    }
    return waiting;
  }
};

// A1
TEST_F(SqlAdmissionTest, TwentyHoldsAtOnceFiveFit) {
  const auto outcomes =
      at_once(20, [](int i) { return "SELECT kudos_reserve('ext:alice', 20, 'h" + std::to_string(i) + "')"; });
  EXPECT_EQ(outcomes, (Outcomes{{"accepted", 5}, {"insufficient_funds", 15}}));
  EXPECT_EQ(ask("SELECT kudos_available('ext:alice')"), "0.00");
  EXPECT_EQ(balance("alice"), "100.00");
}

// A3
TEST_F(SqlAdmissionTest, OfTwoCapturesAtOnceOneFindsTheHoldConsumed) {
  execute("SELECT kudos_reserve('ext:alice', 100, 'h')");
  EXPECT_EQ(at_once(2, [](int) { return "SELECT kudos_capture('h', 100)"; }),
            (Outcomes{{"accepted", 1}, {"hold_ended", 1}}));
}

// A13, V11
TEST_F(SqlAdmissionTest, TransfersAtOnce) {
  EXPECT_EQ(at_once(2, [](int) { return "SELECT kudos_transfer('ext:alice', 'ext:owner', 80)"; }),
            (Outcomes{{"accepted", 1}, {"insufficient_funds", 1}}));
  EXPECT_EQ(at_once(2,
                    [](int i) {
                      return i == 0 ? "SELECT kudos_transfer('ext:alice', 'ext:trusted', 1)"
                                    : "SELECT kudos_transfer('ext:trusted', 'ext:alice', 1)";
                    }),
            (Outcomes{{"accepted", 1}, {"reverse_transfer", 1}}));
}

// I1 on each command with side effects: everybody gets the first result, nobody an error.
TEST_F(SqlAdmissionTest, OneKeyUsedByManyAtOnceHasOneEffect) {
  execute("SELECT kudos_reserve('ext:trusted', 50, 'c'), kudos_reserve('ext:trusted', 10, 'n')");
  for (const std::string call :
       {"kudos_reserve('ext:alice', 30, 'h'", "kudos_extend('h', 40", "kudos_release('h'", "kudos_capture('c', 50",
        "kudos_transfer('ext:alice', 'ext:owner', 60", "kudos_charge('ext:trusted', 10, hold => 'n'",
        "kudos_charge('ext:alice', 40, check_funds => true"})
    EXPECT_EQ(at_once(10, [&](int) { return "SELECT " + call + ", key => $k$" + call + "$k$)"; }),
              (Outcomes{{"accepted", 10}}))
        << call;
  EXPECT_EQ(ask("SELECT kudos_available('ext:alice')"), "0.00") << "60 given, 40 charged";
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE fold_id IS NULL"), "4");
  fold_all();
  EXPECT_EQ(balance("alice"), "0.00");
  EXPECT_EQ(balance("trusted"), "40.00");
}

// V1
TEST_F(SqlAdmissionTest, AnotherIsolationLevelIsRefused) {
  for (const char* call : {"kudos_reserve('ext:alice', 80, 'h')", "kudos_transfer('ext:alice', 'ext:owner', 80)",
                           "kudos_charge('ext:alice', 80, check_funds => true)", "kudos_available('ext:alice')",
                           "kudos_release(ARRAY['h'])"})
    EXPECT_EQ(outcome("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT " + std::string(call)), "wrong_isolation_level");
}

// V3: a savepoint that is rolled back drops the lock; the next spend takes it again.
TEST_F(SqlAdmissionTest, LocksAreTakenAgainAfterASavepoint) {
  auto first = server().open();
  must(
      first.run_script("BEGIN; SAVEPOINT s; SELECT kudos_charge('ext:alice', 80, check_funds => true); ROLLBACK TO s"));
  EXPECT_EQ(outcome("SELECT kudos_charge('ext:alice', 80, check_funds => true)"), "accepted")
      << "nobody holds the lock";
  EXPECT_EQ(outcome(first, "SELECT kudos_charge('ext:alice', 80, check_funds => true)"), "insufficient_funds");
}

// The lock and the read that it protects are two statements: who waited sees what the other has stored.
TEST_F(SqlAdmissionTest, WhoWaitsForThePayerReadsWhatTheOtherStored) {
  auto first = server().open();
  must(first.run_script("BEGIN; SELECT kudos_reserve('ext:alice', 80, 'a')"));
  auto second = start("SELECT kudos_reserve('ext:alice', 80, 'b')");
  auto third = start("SELECT kudos_transfer('ext:alice', 'ext:owner', 20)");
  must(first.run_script("COMMIT"));
  EXPECT_EQ(second->answer.get(), "insufficient_funds");
  EXPECT_EQ(third->answer.get(), "accepted");
}

// C++ and SQL wait for the same lock.
TEST_F(SqlAdmissionTest, BothSurfacesTakeTheSameLock) {
  auto first = begin();
  must(emit(first.session, Reserve{ext("alice"), amount("80"), "a", {}, {}}));
  auto second = start("SELECT kudos_reserve('ext:alice', 80, 'b')");
  commit(first);
  EXPECT_EQ(second->answer.get(), "insufficient_funds");
}

// A capture that waits for a release of the same hold is told how it ended.
TEST_F(SqlAdmissionTest, ACaptureThatWaitedForAReleaseIsRefused) {
  execute("SELECT kudos_reserve('ext:alice', 80, 'h')");
  auto first = server().open();
  must(first.run_script("BEGIN; SELECT kudos_release('h')"));
  auto second = start("SELECT kudos_capture('h', 10)");
  must(first.run_script("COMMIT"));
  EXPECT_EQ(second->answer.get(), "hold_ended");
}

// A debit that waited for the row of a hold that ended uses the one that took over its id, and loses nobody's capture.
TEST_F(SqlAdmissionTest, ADebitFollowsTheIdToItsNewHold) {
  execute("SELECT kudos_reserve('ext:alice', 80, 'h')");
  auto first = server().open();
  must(
      first.run_script("BEGIN; SELECT kudos_release('h'); SELECT kudos_reserve('ext:alice', 50, 'h'); "
                       "SELECT kudos_capture('h', 10)"));
  auto second = start("SELECT kudos_charge('ext:alice', 20, hold => 'h')");
  must(first.run_script("COMMIT"));
  EXPECT_EQ(second->answer.get(), "accepted");
  EXPECT_EQ(ask("SELECT string_agg(state || ' ' || captured_amount, ', ' ORDER BY id) FROM kudos_reservations"),
            "released 0.00, active 30.00");
}

// Two payers, one new id: only the unique index knows. The loser's transaction is to be run again.
TEST_F(SqlAdmissionTest, AnIdThatAnotherPayerHasJustTakenIsASerializationFailure) {
  auto first = server().open();
  must(first.run_script("BEGIN; SELECT kudos_reserve('ext:alice', 10, 'h')"));
  auto second = start("SELECT kudos_reserve('ext:trusted', 10, 'h')");
  must(first.run_script("COMMIT"));
  EXPECT_EQ(second->answer.get(), "40001");
  EXPECT_EQ(outcome("SELECT kudos_reserve('ext:trusted', 10, 'h')"), "hold_conflict");
}

TEST_F(SqlAdmissionTest, AKeyThatATwinOfAnotherPayerHasJustUsedIsAConflict) {
  auto first = server().open();
  must(first.run_script("BEGIN; SELECT kudos_reserve('ext:alice', 10, 'h', key => 'k')"));
  auto second = start("SELECT kudos_reserve('ext:trusted', 10, 'other', key => 'k')");
  must(first.run_script("COMMIT"));
  EXPECT_EQ(second->answer.get(), "idempotency_conflict");
  EXPECT_EQ(ask("SELECT kudos_available('ext:trusted')"), "100.00");
}

TEST_F(SqlAdmissionTest, BulkRelease) {
  execute(
      "SELECT kudos_reserve('ext:trusted', 1, 'a'), kudos_reserve('ext:alice', 2.5, 'b'), "
      "kudos_reserve('ext:trusted', 4, 'c'), kudos_release('c')");
  EXPECT_EQ(
      ask("SELECT string_agg(amount || ' ' || stored || ' ' || coalesce(state, 'none'), ', ' ORDER BY n) FROM "
          "kudos_release('{b,never,a,c,b}'::text[]) WITH ORDINALITY AS r(hold_id, amount, state, stored, replayed, n)"),
      "2.50 true released, 0.00 false none, 1.00 true released, 0.00 false released, 0.00 false released");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_release('{}'::text[])"), "0");
  EXPECT_EQ(outcome("SELECT kudos_release('{a,\"\"}'::text[])"), "invalid_request");
}

// Many bulk releases in different orders, and spends in between: no deadlock.
TEST_F(SqlAdmissionTest, BulkReleasesInAnyOrderDontDeadlock) {
  for (int round = 0; round < 5; ++round) {
    execute(
        "SELECT kudos_reserve(u, 1, u || ' ' || i) FROM unnest('{ext:alice,ext:trusted}'::text[]) u, "
        "generate_series(1, 10) i");
    const auto outcomes = at_once(6, [](int i) {
      return "SELECT kudos_release((SELECT array_agg(reservation_id ORDER BY " +
             std::string(i % 2 == 0 ? "id" : "id DESC") + ") FROM kudos_reservations WHERE state = 'active'))";
    });
    EXPECT_EQ(outcomes, (Outcomes{{"accepted", 6}}));
  }
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_reservations WHERE state = 'active'"), "0");
}

// Shadow mode: what has no inline code of the caller's own is refused; what has is consumed at once, as a fold would.
TEST_F(SqlAdmissionTest, ShadowMode) {
  execute("SELECT kudos_reserve('ext:alice', 50, 'h'); UPDATE kudos_ledger_control SET mode = 'shadow'");
  for (const char* call :
       {"kudos_reserve('ext:alice', 1, 'x')", "kudos_extend('h', 60)", "kudos_release('h')", "kudos_capture('h', 1)",
        "kudos_transfer('ext:alice', 'ext:trusted', 1)", "kudos_charge('ext:alice', 1000, check_funds => true)"})
    EXPECT_EQ(outcome("SELECT " + std::string(call)), "shadow_mode_unsupported") << call;
  execute(
      "SELECT kudos_capture('h', 20, project => false), kudos_transfer('ext:alice', 'ext:trusted', 5, project => "
      "false); "
      "UPDATE users SET kudos = kudos - 25 WHERE external_id = 'alice'; "
      "UPDATE users SET kudos = kudos + 5 WHERE external_id = 'trusted'");
  EXPECT_EQ(ask("SELECT string_agg(state || ' ' || captured_amount || ' ' || consumed_amount, ', ' ORDER BY id) FROM "
                "kudos_reservations"),
            "active 20.00 20.00, released 5.00 5.00");
  EXPECT_EQ(ask("SELECT kudos_available('ext:alice')"), "45.00") << "75 less the 30 that the hold still claims";
}

// A database whose functions have the parameters of an earlier version.
TEST_F(SqlAdmissionTest, OldSignaturesGo) {
  execute(R"(
CREATE FUNCTION kudos_charge(payer text, amount numeric, payee text DEFAULT NULL) RETURNS text LANGUAGE sql AS 'SELECT ''old''';
CREATE FUNCTION of_the_host(a text) RETURNS text LANGUAGE sql AS 'SELECT a';
DELETE FROM kudos_function_sets)");
  EXPECT_EQ(outcome("SELECT kudos_charge('ext:alice', 1)"), "42725") << "ambiguous";
  auto connection = server().open();
  EXPECT_TRUE(must(ledger::migrate(connection)).functions_replaced);
  EXPECT_EQ(outcome("SELECT kudos_charge('ext:alice', 1), of_the_host('x'), kudos_release('x')"), "accepted");
  EXPECT_EQ(ask("SELECT count(*) FROM pg_proc WHERE proname = 'kudos_charge'"), "1");
  EXPECT_EQ(ask("SELECT count(*) FROM pg_proc WHERE proname = 'kudos_release'"), "2") << "both are of this version";
}

// The search is for what is queued, not for all that a user ever did.
TEST_F(SqlAdmissionTest, QueuedWorkIsFoundByRangesOfTheIndex) {
  execute(
      "INSERT INTO kudos_postings (event_seq, line, user_id, entry_type, amount) "
      "SELECT -n, 1, (SELECT id FROM users WHERE external_id = 'alice'), 'AWARD', 1 FROM generate_series(1, 20000) n; "
      "INSERT INTO kudos_postings (event_seq, line, user_id, entry_type, amount) "
      "SELECT -n, 2, -1, 'AWARD', -1 FROM generate_series(1, 20000) n; "
      "SELECT kudos_charge('ext:alice', 1); ANALYZE kudos_postings");
  const std::string tuples_read =
      "SELECT sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid)) FROM pg_class "
      "WHERE relname LIKE 'kudos_postings%'";
  for (int call = 0; call < 8; ++call) {  // also when the plan has become a generic one
    execute("BEGIN");
    const int before = std::stoi(ask(tuples_read));
    EXPECT_EQ(ask("SELECT kudos_available('ext:alice')"), "99.00");
    EXPECT_LT(std::stoi(ask(tuples_read)) - before, 20);
    execute("ROLLBACK");
  }
}

}  // namespace
}  // namespace kudos::testing
