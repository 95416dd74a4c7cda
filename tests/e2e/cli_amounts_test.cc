// Scenarios M3 and M4: what an amount is, through the command line.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

using CliAmountsTest = CliTest;

TEST_F(CliAmountsTest, LargeAmountsTravelUnchanged) {
  create("amount-53-bits");
  create("amount-largest");
  const auto receipt = json({"topup", "ext:amount-53-bits", "9007199254740993.01"});
  ASSERT_EQ(kudos({"topup", "ext:amount-largest", "999999999999999999.99"}).code, 0);
  EXPECT_EQ(balance("ext:amount-53-bits"), "9007199254740993.01");
  EXPECT_EQ(balance("ext:amount-largest"), "999999999999999999.99");
  const auto event = json({"event", "show", std::string(receipt.at("event_id").as_string())});
  EXPECT_EQ(event.at("postings").at(0).at("amount").as_string(), "9007199254740993.01");
  expect_refused({"topup", "ext:amount-largest", "1000000000000000000.00"}, "amount_out_of_range");
  // A balance is wider than an amount.
  ASSERT_EQ(kudos({"topup", "ext:amount-largest", "999999999999999999.99"}).code, 0);
  EXPECT_EQ(balance("ext:amount-largest"), "1999999999999999999.98");
}

TEST_F(CliAmountsTest, WhatIsNotAnAmountIsRefusedByName) {
  create("amount-refused");
  const struct {
    std::string amount, name;
  } cases[] = {
      {"0", "amount_not_positive"},
      {"0.00", "amount_not_positive"},
      {"-5", "amount_not_positive"},
      {"-0.01", "amount_not_positive"},
      {"1.234", "amount_too_precise"},
      {"0.001", "amount_too_precise"},
      {"1e3", "invalid_amount"},
      {"1E-2", "invalid_amount"},
      {"NaN", "invalid_amount"},
      {"Infinity", "invalid_amount"},
      {"", "invalid_amount"},
      {" 5", "invalid_amount"},
      {"5 ", "invalid_amount"},
      {"+5", "invalid_amount"},
      {".5", "invalid_amount"},
      {"5.", "invalid_amount"},
      {"1,000", "invalid_amount"},
      {"1.2.3", "invalid_amount"},
      {"0x10", "invalid_amount"},
      {"five", "invalid_amount"},
      {"1000000000000000000", "amount_out_of_range"},
      {std::string(5'000, '9'), "amount_out_of_range"},
  };
  for (const auto& each : cases) expect_refused({"topup", "ext:amount-refused", each.amount}, each.name);
  expect_refused({"award", "ext:amount-refused", "1.234"}, "amount_too_precise");
  EXPECT_EQ(balance("ext:amount-refused"), "0.00");
}

TEST_F(CliAmountsTest, LeadingZerosAndOneDecimalAreFine) {
  create("amount-fine");
  ASSERT_EQ(kudos({"topup", "ext:amount-fine", std::string(50, '0') + "1.5"}).code, 0);
  ASSERT_EQ(kudos({"award", "ext:amount-fine", "0.01"}).code, 0);
  EXPECT_EQ(balance("ext:amount-fine"), "1.51");
}

}  // namespace
}  // namespace kudos::testing
