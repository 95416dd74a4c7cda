// Workers, teams, and what jobs and uptime move; every balance worked out by hand.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

using CliSettleTest = CliTest;

constexpr const char* kNoWorker = "0199e6c2-3a4b-7c5d-8e6f-0123456789ab";

TEST_F(CliSettleTest, WorkersAndTeams) {
  create("set-owner");
  const std::string team = create_team("set-reds", "ext:set-owner");
  const auto worker =
      json({"worker", "create", "set-gpu", "--owner", "ext:set-owner", "--team", team, "--type", "text"});
  EXPECT_EQ(worker.at("team_id").as_string(), team);
  EXPECT_EQ(worker.at("worker_type").as_string(), "text");
  const std::string fixed = "0199e6c2-3a4b-7c5d-8e6f-00000000abcd";
  const Outcome plain = kudos({"worker", "create", "set-fixed", "--owner", "ext:set-owner", "--id", fixed});
  EXPECT_EQ(plain.out, fixed + "\n");
  expect_refused({"worker", "create", "set-again", "--owner", "ext:set-owner", "--id", fixed}, "already_exists");
  expect_refused({"team", "create", "set-again", "--owner", "ext:set-owner", "--id", team}, "already_exists");
  expect_refused({"worker", "create", "w", "--owner", "ext:set-nobody"}, "unknown_user");
  expect_refused({"team", "create", "t", "--owner", "999999999"}, "unknown_user");
  expect_refused({"team", "create", "t", "--owner", "-1"}, "system_account");
  expect_refused({"worker", "create", "w", "--owner", "ext:set-owner", "--team", kNoWorker}, "unknown_team");
  expect_refused({"worker", "create", "w", "--owner", "ext:set-owner", "--team", "reds"}, "invalid_request");
  expect_refused({"worker", "create", "w", "--owner", "ext:set-owner", "--id", "17"}, "invalid_request");
  expect_refused({"worker", "create", "", "--owner", "ext:set-owner"}, "invalid_request");
  expect_refused({"worker", "create", "w", "--owner", "ext:set-owner", "--type", std::string(21, 't')},
                 "invalid_request");
}

TEST_F(CliSettleTest, EveryOutcomeOfAJob) {
  create("set-a");
  create("set-b");
  const std::string team = create_team("set-team", "ext:set-b");
  const std::string worker = create_worker("set-w", "ext:set-b", {"--team", team});
  const Arguments job = {"settle", "--requester", "ext:set-a", "--worker", worker};
  const auto settle = [&](const Arguments& more) {
    Arguments all = job;
    all.insert(all.end(), more.begin(), more.end());
    return json(all);
  };
  ASSERT_EQ(kudos({"topup", "ext:set-a", "100"}).code, 0);
  // The owner isn't trusted: half of 10.01, rounded half to even, is 5.00 in evaluation. 1.99 are burned.
  settle({"--cost", "12", "--reward", "10.01", "--things", "5000000", "--key", "set-job-1"});
  settle({"--cost", "10", "--reward", "4", "--outcome", "cancelled"});  // 6 are burned
  settle({"--cost", "7", "--outcome", "censored"});                     // the treasury pays
  const auto fake = settle({"--cost", "9", "--outcome", "fake"});
  EXPECT_EQ(fake.at("stored").as_bool(), false);
  EXPECT_TRUE(fake.at("event_id").is_null());
  EXPECT_EQ(settle({"--cost", "12", "--reward", "10.01", "--things", "5000000", "--key", "set-job-1"})
                .at("replayed")
                .as_bool(),
            true);
  EXPECT_EQ(balance("ext:set-a"), "78.00");                      // 100 − 12 − 10
  EXPECT_EQ(balance("ext:set-b"), "10.51");                      // 5.01 + 2 + 3.50
  EXPECT_EQ(balance("ext:set-b", "evaluating_kudos"), "10.50");  // 5.00 + 2 + 3.50
  for (const auto& [board, id] : {std::pair("workers", worker), std::pair("teams", team)}) {
    const auto entry = leader(board, id);
    EXPECT_EQ(entry.at("kudos").as_string(), "21.01") << board;  // 10.01 + 4 + 7
    EXPECT_EQ(entry.at("contributions").as_string(), "5.00") << board;
    EXPECT_EQ(entry.at("fulfilments").as_string(), "3.00") << board;
  }
}

TEST_F(CliSettleTest, ADryRunShowsRequesterAndOwner) {
  create("set-dry-a");
  create("set-dry-b");
  ASSERT_EQ(kudos({"topup", "ext:set-dry-a", "30"}).code, 0);
  ASSERT_EQ(kudos({"drain"}).code, 0);
  const std::string worker = create_worker("set-dry-w", "ext:set-dry-b");
  const Arguments settle = {"settle", "--requester", "ext:set-dry-a", "--worker", worker,
                            "--cost", "8",           "--dry-run",     "--job",    kNoWorker};
  const auto shown = json(settle);
  EXPECT_EQ(shown.at("event").at("job_id").as_string(), kNoWorker);
  EXPECT_EQ(shown.at("balances").at(0).at("effective").as_string(), "22.00");
  EXPECT_EQ(shown.at("balances").at(1).at("effective").as_string(), "4.00");
  EXPECT_EQ(shown.at("balances").at(1).at("pending_evaluating").as_string(), "4.00");
  const Outcome plain = kudos(settle);
  for (const char* part : {"dry run", "GENERATION", "STAT_CONTRIBUTION", "22.00", kNoWorker})
    EXPECT_NE(plain.out.find(part), std::string::npos) << part << "\n" << plain.out;
  Arguments fake = settle;
  fake.insert(fake.end(), {"--outcome", "fake"});
  EXPECT_NE(kudos(fake).out.find("no event: a fake job leaves nothing"), std::string::npos);
  EXPECT_TRUE(json(fake).at("event").is_null());
  EXPECT_EQ(balance("ext:set-dry-a"), "30.00");
}

TEST_F(CliSettleTest, UptimeIsEvaluatedUnlessTrustedOrBypassed) {
  create("set-up");
  ASSERT_EQ(kudos({"user", "create", "set-up-trusted", "--trusted"}).code, 0);
  const std::string worker = create_worker("set-up-w", "ext:set-up");
  const std::string trusted = create_worker("set-up-t", "ext:set-up-trusted");
  ASSERT_EQ(kudos({"uptime", worker, "3"}).code, 0);
  ASSERT_EQ(kudos({"uptime", worker, "2.5", "--bypass-evaluation", "--key", "set-up-1"}).code, 0);
  expect_refused({"uptime", worker, "2.5", "--key", "set-up-1"}, "idempotency_conflict");
  ASSERT_EQ(kudos({"uptime", trusted, "4"}).code, 0);
  EXPECT_EQ(balance("ext:set-up"), "2.50");
  EXPECT_EQ(balance("ext:set-up", "evaluating_kudos"), "3.00");
  EXPECT_EQ(balance("ext:set-up-trusted"), "4.00");
  EXPECT_EQ(leader("workers", worker).at("kudos").as_string(), "5.50");
}

TEST_F(CliSettleTest, WhatTheyRefuse) {
  create("set-wrong");
  const std::string worker = create_worker("set-wrong-w", "ext:set-wrong");
  const auto settle = [](const std::string& requester, const std::string& by, Arguments more) {
    more.insert(more.begin(), {"settle", "--requester", requester, "--worker", by});
    return more;
  };
  const struct {
    Arguments arguments;
    std::string name;
  } cases[] = {
      {settle("ext:set-wrong", worker, {"--cost", "-1"}), "amount_not_positive"},
      {settle("ext:set-wrong", worker, {"--cost", "1", "--reward", "-1"}), "amount_not_positive"},
      {settle("ext:set-wrong", worker, {"--cost", "1", "--things=-1"}), "amount_not_positive"},
      {settle("ext:set-wrong", worker, {"--cost", "1.005"}), "amount_too_precise"},
      {settle("ext:set-wrong", worker, {"--cost", "1", "--things", "many"}), "invalid_amount"},
      {settle("ext:set-wrong", worker, {"--cost", "1", "--job", "17"}), "invalid_request"},
      {settle("ext:set-wrong", worker, {"--cost", "1", "--type", std::string(21, 't')}), "invalid_request"},
      {settle("ext:set-nobody", worker, {"--cost", "1"}), "unknown_user"},
      {settle("-1", worker, {"--cost", "1"}), "system_account"},
      {settle("ext:set-wrong", kNoWorker, {"--cost", "1"}), "unknown_worker"},
      {settle("ext:set-wrong", "set-wrong-w", {"--cost", "1"}), "invalid_request"},
      {{"uptime", worker, "0"}, "amount_not_positive"},
      {{"uptime", kNoWorker, "1"}, "unknown_worker"},
      {{"uptime", "gpu-1", "1"}, "invalid_request"},
  };
  for (const auto& each : cases) expect_refused(each.arguments, each.name);
  EXPECT_EQ(balance("ext:set-wrong"), "0.00");
}

}  // namespace
}  // namespace kudos::testing
