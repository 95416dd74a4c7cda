// transfer, the guard against transfers back, and its setting.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

std::string text(const boost::json::value& value) { return std::string(value.as_string()); }

class CliTransferTest : public CliTest {
 protected:
  void TearDown() override { EXPECT_EQ(kudos({"settings", "transfer-guard", "60"}).code, 0); }
};

TEST_F(CliTransferTest, FromWhatIsAvailable) {
  create_funded("trf-a", "100");
  create("trf-b");
  const auto receipt = json({"transfer", "ext:trf-a", "ext:trf-b", "30.25"});
  EXPECT_EQ(receipt.at("stored").as_bool(), true);
  expect_refused({"transfer", "ext:trf-a", "ext:trf-b", "69.76"}, "insufficient_funds");
  EXPECT_EQ(balance("ext:trf-a"), "69.75");
  EXPECT_EQ(balance("ext:trf-b"), "30.25");
  const auto event = json({"event", "show", text(receipt.at("event_id"))});
  EXPECT_EQ(text(event.at("postings").at(0).at("entry_type")), "TRANSFER");
  EXPECT_TRUE(kudos({"transfer", "ext:trf-a", "ext:trf-b", "1"}).out.starts_with("event "));
}

TEST_F(CliTransferTest, LargeAmountsTravelUnchanged) {
  create_funded("trf-large", "999999999999999999.99");
  create("trf-large-to");
  ASSERT_EQ(kudos({"transfer", "ext:trf-large", "ext:trf-large-to", "9007199254740993.01"}).code, 0);
  EXPECT_EQ(balance("ext:trf-large-to"), "9007199254740993.01");
}

TEST_F(CliTransferTest, AKeyGivesOnce) {
  create_funded("trf-key", "100");
  create("trf-key-to");
  create("trf-key-other");
  const Arguments transfer = {"transfer", "ext:trf-key", "ext:trf-key-to", "10", "--key", "trf-key-k"};
  const auto first = json(transfer);
  const auto again = json(transfer);
  EXPECT_EQ(again.at("replayed").as_bool(), true);
  EXPECT_EQ(again.at("event_id"), first.at("event_id"));
  expect_refused({"transfer", "ext:trf-key", "ext:trf-key-to", "11", "--key", "trf-key-k"}, "idempotency_conflict");
  expect_refused({"transfer", "ext:trf-key", "ext:trf-key-other", "10", "--key", "trf-key-k"}, "idempotency_conflict");
  EXPECT_EQ(balance("ext:trf-key"), "90.00");
}

TEST_F(CliTransferTest, ADryRunGivesNothing) {
  create_funded("trf-dry", "100");
  create("trf-dry-to");
  const auto shown = json({"transfer", "ext:trf-dry", "ext:trf-dry-to", "40", "--dry-run"});
  const auto& balances = shown.at("balances").as_array();
  ASSERT_EQ(balances.size(), 2U);
  EXPECT_EQ(text(balances[0].at("available")), "60.00");
  EXPECT_EQ(text(balances[1].at("pending")), "40.00");
  EXPECT_EQ(text(balances[1].at("available")), "0.00");
  expect_refused({"event", "show", text(shown.at("receipt").at("event_id"))}, "unknown_event");
  EXPECT_EQ(available("ext:trf-dry"), "100.00");
  // The guard doesn't know of it either.
  ASSERT_EQ(kudos({"topup", "ext:trf-dry-to", "1"}).code, 0);
  ASSERT_EQ(kudos({"drain"}).code, 0);
  EXPECT_EQ(kudos({"transfer", "ext:trf-dry-to", "ext:trf-dry", "1"}).code, 0);
}

TEST_F(CliTransferTest, BackOnlyAfterTheGuardTime) {
  create_funded("trf-there", "50");
  create_funded("trf-back", "50");
  ASSERT_EQ(kudos({"transfer", "ext:trf-there", "ext:trf-back", "5"}).code, 0);
  const Arguments back = {"transfer", "ext:trf-back", "ext:trf-there", "5"};
  expect_refused(back, "reverse_transfer");
  EXPECT_EQ(kudos({"transfer", "ext:trf-there", "ext:trf-back", "5"}).code, 0);  // the same way is fine
  const auto off = json({"settings", "transfer-guard", "0"});
  EXPECT_EQ(off.at("transfer_guard_seconds").as_int64(), 0);
  EXPECT_EQ(off.at("changed").as_bool(), true);
  EXPECT_EQ(json({"settings", "transfer-guard", "0"}).at("changed").as_bool(), false);
  EXPECT_EQ(kudos({"settings"}).out, "transfer-guard  off\n");
  EXPECT_EQ(kudos(back).code, 0);
  EXPECT_EQ(kudos({"settings", "transfer-guard", "300"}).out, "transfer-guard  300 s\n");
  expect_refused(back, "reverse_transfer");
  EXPECT_EQ(json({"settings", "transfer-guard"}).at("transfer_guard_seconds").as_int64(), 300);
}

TEST_F(CliTransferTest, WhoMayNeitherGiveNorGet) {
  create_funded("trf-giver", "10");
  create("trf-taker");
  ASSERT_EQ(kudos({"user", "create", "trf-anonymous", "--class", "anonymous"}).code, 0);
  const struct {
    std::string mark, giver_refused, taker_refused;
  } cases[] = {{"suspicious = true", "suspicious_payer", "suspicious_recipient"},
               {"flagged = true", "flagged_payer", "flagged_recipient"},
               {"education = true", "education_payer", ""},
               {"deleted_at = now()", "deleted_payer", "deleted_recipient"}};
  const auto mark = [](const std::string& what, const std::string& who) {
    sql("UPDATE users SET suspicious = false, flagged = false, education = false, deleted_at = NULL WHERE external_id "
        "IN ('trf-giver', 'trf-taker'); UPDATE users SET " +
        what + " WHERE external_id = '" + who + "'");
  };
  for (const auto& each : cases) {
    mark(each.mark, "trf-giver");
    expect_refused({"transfer", "ext:trf-giver", "ext:trf-taker", "1"}, each.giver_refused);
    mark(each.mark, "trf-taker");
    if (!each.taker_refused.empty())
      expect_refused({"transfer", "ext:trf-giver", "ext:trf-taker", "1"}, each.taker_refused);
    else
      EXPECT_EQ(kudos({"transfer", "ext:trf-giver", "ext:trf-taker", "1"}).code, 0);
  }
  mark("flagged = false", "trf-taker");
  expect_refused({"transfer", "ext:trf-anonymous", "ext:trf-taker", "1"}, "anonymous_payer");
  expect_refused({"transfer", "ext:trf-giver", "ext:trf-anonymous", "1"}, "anonymous_recipient");
  expect_refused({"transfer", "ext:trf-giver", "ext:trf-nobody", "1"}, "unknown_recipient");
  expect_refused({"transfer", "ext:trf-nobody", "ext:trf-taker", "1"}, "unknown_user");
  expect_refused({"transfer", "ext:trf-giver", "ext:trf-giver", "1"}, "same_account");
  EXPECT_EQ(balance("ext:trf-giver"), "9.00");
}

TEST_F(CliTransferTest, WrongCommandLines) {
  expect_usage({"transfer", "ext:a", "ext:b"}, "amount is required");
  expect_usage({"transfer", "ext:a", "\xFF", "1"}, "not valid UTF-8");
  expect_usage({"settings", "colour"}, "colour not in");
  expect_usage({"settings", "transfer-guard", "-1"}, "-1");
  expect_usage({"settings", "transfer-guard", "86401"}, "86401");
  expect_usage({"settings", "transfer-guard", "soon"}, "soon");
}

}  // namespace
}  // namespace kudos::testing
