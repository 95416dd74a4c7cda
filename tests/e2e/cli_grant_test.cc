// Monthly grants.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

using CliGrantTest = CliTest;

// Lowering and raising again within a month grants nothing twice.
TEST_F(CliGrantTest, ARaiseGrantsAtOnceWhatTheMonthHasNotBeenGranted) {
  create("gra-raise");
  const auto first = json({"grant", "ext:gra-raise", "--monthly", "50"});
  EXPECT_EQ(first.at("granted").as_bool(), true);
  EXPECT_EQ(first.at("stored").as_bool(), true);
  EXPECT_EQ(json({"grant", "ext:gra-raise", "--monthly", "20"}).at("granted").as_bool(), false);
  const Outcome again = kudos({"grant", "ext:gra-raise", "--monthly", "50.00"});
  EXPECT_EQ(again.out, "the monthly grant is 50.00 now\nnothing was granted at once\n");
  const Outcome raise = kudos({"grant", "ext:gra-raise", "--monthly", "60.5"});
  EXPECT_NE(raise.out.find("the monthly grant is 60.50 now\nevent "), std::string::npos) << raise.out;
  EXPECT_EQ(balance("ext:gra-raise"), "60.50");  // 50 + 10.50
}

TEST_F(CliGrantTest, AMonthIsGrantedOnceWhenItIsDue) {
  create("gra-due");
  EXPECT_EQ(kudos({"grant", "ext:gra-due"}).out, "no grant is due\n");
  ASSERT_EQ(kudos({"grant", "ext:gra-due", "--monthly", "8"}).code, 0);
  EXPECT_EQ(json({"grant", "ext:gra-due"}), boost::json::parse(R"({"granted":false})"));
  sql("UPDATE users SET monthly_kudos_last_received = now() - interval '40 days',"
      " monthly_kudos_anchor = now() - interval '40 days' WHERE external_id = 'gra-due'");
  EXPECT_EQ(json({"grant", "ext:gra-due"}).at("granted").as_bool(), true);
  EXPECT_EQ(json({"grant", "ext:gra-due"}).at("granted").as_bool(), false);
  EXPECT_EQ(balance("ext:gra-due"), "16.00");
}

TEST_F(CliGrantTest, ADryRunGrantsNothingAndSetsNothing) {
  create("gra-dry");
  const auto shown = json({"grant", "ext:gra-dry", "--monthly", "9", "--dry-run"});
  EXPECT_EQ(shown.at("granted").as_bool(), true);
  EXPECT_EQ(shown.at("balances").at(0).at("effective").as_string(), "9.00");
  const Outcome plain = kudos({"grant", "ext:gra-dry", "--monthly", "9", "--dry-run"});
  EXPECT_NE(plain.out.find("dry run: nothing was committed"), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find("recurring"), std::string::npos) << plain.out;
  const auto none = json({"grant", "ext:gra-dry", "--dry-run"});
  EXPECT_EQ(none, boost::json::parse(R"({"dry_run":true,"granted":false})"));
  EXPECT_EQ(balance("ext:gra-dry"), "0.00");
  EXPECT_EQ(json({"grant", "ext:gra-dry", "--monthly", "9"}).at("granted").as_bool(), true);
}

TEST_F(CliGrantTest, WhatIsRefused) {
  create("gra-wrong");
  expect_refused({"grant", "ext:gra-nobody"}, "unknown_user");
  expect_refused({"grant", "-1"}, "system_account");
  expect_refused({"grant", "gra-wrong"}, "invalid_request");
  expect_refused({"grant", "ext:gra-wrong", "--monthly=-1"}, "amount_not_positive");
  expect_refused({"grant", "ext:gra-wrong", "--monthly", "1.001"}, "amount_too_precise");
  expect_refused({"grant", "ext:gra-wrong", "--monthly", "lots"}, "invalid_amount");
  expect_refused({"grant", "ext:gra-wrong", "--metadata", "[1]"}, "invalid_metadata");
  EXPECT_EQ(balance("ext:gra-wrong"), "0.00");
}

}  // namespace
}  // namespace kudos::testing
