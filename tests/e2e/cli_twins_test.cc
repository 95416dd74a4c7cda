// Two who create the same thing at once: a dialogue of the test's own transaction with the program. Whoever comes
// second waits, and is then refused.
#include "db/connection.h"
#include "e2e/cli_fixture.h"
#include "kudos/accounts.h"

namespace kudos::testing {
namespace {

constexpr db::Statement kWaiting{"waiting", R"(
SELECT count(*)::integer FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO%')"};

class CliTwinsTest : public CliTest {
 protected:
  CliTwinsTest()
      : connection_(*db::Connection::open(server().conninfo())), session_(*Session::attach(connection_.raw(), {})) {}

  // Begins, makes the user, lets the program try, ends with `end`; what came of the program.
  Outcome race(const NewUser& mine, const Arguments& theirs, const db::Statement& end) {
    EXPECT_TRUE(connection_.execute(db::kBegin).has_value());
    const auto made = create_user(session_, mine);
    EXPECT_TRUE(made.has_value()) << made.error().to_string();
    Background program(command(theirs));
    EXPECT_TRUE(wait_until_it_waits());
    EXPECT_TRUE(connection_.execute(end).has_value());
    return program.finish();
  }

 private:
  static bool wait_until_it_waits() {
    auto observer = *db::Connection::open(server().conninfo());
    for (int looks = 0; looks < 20'000; ++looks)
      if (const auto rows = observer.execute(kWaiting); rows && rows->int32(0, 0) > 0) return true;
    return false;
  }

  db::Connection connection_;
  Session session_;
};

TEST_F(CliTwinsTest, OfTwoUsersOfOneNameOneIsRefused) {
  const Outcome second = race({.external_id = "twin-name"}, {"user", "create", "twin-name"}, db::kCommit);
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.err.find("kudos: already_exists: user ext:twin-name exists already"), std::string::npos)
      << second.err;
}

TEST_F(CliTwinsTest, OfTwoUsersOfOneNumberOneIsRefused) {
  const Outcome second = race({.external_id = "twin-a", .id = UserId{700'001}},
                              {"user", "create", "twin-b", "--id", "700001"}, db::kCommit);
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.err.find("kudos: already_exists: user 700001 exists already"), std::string::npos) << second.err;
  expect_refused({"user", "show", "ext:twin-b"}, "unknown_user");
}

TEST_F(CliTwinsTest, TheSecondSucceedsWhenTheFirstRollsBack) {
  const Outcome second = race({.external_id = "twin-back"}, {"user", "create", "twin-back"}, db::kRollback);
  EXPECT_EQ(second.code, 0) << second.err;
}

TEST_F(CliTwinsTest, AnImportKeepsTheAccountThatItWaitedFor) {
  const std::string rows = "external_id,balance,class\ntwin-import,3,registered\n";
  const std::string path = files_.write("twins.csv", rows);
  const Outcome kept =
      race({.external_id = "twin-import", .account_class = "registered"}, {"import", path, "--json"}, db::kCommit);
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_NE(kept.out.find(R"("accounts_created":0,"accounts_kept":1,"openings_stored":1)"), std::string::npos)
      << kept.out;
  EXPECT_EQ(balance("ext:twin-import"), "3.00");
}

TEST_F(CliTwinsTest, TwoImportsOfOneFileAtOnceStoreItOnce) {
  std::string rows = "external_id,balance,class\n";
  for (int i = 0; i < 600; ++i) rows += "twin-both-" + std::to_string(i) + ",1,standard\n";
  const std::string path = files_.write("both.csv", rows);
  Background one(command({"import", path, "--json"})), other(command({"import", path, "--json"}));
  std::int64_t stored = 0;
  for (Background* each : {&one, &other}) {
    const Outcome outcome = each->finish();
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    stored += boost::json::parse(outcome.out).at("openings_stored").as_int64();
  }
  EXPECT_EQ(stored, 600);
  EXPECT_EQ(balance("ext:twin-both-599"), "1.00");
}

}  // namespace
}  // namespace kudos::testing
