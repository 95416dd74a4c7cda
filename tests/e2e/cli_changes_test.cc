// adjust, opening, style, award and charge: amounts by hand, dry runs, what they refuse.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

using CliChangesTest = CliTest;

std::string text(const boost::json::value& value) { return std::string(value.as_string()); }

TEST_F(CliChangesTest, AnAdjustmentGoesUpAndDown) {
  create("chg-adjust");
  ASSERT_EQ(kudos({"topup", "ext:chg-adjust", "100"}).code, 0);
  ASSERT_EQ(kudos({"adjust", "ext:chg-adjust", "-5"}).code, 0);
  ASSERT_EQ(kudos({"adjust", "ext:chg-adjust", "--", "-2.5"}).code, 0);
  ASSERT_EQ(kudos({"adjust", "ext:chg-adjust", "7.25", "--reason", "our fault"}).code, 0);
  EXPECT_EQ(balance("ext:chg-adjust"), "99.75");  // 100 − 5 − 2.50 + 7.25
}

TEST_F(CliChangesTest, TheEventOfANegativeAdjustment) {
  create("chg-event");
  ASSERT_EQ(kudos({"topup", "ext:chg-event", "10"}).code, 0);
  const auto receipt = json({"adjust", "ext:chg-event", "-4", "--reason", "paid \"twice\"", "--key", "chg-case-9"});
  const auto event = json({"event", "show", text(receipt.at("event_id"))});
  const auto& postings = event.at("postings").as_array();
  ASSERT_EQ(postings.size(), 2U);
  EXPECT_EQ(text(postings[0].at("entry_type")), "ADMIN_ADJUSTMENT");
  EXPECT_EQ(text(postings[0].at("amount")), "-4.00");
  EXPECT_EQ(text(postings[0].at("detail").at("reason")), "paid \"twice\"");
  EXPECT_EQ(postings[1].at("user_id").as_int64(), -2);
  EXPECT_EQ(text(postings[1].at("amount")), "4.00");
  EXPECT_EQ(text(event.at("statistics").at(0).at("stat_action")), "admin");
  const auto again = json({"adjust", "ext:chg-event", "-4.00", "--reason", "paid \"twice\"", "--key", "chg-case-9"});
  EXPECT_EQ(again.at("replayed").as_bool(), true);
  expect_refused({"adjust", "ext:chg-event", "-4", "--reason", "other", "--key", "chg-case-9"}, "idempotency_conflict");
  EXPECT_EQ(balance("ext:chg-event"), "6.00");
}

TEST_F(CliChangesTest, AChargeGoesToTheSinkOrToAUser) {
  create("chg-payer");
  create("chg-payee");
  ASSERT_EQ(kudos({"topup", "ext:chg-payer", "50"}).code, 0);
  ASSERT_EQ(kudos({"charge", "ext:chg-payer", "8"}).code, 0);
  ASSERT_EQ(kudos({"charge", "ext:chg-payer", "12.34", "--to", "ext:chg-payee", "--reason", "rent"}).code, 0);
  EXPECT_EQ(balance("ext:chg-payer"), "29.66");  // 50 − 8 − 12.34
  EXPECT_EQ(balance("ext:chg-payee"), "12.34");
}

TEST_F(CliChangesTest, ADryRunShowsBothBalancesAndCommitsNothing) {
  create("chg-dry");
  create("chg-dry-to");
  ASSERT_EQ(kudos({"topup", "ext:chg-dry", "50"}).code, 0);
  ASSERT_EQ(kudos({"drain"}).code, 0);
  const Arguments charge = {"charge", "ext:chg-dry", "20", "--to", "ext:chg-dry-to", "--dry-run"};
  const auto shown = json(charge);
  const auto& balances = shown.at("balances").as_array();
  ASSERT_EQ(balances.size(), 2U);
  EXPECT_EQ(text(balances[0].at("external_id")), "chg-dry");
  EXPECT_EQ(text(balances[0].at("kudos")), "50.00");
  EXPECT_EQ(text(balances[0].at("pending")), "-20.00");
  EXPECT_EQ(text(balances[0].at("effective")), "30.00");
  EXPECT_EQ(text(balances[1].at("effective")), "20.00");
  const Outcome plain = kudos(charge);
  for (const char* part : {"dry run: nothing was committed", "CHARGE", "-20.00", "chg-dry-to", "30.00"})
    EXPECT_NE(plain.out.find(part), std::string::npos) << part << "\n" << plain.out;
  expect_refused({"event", "show", text(shown.at("receipt").at("event_id"))}, "unknown_event");
  EXPECT_EQ(balance("ext:chg-dry"), "50.00");
  EXPECT_EQ(balance("ext:chg-dry-to"), "0.00");
}

// What is owed isn't clamped to the floor, which is where forgiveness would begin.
TEST_F(CliChangesTest, ADryRunShowsWhatADebtorWillOwe) {
  ASSERT_EQ(kudos({"user", "create", "chg-debtor", "--class", "postpaid"}).code, 0);
  create("chg-forgiven");
  const auto owed = json({"charge", "ext:chg-debtor", "7", "--dry-run"});
  EXPECT_EQ(text(owed.at("balances").at(0).at("effective")), "-7.00");
  const auto forgiven = json({"charge", "ext:chg-forgiven", "7", "--dry-run"});
  EXPECT_EQ(text(forgiven.at("balances").at(0).at("effective")), "0.00");
}

TEST_F(CliChangesTest, OnlyAClassThatMayOweOpensBelowZero) {
  create("chg-open");
  ASSERT_EQ(kudos({"user", "create", "chg-owing", "--class", "postpaid"}).code, 0);
  ASSERT_EQ(kudos({"opening", "ext:chg-open", "250.5"}).code, 0);
  ASSERT_EQ(kudos({"opening", "ext:chg-owing", "-40"}).code, 0);
  expect_refused({"opening", "ext:chg-open", "-1"}, "amount_not_positive");
  EXPECT_EQ(balance("ext:chg-open"), "250.50");
  EXPECT_EQ(balance("ext:chg-owing"), "-40.00");
}

TEST_F(CliChangesTest, AStyleIsRewardedAndCounted) {
  create("chg-style");
  const auto receipt = json({"style", "ext:chg-style", "2.5", "--type", "text"});
  const auto event = json({"event", "show", text(receipt.at("event_id"))});
  EXPECT_EQ(text(event.at("wp_type")), "text");
  const auto& record = event.at("statistics").at(1);
  EXPECT_EQ(text(record.at("stat_action")), "STYLE");
  EXPECT_EQ(text(record.at("record")), "text");
  EXPECT_EQ(text(record.at("target")), "user_record");
  const auto plain = json({"style", "ext:chg-style", "1", "--dry-run"});
  EXPECT_EQ(text(plain.at("event").at("wp_type")), "image");
  EXPECT_EQ(balance("ext:chg-style"), "2.50");
}

TEST_F(CliChangesTest, AnAwardKeepsItsReason) {
  create("chg-award");
  const auto receipt = json({"award", "ext:chg-award", "3", "--reason", "found a bug"});
  const auto event = json({"event", "show", text(receipt.at("event_id"))});
  EXPECT_EQ(text(event.at("postings").at(0).at("detail").at("reason")), "found a bug");
  EXPECT_EQ(text(event.at("postings").at(0).at("detail_text")), R"({"reason": "found a bug"})");
}

TEST_F(CliChangesTest, WhatTheyRefuse) {
  create("chg-wrong");
  const struct {
    Arguments arguments;
    std::string name;
  } cases[] = {
      {{"adjust", "ext:chg-wrong", "0"}, "invalid_amount"},
      {{"adjust", "ext:chg-wrong", "-0.00"}, "invalid_amount"},
      {{"adjust", "ext:chg-wrong", "-1.234"}, "amount_too_precise"},
      {{"adjust", "ext:chg-wrong", "-1000000000000000000"}, "amount_out_of_range"},
      {{"adjust", "ext:chg-nobody", "-1"}, "unknown_user"},
      {{"adjust", "-2", "-1"}, "system_account"},
      {{"adjust", "ext:chg-wrong", "1", "--reason", std::string(201, 'x')}, "invalid_request"},
      {{"adjust", "ext:chg-wrong", "1", "--reason", "two\nlines"}, "invalid_request"},
      {{"adjust", "ext:chg-wrong", "1", "--metadata", "[1]"}, "invalid_metadata"},
      {{"charge", "ext:chg-wrong", "0"}, "amount_not_positive"},
      {{"charge", "ext:chg-wrong", "-3"}, "amount_not_positive"},
      {{"charge", "ext:chg-wrong", "3", "--to", "ext:chg-wrong"}, "invalid_request"},
      {{"charge", "ext:chg-wrong", "3", "--to", "ext:chg-nobody"}, "unknown_user"},
      {{"charge", "ext:chg-wrong", "3", "--to", "chg-wrong"}, "invalid_request"},
      {{"charge", "-1", "3"}, "system_account"},
      {{"opening", "ext:chg-wrong", "0"}, "invalid_amount"},
      {{"style", "ext:chg-wrong", "-1"}, "amount_not_positive"},
      {{"style", "ext:chg-wrong", "1", "--type", std::string(21, 't')}, "invalid_request"},
  };
  for (const auto& each : cases) expect_refused(each.arguments, each.name);
  EXPECT_EQ(balance("ext:chg-wrong"), "0.00");
}

}  // namespace
}  // namespace kudos::testing
