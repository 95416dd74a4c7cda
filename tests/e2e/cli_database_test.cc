// Which database a command works on, and what it says when that isn't ready.
#include <unistd.h>

#include <csignal>
#include <sys/stat.h>

#include "db/connection.h"
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

class CliDatabaseTest : public CliTest {
 protected:
  // A new empty database on the shared server; its URL.
  static std::string make_database(const std::string& name) {
    auto connection = db::Connection::open(server().conninfo() + " dbname=postgres");
    EXPECT_TRUE(connection.has_value());
    EXPECT_TRUE(connection->run_script("CREATE DATABASE " + name).has_value());
    return server().conninfo() + " dbname=" + name;
  }
};

TEST_F(CliDatabaseTest, AnUnreachableDatabaseIsSaid) {
  for (const char* url : {"host=/nonexistent", "postgresql://127.0.0.1:1/x", "no-such-keyword=1"})
    expect_refused({"balance", "1", "--database-url", url}, "database_unavailable");
  expect_refused({"balance", "1", "--database-url", server().conninfo() + " dbname=missing"}, "database_unavailable");
  expect_refused({"balance", "1", "--data-dir", "/nonexistent"}, "database_unavailable");
  expect_refused({"up", "--for", "1s", "--database-url", "host=/nonexistent"}, "database_unavailable");
  expect_refused({"projector", "--database-url", "host=/nonexistent"}, "database_unavailable");
}

TEST_F(CliDatabaseTest, ADatabaseWithoutLedgerIsSaid) {
  const std::string url = make_database("without_ledger");
  for (const Arguments& each : std::vector<Arguments>{
           {"status"}, {"balance", "1"}, {"topup", "1", "1"}, {"drain"}, {"mode"}, {"projector"}, {"top", "users"}}) {
    Arguments arguments = each;
    arguments.insert(arguments.end(), {"--database-url", url});
    expect_refused(arguments, "schema_missing");
  }
}

TEST_F(CliDatabaseTest, AMigratedDatabaseStartsInShadowModeAndRefusesToEmit) {
  const std::string url = make_database("in_shadow");
  const auto with_url = [&](Arguments arguments) {
    arguments.insert(arguments.end(), {"--database-url", url});
    return arguments;
  };
  EXPECT_GT(json(with_url({"migrate"})).at("applied").as_array().size(), 0U);
  EXPECT_EQ(json(with_url({"migrate"})).at("applied").as_array().size(), 0U);
  EXPECT_EQ(json(with_url({"mode"})).at("mode").as_string(), "shadow");
  ASSERT_EQ(kudos(with_url({"user", "create", "shadow"})).code, 0);
  const std::string trace = files_.write("t.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\r\nt,1,1\r\n");
  expect_refused(with_url({"topup", "ext:shadow", "5"}), "shadow_mode_unsupported");
  expect_refused(with_url({"award", "ext:shadow", "5", "--dry-run"}), "shadow_mode_unsupported");
  expect_refused(with_url({"replay", trace, "--format", "azure-llm"}), "shadow_mode_unsupported");
  const Outcome demo = kudos(with_url({"up", "--demo", "--for", "5s"}));
  EXPECT_EQ(demo.code, 1);
  EXPECT_NE(demo.err.find("shadow_mode_unsupported"), std::string::npos) << demo.err;

  EXPECT_EQ(json(with_url({"mode", "ledger"})).at("changed").as_bool(), true);
  EXPECT_EQ(json(with_url({"mode", "ledger"})).at("changed").as_bool(), false);
  expect_refused(with_url({"mode", "shadow"}), "shadow_mode_unsupported");
  ASSERT_EQ(kudos(with_url({"topup", "ext:shadow", "5"})).code, 0);
  EXPECT_EQ(json(with_url({"status"})).at("pending_events").as_int64(), 1);  // nobody folds here
  EXPECT_EQ(json(with_url({"drain"})).at("folded_events").as_int64(), 1);
  EXPECT_EQ(json(with_url({"balance", "ext:shadow"})).at("kudos").as_string(), "5.00");
}

TEST_F(CliDatabaseTest, TheDatabaseIsFoundThroughTheEnvironment) {
  create("found");
  auto by_url = command({"balance", "ext:found"});
  by_url.env = {"KUDOS_DATABASE_URL=" + server().conninfo(), "KUDOS_DATA_DIR=/nonexistent"};
  EXPECT_EQ(run(by_url).code, 0);
  auto by_libpq = command({"balance", "ext:found"});
  by_libpq.env = {"PGHOST=" + server().data_dir() + "/socket", "PGUSER=kudos", "PGDATABASE=kudos"};
  EXPECT_EQ(run(by_libpq).code, 0);
  auto overruled = command({"balance", "ext:found", "--data-dir", server().data_dir()});
  overruled.env = {"KUDOS_DATABASE_URL=host=/nonexistent"};
  EXPECT_EQ(run(overruled).code, 0);
}

TEST_F(CliDatabaseTest, SchemasAreLedgersOfTheirOwn) {
  expect_refused({"status", "--schema", "apart"}, "schema_missing");
  ASSERT_EQ(kudos({"migrate", "--schema", "apart"}).code, 0);
  EXPECT_EQ(json({"status", "--schema", "apart"}).at("mode").as_string(), "shadow");
  EXPECT_EQ(json({"status"}).at("mode").as_string(), "ledger");
  expect_usage({"migrate", "--schema", std::string(64, 'x')}, "64 bytes");
}

TEST_F(CliDatabaseTest, WrongSettingsAreNamed) {
  auto options = command({"drain"});
  options.env.push_back("KUDOS_APPLIER_BATCH_SIZE=many");
  const Outcome outcome = run(options);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("KUDOS_APPLIER_BATCH_SIZE is 'many'"), std::string::npos) << outcome.err;
}

TEST_F(CliDatabaseTest, AProjectorStopsOnSignals) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Background projector(command({"projector"}));
    ASSERT_TRUE(projector.wait_for_error_text("projector: started"));
    projector.signal(signal);
    const Outcome outcome = projector.finish();
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.err.find("projector: stopped after"), std::string::npos) << outcome.err;
  }
}

TEST_F(CliDatabaseTest, AnotherAccountIsToldThatItMayNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  constexpr uid_t kNobody = 65534;
  auto balance = command({"balance", "1"});
  balance.account = kNobody;
  const Outcome refused = run(balance);
  if (refused.code == 127) GTEST_SKIP() << "the program lies where nobody else reaches it";
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("permission denied"), std::string::npos) << refused.err;
  auto up = command({"up", "--for", "1s", "--data-dir", (files_ / "").string()});
  up.account = kNobody;
  const Outcome outcome = run(up);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("data_directory"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("belongs to"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace kudos::testing
