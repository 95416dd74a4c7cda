// The pipeline, the binary codecs and the mapping of errors, against a real server.
#include <libpq-fe.h>

#include "ledger_test.h"

namespace kudos::testing {
namespace {

class ConnectionTest : public LedgerTest {};

constexpr db::Statement kEcho{"echo", R"(
SELECT $1::bigint, $2::numeric, $3::uuid, $4::text, $5::boolean, $6::timestamptz, $7::integer,
       ($8::bigint[])[2], ($9::numeric[])[1], ($10::text[])[2] IS NULL, ($11::uuid[])[1], ($12::boolean[])[2],
       ($13::timestamptz[])[1], ($14::smallint[])[1], cardinality($15::integer[]), ($16::bytea[])[1])"};

TEST_F(ConnectionTest, EveryTypeTravelsUnchanged) {
  auto connection = server().open();
  const Amount large = *Amount::parse("999999999999999999.99"), odd = *Amount::parse("9007199254740993.01");
  const Uuid id = Uuid::v7();
  const Timestamp time{1'700'000'000'123'456};
  auto longs = db::Array::int64s(), shorts = db::Array::int16s(), numerics = db::Array::numerics(),
       texts = db::Array::texts(), uuids = db::Array::uuids(), booleans = db::Array::booleans(),
       times = db::Array::timestamps(), bytes = db::Array::bytes();
  longs.add(std::int64_t{1});
  longs.add(std::int64_t{-5'000'000'000});
  numerics.add(odd);
  texts.add("a");
  texts.null();
  uuids.add(id);
  booleans.add(false);
  booleans.add(true);
  times.add(time);
  shorts.add(std::int16_t{-7});
  bytes.add(std::string_view("\0\xFF", 2));
  const auto rows = must(connection.execute(kEcho, db::Params()
                                                       .add(std::int64_t{42})
                                                       .add(large)
                                                       .add(id)
                                                       .add("Ünï'\\")
                                                       .add(true)
                                                       .add(time)
                                                       .add(std::int32_t{-1})
                                                       .add(longs)
                                                       .add(numerics)
                                                       .add(texts)
                                                       .add(uuids)
                                                       .add(booleans)
                                                       .add(times)
                                                       .add(shorts)
                                                       .add(db::Array::int32s())
                                                       .add(bytes)));
  EXPECT_EQ(rows.int64(0, 0), 42);
  EXPECT_EQ(rows.amount(0, 1), large);
  EXPECT_EQ(rows.uuid(0, 2), id);
  EXPECT_EQ(rows.text(0, 3), "Ünï'\\");
  EXPECT_TRUE(rows.boolean(0, 4));
  EXPECT_EQ(rows.timestamp(0, 5), time);
  EXPECT_EQ(rows.int32(0, 6), -1);
  EXPECT_EQ(rows.int64(0, 7), -5'000'000'000);
  EXPECT_EQ(rows.amount(0, 8), odd);
  EXPECT_TRUE(rows.boolean(0, 9));
  EXPECT_EQ(rows.uuid(0, 10), id);
  EXPECT_TRUE(rows.boolean(0, 11));
  EXPECT_EQ(rows.timestamp(0, 12), time);
  EXPECT_EQ(rows.int16(0, 13), -7);
  EXPECT_EQ(rows.int32(0, 14), 0);
  EXPECT_EQ(rows.text(0, 15), std::string_view("\0\xFF", 2));
}

constexpr db::Statement kOne{"one", "SELECT 1"};
constexpr db::Statement kBroken{"broken", "SELECT 1 / $1::integer"};

TEST_F(ConnectionTest, AFailingStatementStopsThoseBehindItAndNamesItself) {
  auto connection = server().open();
  connection.queue(kOne);
  connection.queue(kBroken, db::Params().add(std::int32_t{0}));
  connection.queue(kOne);
  const auto failed = connection.flush();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::database_error);
  EXPECT_EQ(failed.error().sqlstate, "22012");
  EXPECT_EQ(failed.error().statement, "broken");
  EXPECT_EQ(must(connection.execute(kOne)).int32(0, 0), 1) << "the connection is usable again (C8)";
}

constexpr db::Statement kBig{"big", "SELECT repeat('x', 1000000), $1::text"};

// More in both directions than the sockets can hold: whoever only writes would wait for ever.
TEST_F(ConnectionTest, LargePipelinesDontBlock) {
  auto connection = server().open();
  const std::string megabyte(1'000'000, 'y');
  for (int i = 0; i < 40; ++i) connection.queue(kBig, db::Params().add(megabyte));
  const auto results = must(connection.flush());
  ASSERT_EQ(results.size(), 40u);
  EXPECT_EQ(results.back().text(0, 1), megabyte);
}

TEST_F(ConnectionTest, ABackendThatDiesIsAReconnect) {
  auto connection = server().open();
  server().run("SELECT pg_terminate_backend(" + std::to_string(connection.backend_pid()) + ")");
  const auto failed = connection.execute(kOne);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::database_unavailable);
  EXPECT_EQ(failed.error().recovery, Recovery::reconnect);
  EXPECT_TRUE(connection.is_broken());
}

constexpr db::Statement kKill{"kill", "SELECT pg_terminate_backend(pg_backend_pid())"};

TEST_F(ConnectionTest, AConnectionLostWithTheCommitOnItsWayIsInDoubt) {
  auto connection = server().open();
  connection.queue(db::kBegin);
  connection.queue(kKill);
  connection.queue(db::kCommit);
  const auto failed = connection.flush();
  ASSERT_FALSE(failed.has_value());
  EXPECT_NE(failed.error().recovery, Recovery::none);
}

TEST_F(ConnectionTest, BehindAPoolerStatementsAreNotPrepared) {
  auto connection = must(db::Connection::open(server().conninfo(), {.prepare = false}));
  must(connection.execute(kOne));
  must(connection.execute(kBroken, db::Params().add(std::int32_t{1})));
  PGresult* prepared = PQexec(connection.raw(), "SELECT count(*) FROM pg_prepared_statements");
  EXPECT_STREQ(PQgetvalue(prepared, 0, 0), "0");
  PQclear(prepared);
}

TEST_F(ConnectionTest, ABorrowedConnectionIsLeftAsItWas) {
  auto client = server().client();
  EXPECT_EQ(PQpipelineStatus(client.connection.raw()), PQ_PIPELINE_OFF);
  EXPECT_EQ(PQisnonblocking(client.connection.raw()), 0);
  auto again = must(Session::attach(client.connection.raw()));
  must(client.connection.execute(db::kBegin));
  EXPECT_EQ(must(pin_mode(again)), Mode::ledger) << "a second session on the same connection";
}

TEST_F(ConnectionTest, NobodyThere) {
  const auto refused = db::Connection::open("host=/nonexistent/socket dbname=x");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::database_unavailable);
}

}  // namespace
}  // namespace kudos::testing
