// Files that can't be replayed: one clear sentence, and nothing half-written.
#include <sys/stat.h>

#include "e2e/cli_fixture.h"
#include "e2e/cli_traces.h"

namespace kudos::testing {
namespace {

using CliReplayRefusalsTest = CliTest;

TEST_F(CliReplayRefusalsTest, FilesThatCannotBeRead) {
  const std::string pipe = (files_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& file : {(files_ / "missing").string(), (files_ / "").string(), pipe, std::string("/dev/null"),
                                  (files_ / "\xFF").string()})
    expect_refused({"replay", file, "--format", "slurm"}, "file_unreadable");
}

TEST_F(CliReplayRefusalsTest, FilesOfAnotherFormat) {
  const std::string header = slurm_file({});
  for (const std::string& content :
       {std::string(), std::string("\x1f\x8b\x08\0\xff\xfe", 6), std::string("a,b,c\n1,2,3\n"),
        header.substr(0, header.rfind(',')) + "\n", "x" + header})
    expect_refused({"replay", files_.write("foreign", content), "--format", "slurm"}, "wrong_format");
  const Outcome other = kudos({"replay", files_.write("slurm.csv", header), "--format", "azure-llm"});
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("It looks like slurm"), std::string::npos) << other.err;
}

TEST_F(CliReplayRefusalsTest, OptionsThatDoNotFit) {
  const std::string file = files_.write("ok.csv", slurm_file({slurm_job("opt", "opt", "00:01:00", "COMPLETED", 1)}));
  expect_refused({"replay", file, "--format", "slurm", "--one-in", "3"}, "invalid_request");
  expect_refused({"replay", file, "--format", "slurm", "--opening-award", "1.234"}, "amount_too_precise");
  expect_refused({"replay", file, "--format", "slurm", "--opening-award", "0"}, "amount_not_positive");
  expect_refused({"replay", file, "--format", "slurm", "--database-url", "host=/nonexistent"}, "database_unavailable");
  expect_refused({"user", "show", "ext:slurm:opt"}, "unknown_user");
}

// Far behind the first batch of a transaction: what stands before it isn't stored either.
TEST_F(CliReplayRefusalsTest, ABrokenRowIsNamedBeforeAnythingIsStored) {
  std::vector<std::string> rows(1'000, slurm_job("row", "row", "00:01:00", "COMPLETED", 1));
  rows.push_back(slurm_job("row", "row", "a while", "COMPLETED", 1));
  rows.push_back("c,1,p");
  rows.push_back(slurm_job("row", "row", "00:01:00", "RUNNING", 1));
  rows.push_back(slurm_job("row", "row", "00:01:00", "COMPLETED", 1));
  const std::string file = files_.write("broken.csv", slurm_file(rows));
  expect_refused({"replay", file, "--format", "slurm"}, "bad_row");
  const Outcome outcome = kudos({"replay", file, "--format", "slurm"});
  EXPECT_NE(outcome.err.find("broken.csv, line 1002: column elapsed has 'a while'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--skip-bad"), std::string::npos) << outcome.err;
  expect_refused({"user", "show", "ext:slurm:row"}, "unknown_user");

  const auto answer = json({"replay", file, "--format", "slurm", "--skip-bad"});
  EXPECT_EQ(answer.at("skipped_rows").as_int64(), 3);
  EXPECT_EQ(answer.at("jobs").as_int64(), 1'001);
  EXPECT_EQ(answer.at("stored").as_int64(), 1'002);
  const auto again = json({"replay", file, "--format", "slurm", "--skip-bad"});
  EXPECT_EQ(again.at("stored").as_int64(), 0);
  EXPECT_EQ(again.at("currency_sum").as_string(), "0.00");
}

TEST_F(CliReplayRefusalsTest, EachFormatNamesItsBrokenRow) {
  const struct {
    std::string format, content, named;
  } cases[] = {
      {"azure-llm", "TIMESTAMP,ContextTokens,GeneratedTokens\nt,1,1\nt,1,-1\n",
       "line 3: column GeneratedTokens has '-1'"},
      {"servegen", "client,t_s,rate_rps,cv,pattern,arg1,arg2\n1,0,fast,,,,\n", "line 2: column rate_rps has 'fast'"},
  };
  for (const auto& each : cases) {
    const Outcome outcome = kudos({"replay", files_.write("bad.csv", each.content), "--format", each.format});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find(each.named), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace kudos::testing
