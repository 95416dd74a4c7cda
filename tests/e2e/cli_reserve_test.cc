// reserve: what is claimed and what is left, ids, keys, dry runs, refusals, amounts.
#include "db/connection.h"
#include "e2e/cli_fixture.h"
#include "kudos/session.h"

namespace kudos::testing {
namespace {

std::string text(const boost::json::value& value) { return std::string(value.as_string()); }

using CliReserveTest = CliTest;

TEST_F(CliReserveTest, AHoldLowersWhatIsAvailableAndNotTheBalance) {
  create_funded("rsv-a", "100");
  const auto made = json({"reserve", "ext:rsv-a", "12.50", "--id", "rsv-a-1"});
  EXPECT_EQ(made.at("replayed").as_bool(), false);
  EXPECT_EQ(text(made.at("amount")), "12.50");
  EXPECT_EQ(text(made.at("available")), "87.50");
  const auto& hold = made.at("hold");
  EXPECT_EQ(text(hold.at("reservation_id")), "rsv-a-1");
  EXPECT_EQ(text(hold.at("state")), "active");
  EXPECT_EQ(text(hold.at("claims")), "12.50");
  EXPECT_TRUE(hold.at("expires").is_null());
  const auto funds = json({"balance", "ext:rsv-a"});
  EXPECT_EQ(text(funds.at("kudos")), "100.00");
  EXPECT_EQ(text(funds.at("held")), "12.50");
  EXPECT_EQ(text(funds.at("available")), "87.50");
  EXPECT_EQ(text(funds.at("effective")), "100.00");
  const Outcome plain = kudos({"reserve", "ext:rsv-a", "20", "--id", "rsv-a-2"});
  EXPECT_EQ(plain.out, "hold rsv-a-2 claims 20.00 (67.50 more available)\n");
}

TEST_F(CliReserveTest, WhatIsShownOfAUserAgrees) {
  create_funded("rsv-show", "10");
  ASSERT_EQ(kudos({"reserve", "ext:rsv-show", "4", "--id", "rsv-show-1"}).code, 0);
  const auto user = json({"user", "show", "ext:rsv-show"});
  EXPECT_EQ(text(user.at("held")), "4.00");
  EXPECT_EQ(text(user.at("available")), "6.00");
  const Outcome plain = kudos({"user", "show", "ext:rsv-show"});
  for (const char* line : {"held         4.00\n", "available    6.00\n"})
    EXPECT_NE(plain.out.find(line), std::string::npos) << plain.out;
  // Nobody spends for the treasury: it has no floor to stop at.
  const auto treasury = json({"balance", "-1"});
  EXPECT_TRUE(treasury.at("held").is_null());
  EXPECT_TRUE(treasury.at("available").is_null());
  EXPECT_TRUE(treasury.at("floor").is_null());
}

// Scenario A2: income that is not folded yet buys nothing.
TEST_F(CliReserveTest, QueuedIncomeIsNotAvailable) {
  create_funded("rsv-income", "100");
  const auto funds = json({"topup", "ext:rsv-income", "100", "--dry-run"}).at("balances").at(0);
  EXPECT_EQ(text(funds.at("pending")), "100.00");
  EXPECT_EQ(text(funds.at("available")), "100.00");
  EXPECT_EQ(text(funds.at("effective")), "200.00");
  expect_refused({"reserve", "ext:rsv-income", "150", "--id", "rsv-income-1"}, "insufficient_funds");
  ASSERT_EQ(kudos({"topup", "ext:rsv-income", "100"}).code, 0);
  ASSERT_EQ(kudos({"drain"}).code, 0);
  EXPECT_EQ(kudos({"reserve", "ext:rsv-income", "150", "--id", "rsv-income-1"}).code, 0);
}

TEST_F(CliReserveTest, AnActiveIdIsTheSameHoldOrAConflict) {
  create_funded("rsv-id", "100");
  create_funded("rsv-id-other", "100");
  const auto first = json({"reserve", "ext:rsv-id", "30", "--id", "rsv-id-1"});
  const auto again = json({"reserve", "ext:rsv-id", "30.00", "--id", "rsv-id-1"});
  EXPECT_EQ(again.at("replayed").as_bool(), true);
  EXPECT_EQ(again.at("hold").at("hold_id"), first.at("hold").at("hold_id"));
  expect_refused({"reserve", "ext:rsv-id", "31", "--id", "rsv-id-1"}, "hold_conflict");
  expect_refused({"reserve", "ext:rsv-id-other", "30", "--id", "rsv-id-1"}, "hold_conflict");
  EXPECT_EQ(available("ext:rsv-id"), "70.00");
  EXPECT_EQ(available("ext:rsv-id-other"), "100.00");
}

TEST_F(CliReserveTest, AKeyGivesTheFirstResultEvenAfterTheEnd) {
  create_funded("rsv-key", "100");
  const Arguments reserve = {"reserve", "ext:rsv-key", "30", "--id", "rsv-key-1", "--key", "rsv-key-k"};
  const auto first = json(reserve);
  ASSERT_EQ(kudos({"release", "rsv-key-1"}).code, 0);
  const auto again = json(reserve);
  EXPECT_EQ(again.at("replayed").as_bool(), true);
  EXPECT_EQ(text(again.at("amount")), "30.00");
  EXPECT_EQ(again.at("hold").at("hold_id"), first.at("hold").at("hold_id"));
  EXPECT_EQ(text(again.at("hold").at("state")), "released");
  EXPECT_EQ(kudos(reserve).out,
            "hold rsv-key-1 has ended: released (released); 100.00 available (replayed: it was there already)\n");
  expect_refused({"reserve", "ext:rsv-key", "31", "--id", "rsv-key-1", "--key", "rsv-key-k"}, "idempotency_conflict");
  EXPECT_EQ(holds("rsv-key-1").size(), 1U);
}

// Scenario I5: a refusal uses up nothing.
TEST_F(CliReserveTest, ARefusedKeyMayBeTriedAgain) {
  create_funded("rsv-again", "10");
  const Arguments reserve = {"reserve", "ext:rsv-again", "15", "--id", "rsv-again-1", "--key", "rsv-again-k"};
  expect_refused(reserve, "insufficient_funds");
  ASSERT_EQ(kudos({"topup", "ext:rsv-again", "5"}).code, 0);
  ASSERT_EQ(kudos({"drain"}).code, 0);
  EXPECT_EQ(json(reserve).at("replayed").as_bool(), false);
}

TEST_F(CliReserveTest, ADryRunClaimsNothing) {
  create_funded("rsv-dry", "100");
  const Arguments reserve = {"reserve", "ext:rsv-dry", "40", "--id", "rsv-dry-1", "--key", "rsv-dry-k", "--dry-run"};
  const auto shown = json(reserve);
  EXPECT_EQ(shown.at("dry_run").as_bool(), true);
  EXPECT_EQ(text(shown.at("available")), "60.00");
  EXPECT_EQ(text(shown.at("hold").at("claims")), "40.00");
  EXPECT_EQ(kudos(reserve).out, "dry run: nothing was committed\nhold rsv-dry-1 claims 40.00 (60.00 more available)\n");
  EXPECT_EQ(available("ext:rsv-dry"), "100.00");
  EXPECT_TRUE(holds("rsv-dry-1").empty());
  // The key is still free for another request.
  EXPECT_EQ(kudos({"reserve", "ext:rsv-dry", "41", "--id", "rsv-dry-1", "--key", "rsv-dry-k"}).code, 0);
  expect_refused({"reserve", "ext:rsv-dry", "60", "--id", "rsv-dry-2", "--dry-run"}, "insufficient_funds");
}

TEST_F(CliReserveTest, WhatIsRefused) {
  create_funded("rsv-no", "10");
  create("rsv-gone");
  ASSERT_EQ(kudos({"user", "erase", "ext:rsv-gone", "--yes"}).code, 0);
  const std::string longest(200, 'x');
  EXPECT_EQ(kudos({"reserve", "ext:rsv-no", "1", "--id", longest}).code, 0);
  expect_refused({"reserve", "ext:rsv-no", "9.01", "--id", "rsv-no-1"}, "insufficient_funds");
  expect_refused({"reserve", "ext:rsv-nobody", "1", "--id", "rsv-no-1"}, "unknown_user");
  expect_refused({"reserve", "-1", "1", "--id", "rsv-no-1"}, "system_account");
  expect_refused({"reserve", "ext:rsv-no", "1", "--id", longest + "x"}, "invalid_request");
  expect_refused({"reserve", "ext:rsv-no", "1", "--id", "transfer:1:x"}, "invalid_request");
  expect_refused({"reserve", "ext:rsv-no", "1", "--id", "rsv-no-1", "--expires", "3661d"}, "invalid_request");
  EXPECT_EQ(available("ext:rsv-no"), "9.00");
}

TEST_F(CliReserveTest, WrongCommandLines) {
  expect_usage({"reserve", "ext:a", "1"}, "--id is required");
  expect_usage({"reserve", "ext:a", "--id", "x"}, "amount is required");
  expect_usage({"reserve", "ext:a", "1", "--id", ""}, "the value is empty");
  expect_usage({"reserve", "ext:a", "1", "--id", "\xFF"}, "not valid UTF-8");
  expect_usage({"reserve", "ext:a", "1", "--id", "x", "--expires", "500ms"},
               "'500ms' is not a whole number of seconds");
  expect_usage({"reserve", "ext:a", "1", "--id", "x", "--expires", "0d"}, "'0d' is not a time above 0");
  expect_usage({"reserve", "ext:a", "1", "--id", "x", "--metadata", "{}"}, "--metadata");
}

TEST_F(CliReserveTest, DaysAreTimes) {
  create_funded("rsv-days", "10");
  ASSERT_EQ(kudos({"reserve", "ext:rsv-days", "1", "--id", "rsv-days-1", "--expires", "7d"}).code, 0);
  sql("DO $$ BEGIN ASSERT (SELECT expires - created BETWEEN interval '7 days -5 s' AND interval '7 days 5 s' "
      "FROM kudos_reservations WHERE reservation_id = 'rsv-days-1'); END $$");
}

// Scenario M3.
TEST_F(CliReserveTest, LargeAmountsTravelUnchanged) {
  create_funded("rsv-large", "999999999999999999.99");
  const auto most = json({"reserve", "ext:rsv-large", "9007199254740993.01", "--id", "rsv-large-1"});
  EXPECT_EQ(text(most.at("hold").at("claims")), "9007199254740993.01");
  EXPECT_EQ(text(most.at("available")), "990992800745259006.98");
  ASSERT_EQ(kudos({"release", "rsv-large-1"}).code, 0);
  const auto all = json({"reserve", "ext:rsv-large", "999999999999999999.99", "--id", "rsv-large-2"});
  EXPECT_EQ(text(all.at("amount")), "999999999999999999.99");
  EXPECT_EQ(text(all.at("available")), "0.00");
  expect_refused({"reserve", "ext:rsv-large", "1000000000000000000.00", "--id", "rsv-large-3"}, "amount_out_of_range");
}

// Scenario M4, for every command of admission that takes an amount.
TEST_F(CliReserveTest, WhatIsNotAnAmountIsRefusedByName) {
  create_funded("rsv-form", "10");
  create("rsv-form-to");
  ASSERT_EQ(kudos({"reserve", "ext:rsv-form", "5", "--id", "rsv-form-1"}).code, 0);
  const struct {
    std::string amount, name;
  } cases[] = {{"0", "amount_not_positive"},
               {"-5", "amount_not_positive"},
               {"1.234", "amount_too_precise"},
               {"1e3", "invalid_amount"},
               {"NaN", "invalid_amount"},
               {"1,5", "invalid_amount"},
               {"1000000000000000000", "amount_out_of_range"}};
  for (const auto& each : cases) {
    expect_refused({"reserve", "ext:rsv-form", each.amount, "--id", "rsv-form-2"}, each.name);
    expect_refused({"capture", "rsv-form-1", each.amount}, each.name);
    expect_refused({"transfer", "ext:rsv-form", "ext:rsv-form-to", each.amount}, each.name);
    expect_refused({"extend", "rsv-form-1", "--amount=" + each.amount}, each.name);
  }
  for (const Arguments& arguments : std::vector<Arguments>{{"reserve", "ext:rsv-form", "", "--id", "rsv-form-2"},
                                                           {"capture", "rsv-form-1", ""},
                                                           {"transfer", "ext:rsv-form", "ext:rsv-form-to", ""}})
    expect_refused(arguments, "invalid_amount");
  EXPECT_EQ(available("ext:rsv-form"), "5.00");
}

// The program's transaction fails because another one has just taken the id. It runs again, and then sees why.
class CliReserveTwinTest : public CliTest {
 protected:
  static bool wait_until_it_waits() {
    constexpr static db::Statement kWaiting{"waiting", R"(
SELECT count(*)::integer FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO%kudos_reservations%')"};
    auto observer = *db::Connection::open(server().conninfo());
    for (int looks = 0; looks < 20'000; ++looks)
      if (const auto rows = observer.execute(kWaiting); rows && rows->int32(0, 0) > 0) return true;
    return false;
  }
};

TEST_F(CliReserveTwinTest, TwoPayersOfOneIdAtOnce) {
  create_funded("rsv-twin", "10");
  create_funded("rsv-twin-other", "10");
  auto mine = *db::Connection::open(server().conninfo());
  auto session = *Session::attach(mine.raw(), {});
  ASSERT_TRUE(mine.execute(db::kBegin).has_value());
  const Reserve reserve{UserRef::external("rsv-twin"), Amount::whole(3), "rsv-twin-1"};
  ASSERT_TRUE(emit(session, reserve).has_value());
  Background program(command({"reserve", "ext:rsv-twin-other", "3", "--id", "rsv-twin-1"}));
  ASSERT_TRUE(wait_until_it_waits());
  ASSERT_TRUE(mine.execute(db::kCommit).has_value());
  const Outcome second = program.finish();
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.err.find("kudos: hold_conflict: "), std::string::npos) << second.err;
  EXPECT_EQ(available("ext:rsv-twin-other"), "10.00");
}

}  // namespace
}  // namespace kudos::testing
