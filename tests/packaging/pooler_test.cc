// Kudos behind a pooler in transaction mode: each transaction may run on another server connection, so nothing may be
// kept on one between transactions.
#include <libpq-fe.h>

#include "packaging/packaging_fixture.h"
#include "packaging/pgbouncer.h"

namespace kudos::testing {
namespace {

class PoolerTest : public PackagingTest {
 protected:
  void SetUp() override {
    PackagingTest::SetUp();
    if (!std::filesystem::exists(Pgbouncer::kProgram))
      GTEST_SKIP() << "no " << Pgbouncer::kProgram << ": apt-get install pgbouncer";
    make_user("alice");
    make_user("bob", "standard", true);
    worker_ = make_worker("machine", "bob");
    emit_and_commit(top_up("alice", 100));
    pooler_.emplace(server());
  }

  sim::Client pooled() const {
    auto connection = must(db::Connection::open(pooler_->conninfo()));
    auto session = must(Session::attach(connection.raw(), {.prepare = false}));
    return {std::move(connection), std::move(session)};
  }

  // The first value; a failure is the test's.
  static std::string query(const db::Connection& connection, const std::string& sql) {
    PGresult* result = PQexec(connection.raw(), sql.c_str());
    const auto status = PQresultStatus(result);
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) << sql << "\n" << PQresultErrorMessage(result);
    std::string value = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    PQclear(result);
    return value;
  }
  static std::string begin_on(const db::Connection& connection) {
    query(connection, "BEGIN ISOLATION LEVEL READ COMMITTED");
    return query(connection, "SELECT pg_backend_pid()");
  }

  // Keeps the server connection `backend` busy until the result is closed.
  db::Connection occupy(const std::string& backend) const {
    auto first = must(db::Connection::open(pooler_->conninfo()));
    auto second = must(db::Connection::open(pooler_->conninfo()));
    const bool first_has_it = begin_on(first) == backend;
    EXPECT_TRUE(begin_on(second) == backend || first_has_it) << "there are only two";
    query(first_has_it ? second : first, "ROLLBACK");
    return first_has_it ? std::move(first) : std::move(second);
  }

  Uuid worker_;
  std::optional<Pgbouncer> pooler_;
};

TEST_F(PoolerTest, OneSessionSettlesOnTwoServerConnections) {
  auto client = pooled();
  const auto first = begin_on(client.connection);
  must(emit(client.session, settle("alice", worker_, 10)));
  query(client.connection, "COMMIT");

  const auto holder = occupy(first);
  EXPECT_NE(begin_on(client.connection), first);
  must(emit(client.session, settle("alice", worker_, 20)));
  query(client.connection, "COMMIT");

  fold_all();
  EXPECT_EQ(balance("alice"), "70.00");
  EXPECT_EQ(balance("bob"), "30.00");
}

TEST_F(PoolerTest, ARollbackLeavesNothing) {
  auto client = pooled();
  begin_on(client.connection);
  must(emit(client.session, settle("alice", worker_, 10)));
  query(client.connection, "ROLLBACK");
  EXPECT_EQ(pending(), "1") << "the top-up alone";
}

TEST_F(PoolerTest, SqlFunctionsSettleOnTwoServerConnections) {
  const auto connection = must(db::Connection::open(pooler_->conninfo()));
  const auto settle_in_sql = [&](const std::string& cost, const std::string& key) {
    return query(connection, "SELECT replayed FROM kudos_settle(requester => 'ext:alice', worker => '" +
                                 worker_.to_string() + "', cost => " + cost + ", things => 1, key => '" + key + "')");
  };
  const auto first = begin_on(connection);
  EXPECT_EQ(settle_in_sql("10", "one"), "f");
  query(connection, "COMMIT");

  const auto holder = occupy(first);
  EXPECT_NE(begin_on(connection), first);
  EXPECT_EQ(settle_in_sql("10", "one"), "t");
  EXPECT_EQ(settle_in_sql("20", "two"), "f");
  query(connection, "COMMIT");

  fold_all();
  EXPECT_EQ(balance("alice"), "70.00");
}

}  // namespace
}  // namespace kudos::testing
