// capture, and charges and settlements that name a hold.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

std::string text(const boost::json::value& value) { return std::string(value.as_string()); }

using CliCaptureTest = CliTest;

TEST_F(CliCaptureTest, InPartsUntilAllIsTaken) {
  create_funded("cap-a", "100");
  create("cap-payee");
  ASSERT_EQ(kudos({"reserve", "ext:cap-a", "12.50", "--id", "cap-a-1"}).code, 0);
  const auto part = json({"capture", "cap-a-1", "4.50", "--to", "ext:cap-payee", "--reason", "first half"});
  EXPECT_EQ(part.at("stored").as_bool(), true);
  EXPECT_EQ(text(part.at("hold").at("claims")), "8.00");
  EXPECT_EQ(text(part.at("available")), "87.50");  // what was promised is now owed: no change
  const auto event = json({"event", "show", text(part.at("event_id"))});
  const auto& debit = event.at("postings").at(0);
  EXPECT_EQ(text(debit.at("amount")), "-4.50");
  EXPECT_EQ(debit.at("hold_id"), part.at("hold").at("hold_id"));
  EXPECT_EQ(text(debit.at("detail").at("reason")), "first half");
  expect_refused({"capture", "cap-a-1", "8.01"}, "hold_exceeded");
  const auto rest = json({"capture", "cap-a-1", "8"});
  EXPECT_EQ(text(rest.at("hold").at("state")), "consumed");
  expect_refused({"capture", "cap-a-1", "0.01"}, "hold_ended");
  EXPECT_EQ(balance("ext:cap-a"), "87.50");
  EXPECT_EQ(balance("ext:cap-payee"), "4.50");
}

TEST_F(CliCaptureTest, TheLastOneReleasesTheRest) {
  create_funded("cap-final", "100");
  ASSERT_EQ(kudos({"reserve", "ext:cap-final", "50", "--id", "cap-final-1"}).code, 0);
  const Outcome done = kudos({"capture", "cap-final-1", "20", "--final"});
  EXPECT_TRUE(done.out.starts_with("event ")) << done.out;
  EXPECT_NE(done.out.find("\nhold cap-final-1 has ended: released (final capture); 80.00 available\n"),
            std::string::npos)
      << done.out;
  EXPECT_EQ(available("ext:cap-final"), "80.00");
}

TEST_F(CliCaptureTest, BeyondTheHoldOnlyWhenAskedAndAvailable) {
  create_funded("cap-over", "20");
  ASSERT_EQ(kudos({"reserve", "ext:cap-over", "10", "--id", "cap-over-1"}).code, 0);
  expect_refused({"capture", "cap-over-1", "15"}, "hold_exceeded");
  expect_refused({"capture", "cap-over-1", "20.01", "--over"}, "insufficient_funds");
  EXPECT_EQ(text(json({"capture", "cap-over-1", "15", "--over"}).at("available")), "5.00");
  EXPECT_EQ(balance("ext:cap-over"), "5.00");
}

// Scenario A5, and the way out of it.
TEST_F(CliCaptureTest, AfterTheEndOnlyWhenLate) {
  create_funded("cap-late", "20");
  expect_refused({"capture", "cap-late-1", "5"}, "unknown_hold");
  ASSERT_EQ(kudos({"reserve", "ext:cap-late", "10", "--id", "cap-late-1"}).code, 0);
  ASSERT_EQ(kudos({"release", "cap-late-1"}).code, 0);
  expect_refused({"capture", "cap-late-1", "5"}, "hold_ended");
  expect_refused({"capture", "cap-late-1", "20.01", "--late"}, "insufficient_funds");
  EXPECT_EQ(available("ext:cap-late"), "20.00");
  const auto late = json({"capture", "cap-late-1", "5", "--late", "--final"});
  EXPECT_EQ(late.at("stored").as_bool(), true);
  EXPECT_TRUE(late.at("hold").is_null());
  const Outcome plain = kudos({"capture", "cap-late-1", "6", "--late"});
  EXPECT_NE(plain.out.find("hold cap-late-1 was not used"), std::string::npos) << plain.out;
  EXPECT_EQ(balance("ext:cap-late"), "9.00");
}

TEST_F(CliCaptureTest, AKeyChargesOnce) {
  create_funded("cap-key", "100");
  ASSERT_EQ(kudos({"reserve", "ext:cap-key", "50", "--id", "cap-key-1"}).code, 0);
  const Arguments capture = {"capture", "cap-key-1", "20", "--final", "--key", "cap-key-k"};
  const auto first = json(capture);
  const auto again = json(capture);
  EXPECT_EQ(again.at("replayed").as_bool(), true);
  EXPECT_EQ(again.at("event_id"), first.at("event_id"));
  EXPECT_EQ(again.at("hold").at("hold_id"), first.at("hold").at("hold_id"));
  expect_refused({"capture", "cap-key-1", "21", "--final", "--key", "cap-key-k"}, "idempotency_conflict");
  expect_refused({"capture", "cap-key-1", "20", "--key", "cap-key-k"}, "idempotency_conflict");
  EXPECT_EQ(balance("ext:cap-key"), "80.00");
}

TEST_F(CliCaptureTest, ADryRunChangesNothing) {
  create_funded("cap-dry", "100");
  ASSERT_EQ(kudos({"reserve", "ext:cap-dry", "50", "--id", "cap-dry-1"}).code, 0);
  const Arguments capture = {"capture", "cap-dry-1", "20", "--final", "--dry-run"};
  const auto shown = json(capture);
  EXPECT_EQ(shown.at("dry_run").as_bool(), true);
  EXPECT_EQ(text(shown.at("hold").at("state")), "released");
  EXPECT_EQ(text(shown.at("available")), "80.00");
  EXPECT_EQ(text(shown.at("balances").at(0).at("available")), "80.00");
  EXPECT_EQ(text(shown.at("balances").at(0).at("held")), "20.00");  // the queued debit
  const Outcome plain = kudos(capture);
  for (const char* part : {"dry run: nothing was committed", "CHARGE", "hold cap-dry-1 has ended: released"})
    EXPECT_NE(plain.out.find(part), std::string::npos) << part << "\n" << plain.out;
  expect_refused({"event", "show", text(shown.at("receipt").at("event_id"))}, "unknown_event");
  EXPECT_EQ(available("ext:cap-dry"), "50.00");
  EXPECT_EQ(text(holds("cap-dry-1").at(0).at("state")), "active");
  EXPECT_EQ(balance("ext:cap-dry"), "100.00");
}

TEST_F(CliCaptureTest, AChargeUsesUpAHold) {
  create_funded("cap-charge", "100");
  create_funded("cap-charge-other", "100");
  ASSERT_EQ(kudos({"reserve", "ext:cap-charge", "10", "--id", "cap-charge-1"}).code, 0);
  expect_refused({"charge", "ext:cap-charge-other", "1", "--hold", "cap-charge-1"}, "wrong_payer");
  expect_refused({"charge", "ext:cap-charge", "1", "--hold", "cap-charge-none"}, "unknown_hold");
  const auto charged = json({"charge", "ext:cap-charge", "12", "--hold", "cap-charge-1"});
  EXPECT_EQ(text(charged.at("hold").at("state")), "consumed");
  EXPECT_EQ(text(charged.at("hold").at("captured")), "12.00");
  EXPECT_EQ(text(charged.at("available")), "88.00");
  // A cost is a fact even when its hold has ended.
  EXPECT_TRUE(json({"charge", "ext:cap-charge", "1", "--hold", "cap-charge-1"}).at("hold").is_null());
  EXPECT_EQ(balance("ext:cap-charge"), "87.00");
}

TEST_F(CliCaptureTest, AChargeMayBeChecked) {
  create_funded("cap-check", "10");
  ASSERT_EQ(kudos({"reserve", "ext:cap-check", "4", "--id", "cap-check-1"}).code, 0);
  expect_refused({"charge", "ext:cap-check", "6.01", "--check"}, "insufficient_funds");
  EXPECT_EQ(kudos({"charge", "ext:cap-check", "6", "--check"}).code, 0);
  EXPECT_EQ(kudos({"charge", "ext:cap-check", "1"}).code, 0);  // unchecked: accepted all the same
  expect_usage({"charge", "ext:a", "1", "--check", "--hold", "h"}, "excludes");
  expect_usage({"charge", "ext:a", "1", "--hold", ""}, "the value is empty");
}

TEST_F(CliCaptureTest, ASettlementUsesUpAHold) {
  create_funded("cap-settle", "100");
  create("cap-owner");
  const std::string worker = create_worker("cap-gpu", "ext:cap-owner");
  ASSERT_EQ(kudos({"reserve", "ext:cap-settle", "15", "--id", "cap-settle-1"}).code, 0);
  const auto settled = json({"settle", "--requester", "ext:cap-settle", "--worker", worker, "--cost", "12", "--hold",
                             "cap-settle-1", "--key", "cap-settle-k"});
  EXPECT_EQ(text(settled.at("hold").at("claims")), "3.00");
  EXPECT_EQ(text(settled.at("available")), "85.00");
  expect_refused(
      {"settle", "--requester", "ext:cap-owner", "--worker", worker, "--cost", "1", "--hold", "cap-settle-1"},
      "wrong_payer");
  EXPECT_EQ(balance("ext:cap-settle"), "88.00");
  // Once folded, the consumed part shows.
  EXPECT_EQ(text(holds("cap-settle-1").at(0).at("consumed")), "12.00");
}

TEST_F(CliCaptureTest, WrongCommandLines) {
  expect_usage({"capture", "h"}, "amount is required");
  expect_usage({"capture", "", "1"}, "the value is empty");
  expect_usage({"capture", "h", "1", "--to", ""}, "the value is empty");
}

}  // namespace
}  // namespace kudos::testing
