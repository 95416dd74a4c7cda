// Replaying recordings: what the three formats come to, and that twice is once.
#include <csignal>

#include "e2e/cli_fixture.h"
#include "e2e/cli_traces.h"
#include "kudos/amount.h"

namespace kudos::testing {
namespace {

class CliReplayTest : public CliTest {
 protected:
  static boost::json::value replay(const std::string& file, const std::string& format, const Arguments& more = {}) {
    Arguments arguments = {"replay", file, "--format", format};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json(arguments);
  }
  static void expect_counts(const boost::json::value& answer, std::int64_t jobs, std::int64_t stored,
                            std::int64_t replayed) {
    EXPECT_EQ(answer.at("jobs").as_int64(), jobs);
    EXPECT_EQ(answer.at("stored").as_int64(), stored);
    EXPECT_EQ(answer.at("replayed").as_int64(), replayed);
    EXPECT_EQ(answer.at("currency_sum").as_string(), "0.00");
    EXPECT_EQ(answer.at("pending_rows").as_int64(), 0);
  }
  static std::string kudos_of(const std::string& board, const std::string& name) {
    for (const auto& leader : json({"top", board, "--limit", "1000"}).as_array())
      if (leader.at("name").as_string() == name) return std::string(leader.at("kudos").as_string());
    return "not listed";
  }
};

// ann's job: 600 s × 6 CPUs = 3,600 CPU-seconds = 60.00, completed. ben's: the same, failed: half is burned.
// ann, seen first, owns the account's worker; she isn't trusted, so half of each reward waits in evaluation.
TEST_F(CliReplayTest, TwoSlurmJobsByHand) {
  const std::string file = files_.write("two.csv", slurm_file({slurm_job("ann", "lab", "00:10:00", "COMPLETED", 6),
                                                               slurm_job("ben", "lab", "00:10:00", "FAILED", 6)}));
  const std::string burned = balance("-2");
  expect_counts(replay(file, "slurm", {"--opening-award", "1000"}), 2, 4, 0);
  EXPECT_EQ(balance("ext:slurm:ann"), "985.00");  // 1000 − 60 + 30 + 15
  EXPECT_EQ(balance("ext:slurm:ann", "evaluating_kudos"), "45.00");
  EXPECT_EQ(balance("ext:slurm:ben"), "940.00");
  EXPECT_EQ(kudos_of("workers", "c/p/lab"), "90.00");
  EXPECT_EQ(kudos_of("teams", "lab"), "90.00");
  EXPECT_EQ((*Total::parse(balance("-2")) - *Total::parse(burned)).to_string(), "30.00");

  const auto events = json({"status"}).at("last_fold");
  expect_counts(replay(file, "slurm", {"--opening-award", "1000"}), 2, 0, 4);
  EXPECT_EQ(balance("ext:slurm:ann"), "985.00");
  EXPECT_EQ(json({"status"}).at("last_fold"), events);
  // Other terms under the same keys are a conflict and change nothing.
  expect_refused({"replay", file, "--format", "slurm", "--opening-award", "999"}, "idempotency_conflict");
  EXPECT_EQ(balance("ext:slurm:ben"), "940.00");
}

// Line 2 is drawn to caller-081 and gpu-22 of host-8: 4,808 + 10 × 10 hundredths, half of it into evaluation.
TEST_F(CliReplayTest, AnAzureRequestByHandWorksForNoTeam) {
  const std::string file =
      files_.write("llm.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10");
  expect_counts(replay(file, "azure-llm"), 1, 2, 0);
  EXPECT_EQ(balance("ext:azure-llm:caller-081"), "999950.92");
  EXPECT_EQ(balance("ext:azure-llm:host-8"), "24.54");
  EXPECT_EQ(balance("ext:azure-llm:host-8", "evaluating_kudos"), "24.54");
  EXPECT_EQ(kudos_of("workers", "gpu-22"), "49.08");
  for (const auto& team : json({"top", "teams"}).as_array())
    EXPECT_FALSE(team.at("name").as_string().starts_with("rack"));
  expect_counts(replay(file, "azure-llm"), 1, 0, 2);
}

// 0.005 requests a second × 600 s = 3 requests, the third of which is taken; it costs 10.00 to 19.99 and somebody earns
// it.
TEST_F(CliReplayTest, ServegenDrawsRequestsFromRates) {
  const std::string file =
      files_.write("rates.csv", "client,t_s,rate_rps,cv,pattern,arg1,arg2\n7,0,0.005,1,Gamma,1,1\n");
  const auto answer = replay(file, "servegen", {"--one-in", "3", "--opening-award", "100"});
  expect_counts(answer, 1, 2, 0);
  const std::string left = balance("ext:servegen:client-7");
  EXPECT_TRUE(left.size() == 5 && left.starts_with("8")) << left;
  expect_counts(replay(file, "servegen", {"--one-in", "3", "--opening-award", "100"}), 1, 0, 2);
  // All three: the one that was settled keeps its key.
  expect_counts(replay(file, "servegen", {"--opening-award", "100"}), 3, 2, 2);
}

TEST_F(CliReplayTest, AFileWithoutJobsIsFine) {
  expect_counts(replay(files_.write("none.csv", slurm_file({})), "slurm"), 0, 0, 0);
}

TEST_F(CliReplayTest, APersonGetsASummaryAndNoProgressBarInAPipe) {
  const std::string file =
      files_.write("person.csv", slurm_file({slurm_job("eve", "den", "00:01:00", "COMPLETED", 1)}));
  const Outcome outcome = kudos({"replay", file, "--format", "slurm"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"1 jobs in ", "2 events stored, 0 were there already", "sum of currency  0.00",
                           "pending rows     0", "top users", "top workers", "top teams"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST_F(CliReplayTest, CtrlCKeepsWhatWasSettledAndTheNextRunGoesOn) {
  std::vector<std::string> jobs;
  for (int i = 0; i < 3'000; ++i) jobs.push_back(slurm_job("max", "hall", "00:00:10", "COMPLETED", 6));
  const std::string file = files_.write("long.csv", slurm_file(jobs));
  Background broken_off(command({"replay", file, "--format", "slurm"}));
  // The first batch was committed once its requester is there.
  for (int looks = 0; looks < 500 && kudos({"user", "show", "ext:slurm:max"}).code != 0; ++looks) {
  }
  broken_off.signal(SIGINT);
  const Outcome outcome = broken_off.finish();
  if (outcome.code == 0) GTEST_SKIP() << "it was done before the signal came";
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("run it again to finish"), std::string::npos) << outcome.err;
  const auto answer = replay(file, "slurm");
  EXPECT_EQ(answer.at("stored").as_int64() + answer.at("replayed").as_int64(), 3'001);
  EXPECT_GT(answer.at("replayed").as_int64(), 0);
  EXPECT_EQ(answer.at("currency_sum").as_string(), "0.00");
  EXPECT_EQ(kudos_of("teams", "hall"), "3000.00");
}

TEST_F(CliReplayTest, ThePublishedRecording) {
  const char* shared = std::getenv("KUDOS_SHARED_DATA");
  const std::string file = std::string(shared == nullptr ? "" : shared) + "/xdmod_slurm_jobs.csv";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  expect_counts(replay(file, "slurm"), 15'989, 15'989 + 21, 0);
  expect_counts(replay(file, "slurm"), 15'989, 0, 15'989 + 21);
}

}  // namespace
}  // namespace kudos::testing
