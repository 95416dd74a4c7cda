// The projector finds rows by the places that it remembers (decision 0009), and producers read mirrored facts. Rows
// move, go, and are followed by others on the same place: the key decides, so no other row is ever changed.
#include "ledger_test.h"

namespace kudos::testing {
namespace {

class PlacesTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    worker_.emplace(projector());
    alice_ = make_user("alice");
    bob_ = make_user("bob");
    both(1);
  }
  // 10 for alice and 3 for bob, folded by the one projector that remembers.
  void both(int times) {
    for (int i = 0; i < times; ++i) {
      emit_and_commit(top_up("alice", 10));
      emit_and_commit(top_up("bob", 3));
    }
    EXPECT_EQ(fold_all(*worker_), 2 * times);
  }
  static std::string counted(const std::string& name) {
    return ask(
        "SELECT value FROM user_stats s JOIN users u ON u.id = s.user_id WHERE action = 'topped_up' AND "
        "external_id = '" +
        name + "'");
  }
  static std::string place_of(const std::string& name) {
    return ask("SELECT ctid::text FROM users WHERE external_id = '" + name + "'");
  }
  static void expect_all(const std::string& alice, const std::string& bob) {
    EXPECT_EQ(balance("alice"), alice);
    EXPECT_EQ(balance("bob"), bob);
    EXPECT_EQ(counted("alice"), alice);
    EXPECT_EQ(counted("bob"), bob);
  }

  UserId alice_, bob_;
  std::optional<ledger::Projector> worker_;  // on this test's database
};

TEST_F(PlacesTest, RowsThatWereAllMovedByVacuumFullAreFoundAgain) {
  server().run("VACUUM FULL users");
  server().run("VACUUM FULL user_stats");
  both(1);
  expect_all("20.00", "6.00");
  both(1);
  expect_all("30.00", "9.00");
}

TEST_F(PlacesTest, ARowThatAHostHasWrittenIsFoundAgain) {
  server().run("UPDATE users SET usage_multiplier = 2; UPDATE user_stats SET value = value + 1");
  both(2);
  EXPECT_EQ(balance("alice"), "30.00");
  EXPECT_EQ(counted("alice"), "31.00") << "the host's change stays";
  EXPECT_EQ(ask("SELECT usage_multiplier FROM users WHERE external_id = 'alice'"), "2.0000");
}

// Rewritten in the opposite order: each row stands where the other one was, or where a system account was.
TEST_F(PlacesTest, AnotherRowOnARememberedPlaceIsLeftAlone) {
  server().run("VACUUM FULL users");  // close together
  both(1);
  const auto before = place_of("bob");
  server().run("CREATE INDEX backwards ON users ((-id)); CLUSTER users USING backwards");
  server().run("CREATE INDEX backwards_stats ON user_stats ((-user_id)); CLUSTER user_stats USING backwards_stats");
  ASSERT_NE(place_of("bob"), before);
  both(1);
  expect_all("30.00", "9.00");
  EXPECT_EQ(ask("SELECT count(*) FROM users WHERE id < 0 AND kudos <> 0"), "0");
}

TEST_F(PlacesTest, ACounterThatWasDeletedAndWhosePlaceIsUsedAgainStartsAnew) {
  server().run("DELETE FROM user_stats WHERE user_id = " + std::to_string(alice_.value));
  server().run("VACUUM user_stats");
  server().run("INSERT INTO user_stats VALUES (" + std::to_string(bob_.value) + ", 'other', 7)");
  both(1);
  EXPECT_EQ(counted("alice"), "10.00");
  EXPECT_EQ(counted("bob"), "6.00");
  EXPECT_EQ(ask("SELECT value FROM user_stats WHERE action = 'other'"), "7.00");
}

// The mirror
// -----------------------------------------------------------------------------------------------------------

class MirrorTest : public LedgerTest {
 protected:
  // Rows of users and workers whose mirror differs.
  static std::string differences() {
    return ask(R"(
SELECT (SELECT count(*) FROM users u LEFT JOIN kudos_accounts a ON a.user_id = u.id
        WHERE (u.external_id, u.account_class, u.trusted, u.deleted_at IS NOT NULL, u.usage_multiplier, u.suspicious,
               u.flagged, u.education, CASE WHEN u.evaluating_kudos > 0 THEN length(trunc(u.evaluating_kudos)::text) ELSE 0 END)
              IS DISTINCT FROM (a.external_id, a.account_class, a.trusted, a.deleted, a.usage_multiplier, a.suspicious,
                                a.flagged, a.education, a.escrow_digits))
     + (SELECT count(*) FROM workers w FULL JOIN kudos_worker_facts f ON f.worker_id = w.id
        WHERE (w.id, w.user_id, w.team_id, w.worker_type::text)
              IS DISTINCT FROM (f.worker_id, f.user_id, f.team_id, f.worker_type)))");
  }
};

TEST_F(MirrorTest, FollowsEachChange) {
  make_user("alice");
  make_user("bob");
  const Uuid team = make_team("red", "alice");
  make_worker("w1", "alice", team);
  ASSERT_EQ(differences(), "0");
  for (const char* change :
       {"external_id = 'carol'", "account_class = 'postpaid'", "trusted = true", "deleted_at = now()",
        "usage_multiplier = 1.5", "suspicious = true", "flagged = true", "education = true", "evaluating_kudos = 0.01",
        "evaluating_kudos = 12345.67", "evaluating_kudos = 0"}) {
    server().run("UPDATE users SET " + std::string(change) + " WHERE external_id IN ('alice', 'carol')");
    EXPECT_EQ(differences(), "0") << change;
  }
  server().run("UPDATE workers SET user_id = (SELECT id FROM users WHERE external_id = 'bob'), worker_type = 'text'");
  EXPECT_EQ(differences(), "0");
  server().run("DELETE FROM teams");
  EXPECT_EQ(differences(), "0");
  server().run("DELETE FROM workers");
  EXPECT_EQ(differences(), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_worker_facts"), "0");
}

}  // namespace
}  // namespace kudos::testing
