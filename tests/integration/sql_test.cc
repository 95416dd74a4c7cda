// The SQL surface itself: kudos_emit's documents, the caller's transaction, modes, monthly grants, erasure.
#include <algorithm>
#include <atomic>
#include <future>
#include <libpq-fe.h>

#include "ledger_test.h"

namespace kudos::testing {
namespace {

class SqlTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    make_user("alice");
    make_user("bob");
  }
  // The stable name of the refusal; "accepted" when there was none; the whole message for an error that isn't ours.
  static std::string outcome(const std::string& sql) {
    auto connection = server().open();
    return outcome(connection, sql);
  }
  static std::string outcome(db::Connection& connection, const std::string& sql) {
    const auto ran = connection.run_script(sql);
    if (ran) return "accepted";
    return ran.error().sqlstate.empty() ? std::string(error_name(ran.error().code)) : ran.error().message;
  }
  static std::string emit_document(const std::string& document) {
    return outcome("SELECT kudos_emit('" + document + "')");
  }
};

constexpr const char* kWhole =
    R"({"job_id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "wp_type": "image", "metadata": {"b": 1, "a": "x"},
  "postings": [{"entry_type": "CHARGE", "user": "ext:alice", "amount": "-12.50", "detail": {"reason": "why"}},
               {"entry_type": "CHARGE", "user": "ext:bob", "amount": 12, "escrow": true}, {"entry_type": "CHARGE", "user": -2, "amount": "0.50"}],
  "statistics": [{"entry_type": "CHARGE", "user": "ext:alice", "unit": "kudos", "stat_action": "charged", "record": "user_kudos", "amount": "-12.50"},
                 {"entry_type": "STAT_CONTRIBUTION", "worker": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "worker_user": 1, "unit": "count",
                  "stat_action": "fulfilment", "record": "fulfilments", "amount": 1}]})";

TEST_F(SqlTest, AWholeEventIsStoredAndFolds) {
  server().run("SELECT kudos_topup('ext:alice', 100)");
  EXPECT_EQ(emit_document(kWhole), "accepted");
  EXPECT_EQ(ask("SELECT posting_count FROM kudos_events ORDER BY seq DESC LIMIT 1"), "5");
  fold_all();
  EXPECT_EQ(balance("alice"), "87.50");
  EXPECT_EQ(ask("SELECT evaluating_kudos FROM users WHERE external_id = 'bob'"), "12.00");
  EXPECT_EQ(ask("SELECT value FROM user_stats WHERE action = 'charged'"), "-12.50");
  EXPECT_EQ(ask("SELECT metadata_hash = sha256(salt || convert_to(data::text, 'UTF8')) FROM kudos_events JOIN "
                "kudos_event_metadata ON event_seq = seq"),
            "t");
}

TEST_F(SqlTest, TheAnswerSaysIdSequenceModeAndReplay) {
  EXPECT_EQ(ask("SELECT (r).mode || ' ' || (r).replayed || ' ' || ((r).seq > 0) FROM (SELECT kudos_topup('ext:alice', "
                "1, key => 'k') AS r OFFSET 0) x"),
            "ledger false true");
  EXPECT_EQ(ask("SELECT replayed FROM kudos_topup('ext:alice', 1, key => 'k')"), "t");
}

TEST_F(SqlTest, KeysOfDocuments) {
  const std::string posting =
      R"("postings": [{"entry_type":"AWARD","user":"ext:alice","amount":"1"},{"entry_type":"AWARD","user":-1,"amount":"-1"}])";
  // Key order, metadata and white space are no part of the request.
  EXPECT_EQ(ask("SELECT replayed FROM kudos_emit('{\"key\": \"k\", \"principal\": \"p\", " + posting + "}')"), "f");
  EXPECT_EQ(ask("SELECT replayed FROM kudos_emit('{" + posting +
                ",  \"metadata\": {\"n\": 1}, \"principal\": \"p\", \"key\": \"k\"}')"),
            "t");
  EXPECT_EQ(emit_document(R"({"key": "k", "principal": "p", "wp_type": "text", )" + posting + "}"),
            "idempotency_conflict");
  const std::string id = R"("event_id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", )";
  EXPECT_EQ(ask("SELECT event_id || ' ' || replayed FROM kudos_emit('{" + id + posting + "}')"),
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8 false");
  EXPECT_EQ(ask("SELECT replayed FROM kudos_emit('{" + id + posting + "}')"), "t");
  EXPECT_EQ(emit_document("{" + id + R"("wp_type": "text", )" + posting + "}"), "idempotency_conflict");
}

struct Refusal {
  const char* document;
  const char* name;
};

// Every wrong form has one name, and nothing is stored. M4 for amounts in JSON.
const Refusal kRefusals[] = {
    {"[]", "invalid_request"},
    {"{}", "invalid_request"},
    {R"({"postings": {}})", "invalid_request"},
    {R"({"postings": [1]})", "invalid_request"},
    {R"({"postings": [], "typo": 1})", "invalid_request"},
    {R"({"job_id": "x", "postings": []})", "invalid_request"},
    {R"({"postings": [{"entry_type":"GIFT","user":"ext:alice","amount":"1"}]})", "invalid_request"},
    {R"({"postings": [{"user":"ext:alice","amount":"1"}]})", "invalid_request"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":"1","escrow":"maybe"}]})", "invalid_request"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":"1","detail":[1]}]})", "invalid_request"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":"1"}]})", "unbalanced_event"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:nobody","amount":"1"}]})", "unknown_user"},
    {R"({"postings": [{"entry_type":"AWARD","user":"alice","amount":"1"}]})", "unknown_user"},
    {R"({"postings": [{"entry_type":"AWARD","amount":"1"}]})", "unknown_user"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice"}]})", "invalid_amount"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":1.5}]})", "invalid_amount"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":1.0}]})", "invalid_amount"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":"1e3"}]})", "invalid_amount"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":"NaN"}]})", "invalid_amount"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":""}]})", "invalid_amount"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":" 1"}]})", "invalid_amount"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":true}]})", "invalid_amount"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":"0"}]})", "invalid_amount"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":"1.234"}]})", "amount_too_precise"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":"1000000000000000000.00"}]})",
     "amount_out_of_range"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":1000000000000000000}]})",
     "amount_out_of_range"},
    {R"({"statistics": [{"entry_type":"AWARD","user":"ext:alice","unit":"kudos","stat_action":"a","record":"nonsense","amount":"1"}]})",
     "invalid_statistic"},
    {R"({"statistics": [{"entry_type":"STAT_RECORD","user":"ext:alice","unit":"count","stat_action":"USAGE","record":"image","amount":"1"}]})",
     "invalid_statistic"},
    {R"({"statistics": [{"entry_type":"AWARD","user":"ext:alice","unit":"kudos","stat_action":"012345678901234567890","record":"user_kudos","amount":"1"}]})",
     "invalid_statistic"},
    {R"({"statistics": [{"entry_type":"AWARD","user":"ext:alice","unit":"euros","stat_action":"a","record":"user_kudos","amount":"1"}]})",
     "invalid_request"},
    {R"({"statistics": [{"entry_type":"AWARD","unit":"kudos","stat_action":"a","record":"user_kudos","amount":"1"}]})",
     "invalid_request"},
    {R"({"statistics": [{"entry_type":"AWARD","worker":"x","unit":"kudos","stat_action":"a","record":"worker_kudos","amount":"1"}]})",
     "invalid_request"},
    {R"({"statistics": [{"entry_type":"AWARD","user":"ext:nobody","unit":"kudos","stat_action":"a","record":"user_kudos","amount":"1"}]})",
     "unknown_user"},
    {R"({"metadata": [1], "statistics": [{"entry_type":"AWARD","user":"ext:alice","unit":"kudos","stat_action":"a","record":"user_kudos","amount":"1"}]})",
     "invalid_metadata"},
    {R"({"statistics": [{"entry_type":"STAT_ACTIVITY","user":"ext:alice","stat_action":"a","record":"user_activity","amount":"1"}]})",
     "invalid_request"},
    {R"({"postings": [[{"entry_type":"AWARD","user":"ext:alice","amount":"1"}]]})", "invalid_request"},
    {R"({"postings": [{"entry_type":"AWARD","user":"ext:alice","amount":"1","escro":true}]})", "invalid_request"},
    {R"({"postings": [{"entry_type":"FLOOR_ADJUSTMENT","user":"ext:alice","amount":"1"},{"entry_type":"FLOOR_ADJUSTMENT","user":-1,"amount":"-1"}]})",
     "invalid_request"},
    {R"({"postings": [{"entry_type":"STAT_RECORD","user":"ext:alice","amount":"1"},{"entry_type":"AWARD","user":-1,"amount":"-1"}]})",
     "invalid_request"},
    {R"({"statistics": [{"entry_type":"AWARD","user":-1,"unit":"kudos","stat_action":"a","record":"user_kudos","amount":"1"}]})",
     "system_account"},
    {R"({"event_id": "5219556f-b731-51e4-adba-15ff2179e68f", "postings": []})", "invalid_request"},
    {R"({"wp_type": "012345678901234567890", "statistics": [{"entry_type":"AWARD","user":"ext:alice","unit":"kudos","stat_action":"a","record":"user_kudos","amount":"1"}]})",
     "invalid_request"},
};

TEST_F(SqlTest, WrongDocumentsAreRefusedByName) {
  for (const Refusal& each : kRefusals) EXPECT_EQ(emit_document(each.document), each.name) << each.document;
  EXPECT_EQ(outcome("SELECT kudos_emit(NULL)"), "invalid_request");
  EXPECT_EQ(
      outcome(
          R"(SELECT kudos_emit(jsonb_build_object('statistics', (SELECT jsonb_agg('{"entry_type":"AWARD","user":"ext:alice","unit":"kudos","stat_action":"a","record":"user_kudos","amount":"1"}'::jsonb) FROM generate_series(1, 1001)))))"),
      "too_many_postings");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events"), "0");
}

TEST_F(SqlTest, WrongAmountsOfTypedFunctionsAreRefusedByName) {
  for (const auto& [literal, name] :
       std::vector<std::pair<std::string, std::string>>{{"'NaN'", "invalid_amount"},
                                                        {"'Infinity'", "invalid_amount"},
                                                        {"NULL", "invalid_amount"},
                                                        {"1.234", "amount_too_precise"},
                                                        {"1000000000000000000", "amount_out_of_range"},
                                                        {"0", "amount_not_positive"},
                                                        {"-1", "amount_not_positive"}})
    EXPECT_EQ(outcome("SELECT kudos_topup('ext:alice', " + literal + ")"), name) << literal;
  EXPECT_EQ(outcome("SELECT kudos_topup('ext:alice', 999999999999999999.99)"), "accepted");
}

// Only our function raises, so a savepoint is enough.
TEST_F(SqlTest, TheCallersTransactionIsUsableAfterASavepoint) {
  auto connection = server().open();
  EXPECT_EQ(outcome(connection, "BEGIN; SELECT kudos_topup('ext:alice', 5); SAVEPOINT s"), "accepted");
  EXPECT_EQ(outcome(connection, "SELECT kudos_topup('ext:nobody', 5)"), "unknown_user");
  EXPECT_EQ(outcome(connection, "ROLLBACK TO s; SELECT kudos_topup('ext:bob', 7); COMMIT"), "accepted");
  fold_all();
  EXPECT_EQ(balance("alice") + " " + balance("bob"), "5.00 7.00");
}

// V1.
TEST_F(SqlTest, OtherIsolationLevelsAreRefused) {
  EXPECT_EQ(outcome("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT kudos_topup('ext:alice', 5)"),
            "wrong_isolation_level");
  EXPECT_EQ(outcome("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT kudos_mode()"), "wrong_isolation_level");
}

TEST_F(SqlTest, InShadowModeACallerWithInlineCodeSaysSo) {
  server().run("UPDATE kudos_ledger_control SET mode = 'shadow'");
  EXPECT_EQ(outcome("SELECT kudos_topup('ext:alice', 5)"), "shadow_mode_unsupported");
  EXPECT_EQ(outcome("SELECT kudos_topup('ext:alice', 5, project => NULL)"), "shadow_mode_unsupported");
  EXPECT_EQ(ask("SELECT mode FROM kudos_topup('ext:alice', 5, project => false)"), "shadow");
  EXPECT_EQ(ask("SELECT bool_and(applied) FROM kudos_ledger"), "t") << "born applied";
  server().run("UPDATE users SET kudos = kudos + 5 WHERE external_id = 'alice'");  // the caller's inline code
  EXPECT_EQ(fold_all(), 1) << "the projector journals it";
  EXPECT_EQ(balance("alice"), "5.00");
  EXPECT_EQ(ask("SELECT inline_events FROM kudos_folds"), "1");
}

// I1 through SQL.
TEST_F(SqlTest, ManyAtOnceUnderOneKeyAreOneEvent) {
  std::vector<std::future<std::string>> callers;
  for (int i = 0; i < 20; ++i)
    callers.push_back(std::async(std::launch::async, [] {
      return ask("SELECT event_id || ' ' || replayed FROM kudos_topup('ext:alice', 5, key => 'k')");
    }));
  std::multiset<std::string> answers;
  for (auto& caller : callers) answers.insert(caller.get());
  EXPECT_EQ(std::set(answers.begin(), answers.end()).size(), 2u) << "one id, first or replayed";
  EXPECT_EQ(std::ranges::count_if(answers, [](const auto& answer) { return answer.ends_with("false"); }), 1);
  fold_all();
  EXPECT_EQ(balance("alice"), "5.00");
}

TEST_F(SqlTest, AvailableIgnoresQueuedCreditsAndEffectiveCountsThem) {
  server().run("SELECT kudos_topup('ext:alice', 100)");
  fold_all();
  server().run("SELECT kudos_topup('ext:alice', 50); SELECT kudos_charge('ext:alice', 30)");
  EXPECT_EQ(ask("SELECT kudos_available('ext:alice') || ' ' || kudos_effective('ext:alice')"), "70.00 120.00");
  server().run(
      "UPDATE users SET floor_override = 20 WHERE external_id = 'alice'; SELECT kudos_charge('ext:alice', 200)");
  EXPECT_EQ(ask("SELECT kudos_available('ext:alice') || ' ' || kudos_effective('ext:alice')"), "-150.00 20.00");
}

// A balance and what is queued are read in one snapshot: a fold in between takes a debit from neither (found by
// review).
TEST_F(SqlTest, AvailableNeverRisesWhileOnlyChargesFold) {
  server().run("SELECT kudos_topup('ext:alice', 100000)");
  fold_all();
  std::atomic<bool> stop{false};
  std::thread folder([&] {
    auto worker = projector();
    while (!stop) must(worker.run_once());
  });
  std::thread charger([&] {
    auto client = server().client();
    while (!stop) {
      must(client.connection.execute(db::kBegin));
      must(emit(client.session, Charge{UserRef::external("alice"), Amount::whole(1), {}, {}, {}}));
      commit(client);
    }
  });
  auto connection = server().open();
  double last = 1e9;
  int rises = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (std::chrono::steady_clock::now() < until) {
    PGresult* result = PQexec(connection.raw(), "SELECT kudos_available('ext:alice')");
    const double now = std::atof(PQgetvalue(result, 0, 0));
    PQclear(result);
    rises += now > last ? 1 : 0;
    last = now;
  }
  stop = true;
  folder.join();
  charger.join();
  EXPECT_EQ(rises, 0);
  fold_all();
}

// The first result stands, whatever has become of the accounts.
TEST_F(SqlTest, AReplayOutlivesTheAccount) {
  make_user("owes", "postpaid");
  const std::string calls[] = {"kudos_topup('ext:bob', 1, key => 'a')",
                               "kudos_charge('ext:alice', 5, 'ext:bob', key => 'c')",
                               "kudos_opening('ext:owes', -5, key => 'o')", "kudos_style('ext:bob', 1, key => 's')"};
  for (const auto& call : calls) EXPECT_EQ(ask("SELECT replayed FROM " + call), "f");
  server().run(
      "UPDATE users SET deleted_at = now() WHERE external_id = 'bob'; UPDATE users SET account_class = 'standard' "
      "WHERE external_id = 'owes'");
  for (const auto& call : calls) EXPECT_EQ(ask("SELECT replayed FROM " + call), "t") << call;
  EXPECT_EQ(outcome("SELECT kudos_topup('ext:bob', 1)"), "account_deleted");
}

TEST_F(SqlTest, AStoppedMonthlyGrantPaysNothingForTheMonthsMissedAndTogglingPaysOnce) {
  server().run("SELECT kudos_monthly('ext:alice', 10)");
  server().run(
      "UPDATE users SET monthly_kudos_last_received = now() - interval '10 months 1 day', monthly_kudos_anchor = now() "
      "- interval '10 months 1 day' WHERE external_id = 'alice'; SELECT kudos_monthly('ext:alice', 0); SELECT "
      "kudos_monthly('ext:alice', 10)");
  EXPECT_EQ(ask("SELECT event_id IS NULL FROM kudos_grant('ext:alice')"), "t");
  for (int i = 0; i < 3; ++i)
    server().run("SELECT kudos_monthly('ext:alice', 0); SELECT kudos_monthly('ext:alice', 1000)");
  fold_all();
  EXPECT_EQ(balance("alice"), "1010.00") << "10, a new start with 10, and the raise by 990 once";
}

TEST_F(SqlTest, MonthlyGrantsComeOnTheAnniversaryWithoutDrifting) {
  EXPECT_EQ(ask("SELECT event_id IS NULL FROM kudos_grant('ext:alice')"), "t") << "nothing is set";
  EXPECT_EQ(ask("SELECT event_id IS NOT NULL FROM kudos_monthly('ext:alice', 100)"), "t") << "the first amount at once";
  EXPECT_EQ(ask("SELECT event_id IS NULL FROM kudos_grant('ext:alice')"), "t") << "not due yet";
  EXPECT_EQ(ask("SELECT event_id IS NOT NULL FROM kudos_monthly('ext:alice', 130)"), "t");
  EXPECT_EQ(ask("SELECT event_id IS NULL FROM kudos_monthly('ext:alice', 120)"), "t") << "a lowering grants nothing";
  fold_all();
  EXPECT_EQ(balance("alice"), "130.00");
  // An anchor on the 31st, last received for February: March's is on the 31st again.
  server().run(
      "UPDATE users SET monthly_kudos_anchor = '2026-01-31 12:00Z', monthly_kudos_last_received = '2026-02-28 12:00Z' "
      "WHERE external_id = 'alice'");
  EXPECT_EQ(ask("SELECT event_id IS NOT NULL FROM kudos_grant('ext:alice')"), "t");
  EXPECT_EQ(ask("SELECT monthly_kudos_last_received AT TIME ZONE 'UTC' FROM users WHERE external_id = 'alice'"),
            "2026-03-31 12:00:00");
  // One month a call, and the same month never twice.
  server().run("UPDATE users SET monthly_kudos_last_received = '2026-02-28 12:00Z' WHERE external_id = 'alice'");
  EXPECT_EQ(ask("SELECT replayed FROM kudos_grant('ext:alice')"), "t");
  EXPECT_EQ(ask("SELECT replayed FROM kudos_grant('ext:alice')"), "f") << "April's";
  fold_all();
  EXPECT_EQ(balance("alice"), "370.00");
  EXPECT_EQ(ask("SELECT value FROM user_stats WHERE action = 'recurring'"), "370.00");
}

TEST_F(SqlTest, ErasureKeepsFactsHashesAndTotals) {
  server().run(
      R"(SELECT kudos_topup('ext:alice', 100, metadata => '{"name": "Alice"}'); SELECT kudos_topup('ext:bob', 1, metadata => '{"n": 1}'))");
  fold_all();
  const std::string before = ask("SELECT string_agg(encode(digest, 'hex'), '') FROM kudos_folds");
  const std::string id = ask("SELECT id FROM users WHERE external_id = 'alice'");
  EXPECT_EQ(ask("SELECT kudos_erase('ext:alice')"), "1");
  EXPECT_EQ(ask("SELECT kudos_erase('" + id + "')"), "0") << "again, by number";
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_event_metadata"), "1");
  EXPECT_EQ(ask("SELECT (external_id IS NULL AND deleted_at IS NOT NULL) || ' ' || kudos FROM users WHERE id = " + id),
            "true 100.00");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE metadata_hash IS NOT NULL"), "2");
  EXPECT_EQ(ask("SELECT string_agg(encode(digest, 'hex'), '') FROM kudos_folds"), before);
}

TEST_F(SqlTest, PruningSaysThatItDoesNothing) { EXPECT_EQ(ask("SELECT prune_applied_kudos_ledger()"), "0"); }

// A caller's search_path can't put its own functions or tables in front of ours.
TEST_F(SqlTest, TheSearchPathOfTheCallerDoesntMatter) {
  server().run(
      "CREATE SCHEMA evil; CREATE TABLE evil.users (id integer, external_id text); CREATE FUNCTION evil.now() RETURNS "
      "timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz'");
  EXPECT_EQ(outcome("SET search_path = evil, pg_catalog; SELECT public.kudos_topup('ext:alice', 5)"), "accepted");
}

}  // namespace
}  // namespace kudos::testing
