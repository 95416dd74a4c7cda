// The database itself refuses to change facts (rule 1), and keeps its invariants as constraints.
#include "ledger_test.h"

namespace kudos::testing {
namespace {

class FactsTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    make_user("alice");
    make_worker("w", "alice");
    emit_and_commit(settle("alice", Uuid::v5({}, "w"), 10));
    fold_all();
  }
  static std::string refusal(const std::string& sql) {
    auto connection = server().open();
    const auto ran = connection.run_script(sql);
    return ran ? "accepted" : ran.error().message;
  }
};

TEST_F(FactsTest, NoPostingIsEverChangedOrDeleted) {
  for (const char* sql :
       {"UPDATE kudos_postings SET amount = 1", "UPDATE kudos_postings SET detail = NULL", "DELETE FROM kudos_postings",
        "TRUNCATE kudos_postings", "UPDATE kudos_stat_postings SET amount = 1", "DELETE FROM kudos_stat_postings",
        "TRUNCATE kudos_stat_postings", "UPDATE kudos_folds SET digest = digest", "DELETE FROM kudos_folds",
        "DELETE FROM kudos_events", "TRUNCATE kudos_events", "UPDATE kudos_events SET created = now()",
        "UPDATE kudos_events SET event_id = gen_random_uuid()", "UPDATE kudos_events SET inline = true",
        "DELETE FROM kudos_ledger_control", "DELETE FROM kudos_ledger_applier_state",
        "UPDATE kudos_events SET posting_count = 1"})
    EXPECT_NE(refusal(sql).find("append-only"), std::string::npos) << sql << ": " << refusal(sql);
}

TEST_F(FactsTest, AnAppliedMarkIsSetOnceAndCantBeTakenBack) {
  for (const char* sql : {"UPDATE kudos_events SET fold_id = NULL", "UPDATE kudos_events SET fold_id = 99",
                          "UPDATE kudos_events SET fold_id = fold_id"})
    EXPECT_NE(refusal(sql).find("append-only"), std::string::npos) << sql;
}

TEST_F(FactsTest, Constraints) {
  const std::string event = "INSERT INTO kudos_events (event_id, posting_count) VALUES (gen_random_uuid(), ";
  EXPECT_NE(refusal(event + "0)").find("posting_count_in_range"), std::string::npos);
  EXPECT_NE(refusal(event + "1001)").find("posting_count_in_range"), std::string::npos);
  const std::string posting =
      "INSERT INTO kudos_postings (event_seq, line, entry_type, user_id, amount) VALUES (1, 50, 'CHARGE', ";
  EXPECT_NE(refusal(posting + "1, 0)").find("amount_is_a_change"), std::string::npos);
  EXPECT_NE(refusal(posting + "1, 'NaN')").find("amount_is_a_change"), std::string::npos);
  EXPECT_NE(refusal(posting + "4711, 1)").find("user_id_fkey"), std::string::npos);
  EXPECT_NE(refusal(posting + "1, 1000000000000000000)").find("overflow"), std::string::npos);
  EXPECT_NE(refusal("INSERT INTO kudos_stat_postings (event_seq, line, entry_type, unit, amount, stat_action, record) "
                    "VALUES (1, 50, 'AWARD', 'kudos', 1, 'a', 'b')")
                .find("names_one_subject"),
            std::string::npos);
}

TEST_F(FactsTest, MoneyIsANumber) {
  for (const char* sql : {"UPDATE users SET kudos = 'NaN'", "UPDATE users SET floor_override = 'NaN'",
                          "UPDATE user_stats SET value = 'NaN'", "UPDATE workers SET contributions = 'NaN'"})
    EXPECT_NE(refusal(sql).find("is_a_number"), std::string::npos) << sql << ": " << refusal(sql);
}

TEST_F(FactsTest, AUserWithPostingsCantBeRemoved) {
  EXPECT_NE(refusal("DELETE FROM users WHERE external_id = 'alice'").find("user_id_fkey"), std::string::npos);
}

TEST_F(FactsTest, TheDocumentedViewsHaveTheirColumns) {
  EXPECT_EQ(ask("SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = "
                "'kudos_ledger'::regclass AND attnum > 0"),
            "id,created,event_id,entry_type,user_id,escrow,amount,applied,job_id,wp_type,detail");
  EXPECT_EQ(ask("SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = "
                "'kudos_stat_events'::regclass AND attnum > 0"),
            "id,created,event_id,entry_type,user_id,worker_user_id,worker_id,team_id,job_id,wp_type,amount,unit,"
            "stat_action,record,detail,applied,quarantined,quarantine_reason,quarantined_at");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_ledger WHERE applied = false"), "0");
  emit_and_commit(top_up("alice", 1));
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_ledger WHERE applied = false"), "2");
  EXPECT_EQ(ask("SELECT count(DISTINCT id) = count(*) FROM kudos_ledger"), "t");
}

// A service's own role may make users without knowing of accounts; so may replication.
TEST_F(LedgerTest, WhoeverInsertsUsersOpensTheirAccounts) {
  server().run(R"(
    DROP ROLE IF EXISTS app; CREATE ROLE app; GRANT SELECT, INSERT ON users TO app;
    SET ROLE app; INSERT INTO users (id) VALUES (7001); RESET ROLE;
    SET session_replication_role = replica; INSERT INTO users (id) VALUES (7002); RESET session_replication_role)");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_accounts WHERE user_id IN (7001, 7002)"), "2");
  server().run("REVOKE ALL ON users FROM app; DROP ROLE app");
}

}  // namespace
}  // namespace kudos::testing
