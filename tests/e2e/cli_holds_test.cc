// holds: the list, deadlines, and what the status says of them.
#include <chrono>
#include <thread>

#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

std::string text(const boost::json::value& value) { return std::string(value.as_string()); }

using CliHoldsTest = CliTest;

std::vector<std::string> ids(const boost::json::value& rows) {
  std::vector<std::string> found;
  for (const auto& row : rows.as_array()) found.push_back(text(row.at("reservation_id")));
  return found;
}

TEST_F(CliHoldsTest, ByStateWithTheReasonOfEachEnd) {
  create_funded("hol-a", "100");
  for (const char* id : {"hol-1", "hol-2", "hol-3", "hol-4"})
    ASSERT_EQ(kudos({"reserve", "ext:hol-a", "10", "--id", id}).code, 0);
  ASSERT_EQ(kudos({"release", "hol-2"}).code, 0);
  ASSERT_EQ(kudos({"capture", "hol-3", "4", "--final"}).code, 0);
  ASSERT_EQ(kudos({"capture", "hol-4", "10"}).code, 0);
  const auto of = [](const std::string& state) { return json({"holds", "--user", "ext:hol-a", "--state", state}); };
  EXPECT_EQ(ids(of("active")), std::vector<std::string>{"hol-1"});
  const auto released = of("released");
  EXPECT_EQ(ids(released), (std::vector<std::string>{"hol-3", "hol-2"}));  // the newest first
  EXPECT_EQ(text(released.at(0).at("reason")), "final capture");
  EXPECT_EQ(text(released.at(0).at("captured")), "4.00");
  EXPECT_EQ(text(released.at(0).at("claims")), "0.00");
  EXPECT_EQ(text(released.at(1).at("reason")), "released");
  EXPECT_FALSE(released.at(1).at("ended").is_null());
  EXPECT_EQ(text(of("consumed").at(0).at("reason")), "captured");
  EXPECT_TRUE(of("expired").as_array().empty());
  EXPECT_EQ(ids(json({"holds", "--user", "ext:hol-a", "--limit", "2"})), (std::vector<std::string>{"hol-4", "hol-3"}));
  const Outcome plain = kudos({"holds", "--user", "ext:hol-a", "--state", "released"});
  for (const char* part : {"hol-2", "hol-3", "released", "final capture", "never"})
    EXPECT_NE(plain.out.find(part), std::string::npos) << part << "\n" << plain.out;
}

TEST_F(CliHoldsTest, AnIdKeepsItsHistory) {
  create_funded("hol-again", "100");
  for (const char* amount : {"1", "2"}) {
    ASSERT_EQ(kudos({"reserve", "ext:hol-again", amount, "--id", "hol-again-1"}).code, 0);
    ASSERT_EQ(kudos({"release", "hol-again-1"}).code, 0);
  }
  const auto rows = holds("hol-again-1");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(text(rows[0].at("amount")), "2.00");
  EXPECT_EQ(text(rows[1].at("amount")), "1.00");
}

TEST_F(CliHoldsTest, TransfersOwnHoldsOnlyWhenAsked) {
  create_funded("hol-giver", "10");
  create("hol-taker");
  const auto receipt = json({"transfer", "ext:hol-giver", "ext:hol-taker", "3"});
  EXPECT_TRUE(json({"holds", "--user", "ext:hol-giver"}).as_array().empty());
  const auto all = json({"holds", "--user", "ext:hol-giver", "--all"}).as_array();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].at("owner_event_id"), receipt.at("event_id"));
}

TEST_F(CliHoldsTest, IdsAreTheCallersOwnText) {
  create_funded("hol-escape", "10");
  ASSERT_EQ(kudos({"reserve", "ext:hol-escape", "1", "--id", "naïve – 日本"}).code, 0);
  EXPECT_NE(kudos({"holds", "--user", "ext:hol-escape"}).out.find("naïve – 日本"), std::string::npos);
}

// Source: contract, "Admission and holds": a hold counts until its row says that it expired.
TEST_F(CliHoldsTest, AfterTheDeadlineNothingCanBeCaptured) {
  create_funded("hol-due", "10");
  ASSERT_EQ(kudos({"reserve", "ext:hol-due", "4", "--id", "hol-due-1", "--expires", "1s"}).code, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  const Outcome refused = kudos({"capture", "hol-due-1", "3"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("kudos: hold_ended: hold hol-due-1 has ended: it is expired"), std::string::npos)
      << refused.err;
  expect_refused({"extend", "hol-due-1", "--expires", "1h"}, "hold_ended");
  const std::string state = text(holds("hol-due-1").at(0).at("state"));
  EXPECT_TRUE(state == "active" || state == "expired") << state;  // whether a projector has swept it or not
  // A late capture ends it itself, and may use what it gives back.
  EXPECT_TRUE(json({"capture", "hol-due-1", "10", "--late"}).at("hold").is_null());
  const auto row = holds("hol-due-1").at(0);
  EXPECT_EQ(text(row.at("state")), "expired");
  EXPECT_EQ(text(row.at("reason")), "deadline");
  EXPECT_EQ(balance("ext:hol-due"), "0.00");
}

TEST_F(CliHoldsTest, TheStatusCountsWhatIsReserved) {
  create_funded("hol-status", "10");
  create("hol-status-to");
  const auto count = [] { return json({"status"}).at("active_reservations").as_int64(); };
  const auto before = count();
  ASSERT_EQ(kudos({"reserve", "ext:hol-status", "1", "--id", "hol-status-1"}).code, 0);
  EXPECT_EQ(count(), before + 1);
  // A transfer's own hold ends with the fold: nobody has to look after it.
  ASSERT_EQ(kudos({"transfer", "ext:hol-status", "ext:hol-status-to", "1"}).code, 0);
  EXPECT_EQ(count(), before + 1);
  sql("UPDATE kudos_reservations SET created = created - interval '9 h' WHERE reservation_id = 'hol-status-1'");
  EXPECT_GE(json({"status"}).at("oldest_reservation_seconds").to_number<double>(), 9 * 3600.0);
  const Outcome plain = kudos({"status"});
  EXPECT_NE(plain.out.find("holds " + std::to_string(before + 1) + " active   oldest 9 h"), std::string::npos)
      << plain.out;
  ASSERT_EQ(kudos({"release", "hol-status-1"}).code, 0);
  EXPECT_EQ(count(), before);
}

TEST_F(CliHoldsTest, WrongCommandLines) {
  expect_usage({"holds", "--state", "lost"}, "lost not in");
  expect_usage({"holds", "--limit", "0"}, "--limit");
  expect_usage({"holds", "--id", ""}, "the value is empty");
  expect_refused({"holds", "--user", "ext:hol-nobody"}, "unknown_user");
}

}  // namespace
}  // namespace kudos::testing
