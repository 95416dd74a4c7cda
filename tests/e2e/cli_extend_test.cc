// extend: more for a hold, or more time.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

std::string text(const boost::json::value& value) { return std::string(value.as_string()); }

using CliExtendTest = CliTest;

TEST_F(CliExtendTest, TheDifferenceIsClaimed) {
  create_funded("ext-a", "100");
  const auto first = json({"reserve", "ext:ext-a", "10", "--id", "ext-a-1"});
  const auto more = json({"extend", "ext-a-1", "--amount", "25.50"});
  EXPECT_EQ(text(more.at("amount")), "25.50");
  EXPECT_EQ(text(more.at("available")), "74.50");
  EXPECT_EQ(more.at("hold").at("hold_id"), first.at("hold").at("hold_id"));
  EXPECT_EQ(kudos({"extend", "ext-a-1", "--amount", "100"}).out, "hold ext-a-1 claims 100.00 (0.00 more available)\n");
  expect_refused({"extend", "ext-a-1", "--amount", "100.01"}, "insufficient_funds");
  expect_refused({"extend", "ext-a-1", "--amount", "99.99"}, "hold_conflict");
  EXPECT_EQ(available("ext:ext-a"), "0.00");
}

TEST_F(CliExtendTest, ADeadlineOnlyMovesOutwards) {
  create_funded("ext-time", "10");
  const auto first = json({"reserve", "ext:ext-time", "1", "--id", "ext-time-1", "--expires", "1h"});
  const auto later = json({"extend", "ext-time-1", "--expires", "2h"});
  EXPECT_GT(text(later.at("hold").at("expires")), text(first.at("hold").at("expires")));
  EXPECT_EQ(text(later.at("hold").at("amount")), "1.00");
  const auto sooner = json({"extend", "ext-time-1", "--expires", "1m"});
  EXPECT_EQ(sooner.at("hold").at("expires"), later.at("hold").at("expires"));
  const std::string until = " until " + text(later.at("hold").at("expires"));
  EXPECT_NE(kudos({"extend", "ext-time-1", "--expires", "1m"}).out.find(until), std::string::npos);
  ASSERT_EQ(kudos({"reserve", "ext:ext-time", "1", "--id", "ext-time-2"}).code, 0);
  EXPECT_TRUE(json({"extend", "ext-time-2", "--expires", "1h"}).at("hold").at("expires").is_null());
}

TEST_F(CliExtendTest, AKeyCountsOnce) {
  create_funded("ext-key", "100");
  ASSERT_EQ(kudos({"reserve", "ext:ext-key", "10", "--id", "ext-key-1"}).code, 0);
  const Arguments extend = {"extend", "ext-key-1", "--amount", "20", "--key", "ext-key-k"};
  EXPECT_EQ(json(extend).at("replayed").as_bool(), false);
  ASSERT_EQ(kudos({"extend", "ext-key-1", "--amount", "30"}).code, 0);
  const auto again = json(extend);
  EXPECT_EQ(again.at("replayed").as_bool(), true);
  EXPECT_EQ(text(again.at("amount")), "20.00");             // the first result
  EXPECT_EQ(text(again.at("hold").at("amount")), "30.00");  // the hold as it is
  expect_refused({"extend", "ext-key-1", "--amount", "40", "--key", "ext-key-k"}, "idempotency_conflict");
  EXPECT_EQ(available("ext:ext-key"), "70.00");
}

TEST_F(CliExtendTest, ADryRunChangesNothing) {
  create_funded("ext-dry", "100");
  ASSERT_EQ(kudos({"reserve", "ext:ext-dry", "10", "--id", "ext-dry-1"}).code, 0);
  const auto shown = json({"extend", "ext-dry-1", "--amount", "60", "--dry-run"});
  EXPECT_EQ(shown.at("dry_run").as_bool(), true);
  EXPECT_EQ(text(shown.at("available")), "40.00");
  EXPECT_EQ(available("ext:ext-dry"), "90.00");
  EXPECT_EQ(text(holds("ext-dry-1").at(0).at("amount")), "10.00");
}

TEST_F(CliExtendTest, WhatIsRefused) {
  create_funded("ext-no", "10");
  expect_refused({"extend", "ext-no-1", "--amount", "2"}, "unknown_hold");
  ASSERT_EQ(kudos({"reserve", "ext:ext-no", "1", "--id", "ext-no-1"}).code, 0);
  ASSERT_EQ(kudos({"release", "ext-no-1"}).code, 0);
  expect_refused({"extend", "ext-no-1", "--amount", "2"}, "hold_ended");
  expect_usage({"extend", "ext-no-1"}, "--amount, --expires or both are required");
  expect_usage({"extend", "--amount", "2"}, "hold is required");
  expect_usage({"extend", "ext-no-1", "--amount", ""}, "the value is empty");
}

}  // namespace
}  // namespace kudos::testing
