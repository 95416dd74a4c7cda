// Migrations (scenario O3) and what programs refuse.
#include <future>

#include "ledger/migrations.h"
#include "ledger_test.h"
#include "store/control.h"

namespace kudos::sql {
extern const std::vector<db::SqlFile> migrations;
}

namespace kudos::testing {
namespace {

class MigrationTest : public LedgerTest {
 protected:
  db::Connection open_schema(const std::string& schema) {
    return must(db::Connection::open(server().conninfo(), {.schema = schema}));
  }
};

TEST_F(MigrationTest, RunningThemAgainDoesNothing) {
  auto connection = server().open();
  const auto report = must(ledger::migrate(connection));
  EXPECT_TRUE(report.applied.empty());
  EXPECT_EQ(report.from_version, report.to_version);
}

TEST_F(MigrationTest, TwoAtOnceHaveOneEffect) {
  const auto run = [&] {
    auto connection = open_schema("shop");
    return must(ledger::migrate(connection)).applied.size();
  };
  auto first = std::async(std::launch::async, run), second = std::async(std::launch::async, run);
  const auto applied = std::pair(first.get(), second.get());
  EXPECT_EQ(std::min(applied.first, applied.second), 0u);
  EXPECT_EQ(ask("SELECT count(*) FROM shop.kudos_migrations"), std::to_string(applied.first + applied.second));
  EXPECT_EQ(ask("SELECT mode FROM shop.kudos_ledger_control"), "shadow");
}

TEST_F(MigrationTest, TwoLedgersInOneDatabaseDontMeet) {
  auto connection = open_schema("second ledger");
  must(ledger::migrate(connection));
  const auto keys = store::lock_keys("second ledger");
  EXPECT_NE(keys.applier, store::lock_keys("public").applier);
  must(store::switch_to_ledger(connection, keys, std::chrono::seconds(5)));
  auto session = must(Session::attach(connection.raw(), {.schema = "second ledger"}));
  must(connection.execute(db::kBegin));
  const NewUser user{.external_id = "alice"};
  must(ensure_users(session, std::span(&user, 1)));
  must(emit(session, top_up("alice", 10)));
  must(connection.execute(db::kCommit));
  auto projector = must(ledger::Projector::create(std::move(connection), {}));
  EXPECT_EQ(fold_all(projector), 1);
  EXPECT_EQ(ask("SELECT kudos FROM \"second ledger\".users WHERE external_id = 'alice'"), "10.00");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events"), "0");
}

// Contract: create what is missing, add what lacks, keep what is there, merge doubled counters, widen money.
TEST_F(MigrationTest, APopulatedDatabaseKeepsWhatItHas) {
  server().run(R"(
CREATE SCHEMA old; SET search_path TO old;
CREATE TABLE users (id serial PRIMARY KEY, username text NOT NULL DEFAULT 'x', kudos bigint NOT NULL DEFAULT 0);
CREATE TABLE user_stats (id serial PRIMARY KEY, user_id integer NOT NULL REFERENCES users, action varchar(20) NOT NULL,
                         value numeric(12,2) NOT NULL);
INSERT INTO users (username, kudos) VALUES ('a', 700), ('b', 5);
INSERT INTO user_stats (user_id, action, value) VALUES (1, 'accumulated', 3), (1, 'accumulated', 4.5), (2, 'gifted', 1))");
  auto connection = open_schema("old");
  must(ledger::migrate(connection));
  EXPECT_EQ(ask("SELECT string_agg(username || '=' || kudos, ' ' ORDER BY id) FROM old.users WHERE id > 0"),
            "a=700.00 b=5.00");
  EXPECT_EQ(ask("SELECT string_agg(user_id || action || value, ' ' ORDER BY user_id) FROM old.user_stats"),
            "1accumulated7.50 2gifted1.00");
  EXPECT_EQ(ask("SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'old.users'::regclass AND "
                "attname = 'kudos'"),
            "numeric(30,2)");
}

// 0004 takes the map of unapplied work over from the state row: an event in a gap is still found where the map says.
TEST_F(MigrationTest, TheMapOfUnappliedWorkMovesIntoTheJournal) {
  auto connection = open_schema("moving");
  const db::SqlFiles first{std::span(sql::migrations).first(1), {}};
  must(db::migrate(connection, first, store::lock_keys("moving").migration));
  server().run(R"(
SET search_path TO moving;
INSERT INTO kudos_folds (id, folded_at, events, postings, stat_postings, inline_events, quarantined_events,
                         floor_adjustments, seqs, digest, previous_digest)
    SELECT id, now(), 1, 1, 1, 0, 0, 0, '{}', sha256(''), sha256('') FROM generate_series(1, 2) id;
UPDATE kudos_ledger_applier_state SET frontier = 9, gaps = '{[2,4)}', young_gaps = '{[6,7)}', gaps_horizon = '77')");
  must(ledger::migrate(connection));
  EXPECT_EQ(ask("SELECT frontier || ' ' || gaps FROM moving.kudos_work_map"), "9 {[2,4),[6,7)}");
  EXPECT_EQ(ask("SELECT gaps_horizon || ' ' || young_gaps FROM moving.kudos_folds WHERE id = 2"), "77 {[6,7)}");
  EXPECT_EQ(ask("SELECT frontier IS NULL FROM moving.kudos_folds WHERE id = 1"), "t");
  EXPECT_EQ(ask("SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'moving.kudos_folds'::regclass AND tgname = "
                "'kudos_folds_are_fixed'"),
            "O");
}

TEST_F(MigrationTest, BeforeTheFirstFoldTheMapSaysEverywhere) {
  EXPECT_EQ(ask("SELECT count(*) || ' ' || max(frontier) || ' ' || max(gaps::text) FROM kudos_work_map"), "1 0 {}");
}

TEST_F(MigrationTest, WhatWouldBeRoundedIsRefusedByName) {
  server().run(
      "CREATE SCHEMA fine; CREATE TABLE fine.users (id serial PRIMARY KEY, kudos numeric(40,4)); INSERT INTO "
      "fine.users (kudos) VALUES (1.2345)");
  auto connection = open_schema("fine");
  EXPECT_EQ(ledger::migrate(connection).error().code, ErrorCode::invalid_request);
  server().run("UPDATE fine.users SET kudos = NULL");
  must(ledger::migrate(connection));
  EXPECT_EQ(ask("SELECT kudos FROM fine.users WHERE id > 0"), "0.00");
}

TEST_F(MigrationTest, AColumnThatTheSystemAccountsCantFillIsNamed) {
  server().run("CREATE SCHEMA strict; CREATE TABLE strict.users (id serial PRIMARY KEY, username text NOT NULL)");
  auto connection = open_schema("strict");
  const auto refused = ledger::migrate(connection);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("username"), std::string::npos) << refused.error().message;
  server().run(
      "INSERT INTO strict.users (id, username) VALUES (-1, 'treasury'), (-2, 'sink'); "
      "ALTER TABLE strict.users ADD COLUMN account_class text NOT NULL DEFAULT 'system'; "
      "ALTER TABLE strict.users ALTER COLUMN account_class SET DEFAULT 'standard'");
  must(ledger::migrate(connection));
}

TEST_F(MigrationTest, MoneyInBinaryFloatingPointIsRefusedByName) {
  server().run("CREATE SCHEMA floaty; CREATE TABLE floaty.users (id serial PRIMARY KEY, kudos double precision)");
  auto connection = open_schema("floaty");
  const auto refused = ledger::migrate(connection);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_request);
  EXPECT_NE(refused.error().message.find("users.kudos"), std::string::npos) << refused.error().message;
  EXPECT_EQ(ask("SELECT to_regclass('floaty.kudos_migrations') IS NULL"), "t") << "nothing half-made";
}

TEST_F(MigrationTest, ASchemaNewerThanTheProgramIsRefused) {
  server().run("INSERT INTO kudos_migrations (version, name) VALUES (9999, '9999_of_the_future')");
  auto connection = server().open();
  EXPECT_EQ(ledger::migrate(connection).error().code, ErrorCode::schema_too_new);
  EXPECT_EQ(Session::attach(connection.raw()).error().code, ErrorCode::schema_too_new);
  EXPECT_EQ(ledger::Projector::create(server().open(), {}).error().code, ErrorCode::schema_too_new);
}

TEST_F(MigrationTest, ADatabaseWithoutLedgerIsRefused) {
  auto connection = open_schema("nowhere");
  EXPECT_EQ(store::check_schema(connection).error().code, ErrorCode::schema_missing);
}

TEST_F(MigrationTest, AModeChangeWaitsOnlySoLongAndChangesNothing) {
  auto connection = open_schema("waiting");
  must(ledger::migrate(connection));
  const auto keys = store::lock_keys("waiting");
  auto holder = server().open();
  must(holder.run_script("BEGIN; SELECT pg_advisory_xact_lock_shared(" + std::to_string(keys.mode_gate) + ")"));
  EXPECT_EQ(store::switch_to_ledger(connection, keys, std::chrono::milliseconds(100)).error().code,
            ErrorCode::mode_change_timeout);
  EXPECT_EQ(ask("SELECT mode FROM waiting.kudos_ledger_control"), "shadow");
  must(holder.run_script("COMMIT"));
  must(store::switch_to_ledger(connection, keys, std::chrono::milliseconds(1000)));
}

}  // namespace
}  // namespace kudos::testing
