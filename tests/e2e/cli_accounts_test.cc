// Users, top-ups, awards, balances and events.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

using CliAccountsTest = CliTest;

TEST_F(CliAccountsTest, ANewUserIsStandardAndNotTrusted) {
  const auto user = json({"user", "create", "acc-new"});
  EXPECT_EQ(user.at("account_class").as_string(), "standard");
  EXPECT_EQ(user.at("trusted").as_bool(), false);
  EXPECT_EQ(user.at("floor").as_string(), "0.00");
  EXPECT_EQ(user.at("kudos").as_string(), "0.00");
  EXPECT_EQ(user, json({"user", "show", "ext:acc-new"}));
}

TEST_F(CliAccountsTest, ClassTrustFloorAndNumber) {
  const auto user =
      json({"user", "create", "ext:acc-all", "--class", "postpaid", "--trusted", "--floor=-500", "--id", "500001"});
  EXPECT_EQ(user.at("user_id").as_int64(), 500'001);
  EXPECT_EQ(user.at("external_id").as_string(), "acc-all");
  EXPECT_EQ(user.at("account_class").as_string(), "postpaid");
  EXPECT_EQ(user.at("trusted").as_bool(), true);
  EXPECT_EQ(user.at("floor").as_string(), "-500.00");
  EXPECT_EQ(user.at("floor_overridden").as_bool(), true);
  EXPECT_EQ(json({"user", "show", "500001"}), user);
  const auto detached = json({"user", "create", "acc-floor", "--floor", "-0.01"});
  EXPECT_EQ(detached.at("floor").as_string(), "-0.01");
}

TEST_F(CliAccountsTest, UsersThatCannotBe) {
  create("acc-twice");
  ASSERT_EQ(kudos({"user", "create", "acc-number", "--id", "600000"}).code, 0);
  expect_refused({"user", "create", "acc-twice"}, "already_exists");
  expect_refused({"user", "create", "ext:acc-twice"}, "already_exists");
  expect_refused({"user", "create", "acc-other", "--id", "600000"}, "already_exists");
  expect_refused({"user", "create", "acc-other", "--class", "royal"}, "invalid_request");
  expect_refused({"user", "create", "acc-other", "--class", "system"}, "invalid_request");
  expect_refused({"user", "create", "acc-other", "--floor", "low"}, "invalid_amount");
  expect_refused({"user", "create", "acc-other", "--floor=-0.001"}, "amount_too_precise");
  expect_refused({"user", "create", "acc-other", "--floor", std::string(40, '9')}, "amount_out_of_range");
  expect_refused({"user", "create", ""}, "invalid_request");
  expect_refused({"user", "create", "ext:"}, "invalid_request");
  expect_refused({"user", "create", "two\nlines"}, "invalid_request");
  expect_refused({"user", "create", std::string(201, 'x')}, "invalid_request");
  expect_refused({"user", "show", "ext:acc-other"}, "unknown_user");  // none of them was made
}

// A fixed number ahead of the sequence was drawn again for a later user: "duplicate key" for somebody innocent.
TEST_F(CliAccountsTest, AFixedNumberIsNotDrawnAgain) {
  const auto last = json({"user", "create", "acc-last"}).at("user_id").as_int64();
  ASSERT_EQ(kudos({"user", "create", "acc-ahead", "--id", std::to_string(last + 1)}).code, 0);
  EXPECT_GT(json({"user", "create", "acc-next"}).at("user_id").as_int64(), last + 1);
}

TEST_F(CliAccountsTest, WhoIsNotAUser) {
  for (const char* user : {"999999999", "ext:acc-nobody", "-3"}) expect_refused({"balance", user}, "unknown_user");
  for (const char* user : {"acc-nobody", "", "1.5", "+1", "0x1", "99999999999999", " 1"})
    expect_refused({"user", "show", user}, "invalid_request");
  expect_refused({"topup", "ext:acc-nobody", "5"}, "unknown_user");
  expect_refused({"award", "999999999", "5"}, "unknown_user");
}

TEST_F(CliAccountsTest, SystemAccountsAreShownButNotCredited) {
  expect_refused({"topup", "-1", "5"}, "system_account");
  expect_refused({"topup", "--", "-2", "5"}, "system_account");
  expect_refused({"award", "-1", "5"}, "system_account");
  const Outcome treasury = kudos({"balance", "-1"});
  EXPECT_EQ(treasury.code, 0);
  EXPECT_NE(treasury.out.find("(treasury)"), std::string::npos);
  EXPECT_TRUE(json({"balance", "-2"}).at("floor").is_null());
}

TEST_F(CliAccountsTest, AKeyCountsOnce) {
  create("acc-key");
  const auto first = json({"topup", "ext:acc-key", "100", "--key", "acc-k1"});
  const auto again = json({"topup", "ext:acc-key", "100.00", "--key", "acc-k1"});
  EXPECT_EQ(first.at("replayed").as_bool(), false);
  EXPECT_EQ(again.at("replayed").as_bool(), true);
  EXPECT_EQ(again.at("event_id"), first.at("event_id"));
  expect_refused({"topup", "ext:acc-key", "100.01", "--key", "acc-k1"}, "idempotency_conflict");
  EXPECT_EQ(json({"award", "ext:acc-key", "7", "--key", "acc-k1"}).at("replayed").as_bool(), false);  // another kind
  expect_refused({"topup", "ext:acc-key", "1", "--key", std::string(201, 'k')}, "invalid_request");
  EXPECT_EQ(balance("ext:acc-key"), "107.00");
}

TEST_F(CliAccountsTest, ADryRunCommitsNothing) {
  create("acc-dry");
  const auto shown = json({"topup", "ext:acc-dry", "5", "--dry-run", "--key", "acc-dry"});
  EXPECT_EQ(shown.at("balances").at(0).at("effective").as_string(), "5.00");
  EXPECT_EQ(shown.at("event").at("postings").as_array().size(), 2U);
  EXPECT_EQ(balance("ext:acc-dry"), "0.00");
  expect_refused({"event", "show", std::string(shown.at("receipt").at("event_id").as_string())}, "unknown_event");
  EXPECT_EQ(json({"topup", "ext:acc-dry", "6", "--key", "acc-dry"}).at("replayed").as_bool(), false);
}

TEST_F(CliAccountsTest, AnEventShowsItsPostingsAndItsFold) {
  create("acc-event");
  const auto receipt = json({"topup", "ext:acc-event", "12.5", "--metadata", R"({"invoice":"A-17"})"});
  const std::string id(receipt.at("event_id").as_string());
  ASSERT_EQ(kudos({"drain"}).code, 0);
  const auto event = json({"event", "show", id});
  EXPECT_EQ(event.at("postings").at(0).at("amount").as_string(), "12.50");
  EXPECT_EQ(event.at("postings").at(1).at("user_id").as_int64(), -1);
  EXPECT_EQ(event.at("postings").at(1).at("amount").as_string(), "-12.50");
  EXPECT_EQ(event.at("statistics").at(0).at("stat_action").as_string(), "topped_up");
  EXPECT_EQ(event.at("metadata").at("invoice").as_string(), "A-17");
  EXPECT_TRUE(event.at("fold").is_int64());
  const Outcome plain = kudos({"event", "show", id});
  EXPECT_NE(plain.out.find("folded in fold"), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find(std::string(event.at("hash").as_string())), std::string::npos);
}

TEST_F(CliAccountsTest, EventsThatAreNot) {
  expect_refused({"event", "show", "0199e6c2-3a4b-7c5d-8e6f-0123456789ab"}, "unknown_event");
  expect_refused({"event", "show", "17"}, "invalid_request");
  expect_refused({"event", "show", ""}, "invalid_request");
}

TEST_F(CliAccountsTest, MetadataIsAFlatObject) {
  create("acc-meta");
  for (const std::string& metadata : {std::string("{\"a\":"), std::string("[1]"), std::string("{\"a\":{\"b\":1}}"),
                                      std::string("{\"a\":1,\"a\":2}"), "{\"a\":\"" + std::string(2100, 'x') + "\"}"})
    expect_refused({"topup", "ext:acc-meta", "5", "--metadata", metadata}, "invalid_metadata");
  EXPECT_EQ(balance("ext:acc-meta"), "0.00");
}

TEST_F(CliAccountsTest, LeaderboardsListUsersWithoutSystemAccounts) {
  create("acc-top");
  ASSERT_EQ(kudos({"topup", "ext:acc-top", "1"}).code, 0);
  const auto leaders = json({"top", "users", "--limit", "1000"});
  bool found = false;
  for (const auto& leader : leaders.as_array()) {
    found = found || leader.at("name").as_string() == "acc-top";
    EXPECT_FALSE(leader.at("id").as_string().starts_with("-"));
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(json({"top", "users", "--limit", "1"}).as_array().size(), 1U);
  EXPECT_EQ(kudos({"top", "workers"}).code, 0);
  EXPECT_EQ(kudos({"top", "teams"}).code, 0);
}

}  // namespace
}  // namespace kudos::testing
