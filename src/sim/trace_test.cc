#include "sim/trace.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace kudos::sim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSlurm =
    "cluster,job_id,partition,qos,account,user,submit,start,end,elapsed,state,nnodes,ncpus,alloctres\n";
constexpr const char* kAzure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n";
constexpr const char* kServegen = "client,t_s,rate_rps,cv,pattern,arg1,arg2\n";

std::string slurm_row(const std::string& user, const std::string& account, const std::string& elapsed,
                      const std::string& state, const std::string& ncpus) {
  return "c1,7,p1,q," + account + "," + user + ",s,s,e," + elapsed + "," + state + ",1," + ncpus +
         ",\"cpu=1,node=1\"\n";
}

struct Read {
  std::vector<TraceJob> jobs;
  std::vector<std::string> refused;
};

Read read_all(TraceReader& reader) {
  Read read;
  while (true) {
    auto job = reader.next();
    if (!job && job.error().code != ErrorCode::bad_row) {
      ADD_FAILURE() << job.error().to_string();
      return read;
    }
    if (!job) {
      read.refused.push_back(job.error().message);
    } else if (job->has_value()) {
      read.jobs.push_back(**std::move(job));
    } else {
      return read;
    }
  }
}

class TraceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "kudos-trace-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string write(const std::string& content) {
    const fs::path path = directory_ / "trace.csv";
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }

  Read read(const std::string& content, TraceFormat format, TraceOptions options = {}) {
    auto reader = open_trace(write(content), format, options);
    if (!reader) {
      ADD_FAILURE() << reader.error().to_string();
      return {};
    }
    EXPECT_EQ((*reader)->bytes_total(), static_cast<std::int64_t>(content.size()));
    Read all = read_all(**reader);
    EXPECT_EQ((*reader)->bytes_read(), (*reader)->bytes_total());
    return all;
  }

  Error open_error(const std::string& path, TraceFormat format, TraceOptions options = {}) {
    const auto reader = open_trace(path, format, options);
    EXPECT_FALSE(reader.has_value());
    return reader ? Error{} : reader.error();
  }

  fs::path directory_;
};

TEST(TraceFormatNames, RoundTrip) {
  for (const TraceFormat format : {TraceFormat::slurm, TraceFormat::azure_llm, TraceFormat::servegen}) {
    EXPECT_EQ(parse_trace_format(trace_format_name(format)), format);
  }
  EXPECT_EQ(parse_trace_format("azure_llm").error().code, ErrorCode::invalid_request);
  EXPECT_EQ(parse_trace_format("").error().code, ErrorCode::invalid_request);
}

TEST_F(TraceTest, SlurmPricesAndOutcomes) {
  struct Case {
    const char* elapsed;
    const char* state;
    const char* ncpus;
    const char* things;
    const char* cost;
    const char* reward;
    JobOutcome outcome;
  };
  const std::vector<Case> cases = {
      {"00:01:00", "COMPLETED", "1", "60.00", "1.00", "1.00", JobOutcome::completed},
      {"1-02:03:04", "COMPLETED", "2", "187568.00", "3126.13", "3126.13", JobOutcome::completed},
      {"00:00:01", "COMPLETED", "1", "1.00", "0.02", "0.02", JobOutcome::completed},  // 1.67 hundredths
      {"00:00:03", "COMPLETED", "1", "3.00", "0.05", "0.05", JobOutcome::completed},
      {"00:00:03", "FAILED", "1", "3.00", "0.05", "0.02", JobOutcome::cancelled},   // 2.5 to even
      {"00:00:09", "TIMEOUT", "1", "9.00", "0.15", "0.08", JobOutcome::cancelled},  // 7.5 to even
      {"00:10:00", "CANCELLED", "4", "2400.00", "40.00", "20.00", JobOutcome::cancelled},
      {"00:10:00", "CANCELLED by 123", "4", "2400.00", "40.00", "20.00", JobOutcome::cancelled},
      {"00:10:00", "PREEMPTED", "1", "600.00", "10.00", "5.00", JobOutcome::cancelled},
      {"00:10:00", "NODE_FAIL", "1", "600.00", "10.00", "5.00", JobOutcome::cancelled},
      {"00:10:00", "OUT_OF_MEMORY", "1", "600.00", "10.00", "5.00", JobOutcome::cancelled},
      {"00:00:00", "CANCELLED", "0", "0.00", "0.00", "0.00", JobOutcome::cancelled},
  };
  for (const Case& c : cases) {
    const Read all = read(kSlurm + slurm_row("ann", "physics", c.elapsed, c.state, c.ncpus), TraceFormat::slurm);
    ASSERT_EQ(all.jobs.size(), 1u) << c.elapsed << " " << c.state;
    const TraceJob& job = all.jobs[0];
    EXPECT_EQ(job.things.to_string(), c.things) << c.elapsed;
    EXPECT_EQ(job.cost.to_string(), c.cost) << c.elapsed;
    EXPECT_EQ(job.reward.to_string(), c.reward) << c.elapsed;
    EXPECT_EQ(job.outcome, c.outcome) << c.state;
  }
}

TEST_F(TraceTest, SlurmNames) {
  const Read all = read(kSlurm + slurm_row("zoe", "physics", "00:00:0x", "COMPLETED", "1") +
                            slurm_row("ann", "physics", "00:01:00", "COMPLETED", "1") +
                            slurm_row("bob", "physics", "00:01:00", "COMPLETED", "1") +
                            slurm_row("bob", "chemistry", "00:01:00", "COMPLETED", "1"),
                        TraceFormat::slurm);
  ASSERT_EQ(all.refused.size(), 1u);
  ASSERT_EQ(all.jobs.size(), 3u);
  EXPECT_EQ(all.jobs[1].line, 4);
  EXPECT_EQ(all.jobs[1].key, "4");
  EXPECT_EQ(all.jobs[1].requester, "bob");
  EXPECT_EQ(all.jobs[1].owner, "ann");  // the refused row's user owns nothing
  EXPECT_EQ(all.jobs[1].team, "physics");
  EXPECT_EQ(all.jobs[1].worker, "c1/p1/physics");
  EXPECT_EQ(all.jobs[1].worker_type, "batch");
  EXPECT_EQ(all.jobs[1].wp_type, "batch");
  EXPECT_EQ(all.jobs[2].owner, "bob");
}

TEST_F(TraceTest, SlurmRefusals) {
  struct Case {
    std::string row;
    const char* names;
  };
  const std::vector<Case> cases = {
      {slurm_row("u", "a", "00:01:00", "RUNNING", "1"), "line 2: column state has 'RUNNING'"},
      {slurm_row("u", "a", "00:01:00", "completed", "1"), "column state has 'completed'"},
      {slurm_row("u", "a", "00:01:00", "CANCELLED by x", "1"), "column state has 'CANCELLED by x'"},
      {slurm_row("u", "a", "-00:01:00", "COMPLETED", "1"), "column elapsed has '-00:01:00'"},
      {slurm_row("u", "a", "60", "COMPLETED", "1"), "column elapsed has '60'"},
      {slurm_row("u", "a", "00:60:00", "COMPLETED", "1"), "column elapsed has '00:60:00'"},
      {slurm_row("u", "a", "1-24:00:00", "COMPLETED", "1"), "column elapsed has '1-24:00:00'"},
      {slurm_row("u", "a", "", "COMPLETED", "1"), "column elapsed has ''"},
      {slurm_row("u", "a", "00:01:00", "COMPLETED", "0"), "column ncpus has '0'"},
      {slurm_row("u", "a", "00:01:00", "COMPLETED", "-1"), "column ncpus has '-1'"},
      {slurm_row("u", "a", "00:01:00", "COMPLETED", "1.5"), "column ncpus has '1.5'"},
      {slurm_row("u", "a", "999999-00:00:00", "COMPLETED", "999999999"), "column ncpus has '999999999'"},
      {slurm_row("", "a", "00:01:00", "COMPLETED", "1"), "column user has ''"},
      {slurm_row("u", "", "00:01:00", "COMPLETED", "1"), "column account has ''"},
      {"a,b\n", "line 2: it has 2 fields where 14 are expected"},
  };
  for (const Case& c : cases) {
    const Read all = read(kSlurm + c.row + slurm_row("u", "a", "00:01:00", "COMPLETED", "1"), TraceFormat::slurm);
    ASSERT_EQ(all.refused.size(), 1u) << c.names;
    EXPECT_NE(all.refused[0].find(c.names), std::string::npos) << all.refused[0];
    EXPECT_EQ(all.jobs.size(), 1u) << c.names;
  }
}

TEST_F(TraceTest, AzurePricesAndRefusals) {
  const Read all =
      read(std::string(kAzure) + "2023-11-16 18:17:03.9799600,4808,10\r\nt,0,0\r\nt,x,1\r\nt,1,-1\r\nt,1,2",
           TraceFormat::azure_llm);
  ASSERT_EQ(all.jobs.size(), 3u);
  EXPECT_EQ(all.jobs[0].cost.to_string(), "49.08");  // (480.8 + 10) / 10
  EXPECT_EQ(all.jobs[0].reward, all.jobs[0].cost);
  EXPECT_EQ(all.jobs[0].things.to_string(), "10.00");
  EXPECT_EQ(all.jobs[0].outcome, JobOutcome::completed);
  EXPECT_EQ(all.jobs[0].key, "2");
  EXPECT_TRUE(all.jobs[1].cost.is_zero());
  EXPECT_EQ(all.jobs[2].cost.to_string(), "0.21");
  ASSERT_EQ(all.refused.size(), 2u);
  EXPECT_NE(all.refused[0].find("line 4: column ContextTokens has 'x'"), std::string::npos);
  EXPECT_NE(all.refused[1].find("line 5: column GeneratedTokens has '-1'"), std::string::npos);
}

TEST_F(TraceTest, AzureNamesAreDrawnFromTheLine) {
  std::string content = kAzure;
  for (int i = 0; i < 6'000; ++i) content += "t,100,10\r\n";
  const Read all = read(content, TraceFormat::azure_llm);
  const Read again = read(content, TraceFormat::azure_llm);
  std::map<std::string, int> requesters;
  std::map<std::string, std::set<std::string>> of_worker, of_owner;
  for (std::size_t i = 0; i < all.jobs.size(); ++i) {
    const TraceJob& job = all.jobs[i];
    ASSERT_EQ(job.requester, again.jobs[i].requester);
    ASSERT_EQ(job.worker, again.jobs[i].worker);
    ++requesters[job.requester];
    ASSERT_EQ(job.team, "") << "text workers have none";
    of_worker[job.worker].insert(job.owner);
    of_owner[job.owner].insert(job.worker);
  }
  EXPECT_NEAR(requesters["anonymous"], 2'000, 150);
  EXPECT_GT(requesters["caller-001"], 10 * requesters["caller-150"]);
  EXPECT_LE(requesters.size(), 201u);
  EXPECT_EQ(of_worker.size(), 24u);
  EXPECT_EQ(of_owner.size(), 8u);
  for (const auto& [worker, accounts] : of_worker) EXPECT_EQ(accounts.size(), 1u) << worker;
  // Fixed for all platforms and versions: a replay under the same keys must make the same requests.
  EXPECT_EQ(all.jobs[0].requester, "caller-081");
  EXPECT_EQ(all.jobs[0].worker, "gpu-22");
}

TEST_F(TraceTest, ServegenDrawsWholeRequestsAndCarriesTheRest) {
  // 1.5 + 0.6 (another client) + 0.9 → 1, then 2.4 - 1 = 1; the other client never reaches one.
  const Read all = read(std::string(kServegen) +
                            "7,0,0.0025,1,Gamma,1,1\n8,0,0.001,1,,0,0\n7,600,0.0015,1,,0,0\n7,1200,0,0,,0,0\n"
                            "7,1800,0.0116666666666666666666,0,,0,0\n",
                        TraceFormat::servegen);
  std::vector<std::string> keys;
  for (const TraceJob& job : all.jobs) keys.push_back(job.key);
  // The last line draws 6.9999999999 and finds 0.4 carried.
  EXPECT_EQ(keys, (std::vector<std::string>{"2:1", "4:1", "6:1", "6:2", "6:3", "6:4", "6:5", "6:6", "6:7"}));
  for (const TraceJob& job : all.jobs) {
    EXPECT_EQ(job.requester, "client-7");
    EXPECT_EQ(job.worker_type, "image");
    EXPECT_GE(job.cost, Amount::whole(10));
    EXPECT_LT(job.cost, Amount::whole(20));
    EXPECT_EQ(job.cost, job.reward);
    EXPECT_EQ(job.things.hundredths() % 100'000'000, 0);
    EXPECT_GE(job.things, Amount::whole(1'000'000));
    EXPECT_LE(job.things, Amount::whole(4'000'000));
  }
}

TEST_F(TraceTest, ServegenTakesOneInN) {
  const std::string content =
      std::string(kServegen) + "1,0,0.01,1,,0,0\n1,600,0.01,1,,0,0\nbad,0,1,1,,0,0\n2,0,0.01,1,,0,0\n";
  const Read whole = read(content, TraceFormat::servegen);
  ASSERT_EQ(whole.jobs.size(), 18u);
  for (const std::int64_t one_in : {1, 2, 4, 5, 7, 18, 19, 1'000'000}) {
    const Read part = read(content, TraceFormat::servegen, {one_in});
    std::vector<std::string> expected, keys;
    for (std::size_t i = 1; i <= 18; ++i) {
      if (static_cast<std::int64_t>(i) % one_in == 0) expected.push_back(whole.jobs[i - 1].key);
    }
    for (const TraceJob& job : part.jobs) keys.push_back(job.key);
    EXPECT_EQ(keys, expected) << one_in;
    EXPECT_EQ(part.refused.size(), 1u);
  }
}

TEST_F(TraceTest, ServegenRefusals) {
  for (const char* rate : {"", "-1", "1e-3", "nan", ".5", "1.", "1.2.3", "99999999", "1,5"}) {
    const Read all = read(std::string(kServegen) + "1,0,\"" + rate + "\",1,,0,0\n", TraceFormat::servegen);
    ASSERT_EQ(all.refused.size(), 1u) << rate;
    EXPECT_NE(all.refused[0].find("line 2: column rate_rps has '" + std::string(rate) + "'"), std::string::npos)
        << all.refused[0];
  }
}

TEST_F(TraceTest, OpenRefusals) {
  const Error other = open_error(write(std::string(kAzure) + "t,1,1\n"), TraceFormat::slurm);
  EXPECT_EQ(other.code, ErrorCode::wrong_format);
  EXPECT_NE(other.message.find("its first line must be 'cluster,job_id,"), std::string::npos) << other.message;
  EXPECT_NE(other.message.find("It looks like azure-llm"), std::string::npos) << other.message;

  const std::string contents[] = {"", "\n", "client\n", "," + std::string(kServegen),
                                  "\x1F\x8B\x08" + std::string(9, '\0')};
  for (const std::string& content : contents) {
    const Error error = open_error(write(content), TraceFormat::servegen);
    EXPECT_EQ(error.code, ErrorCode::wrong_format);
    EXPECT_EQ(error.message.find("looks like"), std::string::npos) << error.message;
  }
  EXPECT_EQ(open_error((directory_ / "none").string(), TraceFormat::slurm).code, ErrorCode::file_unreadable);
  EXPECT_EQ(open_error(directory_.string(), TraceFormat::slurm).code, ErrorCode::file_unreadable);
  EXPECT_EQ(open_error(write(kServegen), TraceFormat::servegen, {0}).code, ErrorCode::invalid_request);
  EXPECT_EQ(open_error(write(kAzure), TraceFormat::azure_llm, {2}).code, ErrorCode::invalid_request);
}

TEST_F(TraceTest, HeaderOnlyIsAnEmptyTrace) {
  const Read all = read(kSlurm, TraceFormat::slurm);
  EXPECT_TRUE(all.jobs.empty());
  EXPECT_TRUE(all.refused.empty());
}

TEST_F(TraceTest, Digest) {
  EXPECT_EQ(file_digest(write("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(file_digest(write("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(file_digest(write(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(file_digest(directory_.string()).error().code, ErrorCode::file_unreadable);
}

Total total(const std::vector<TraceJob>& jobs, Amount TraceJob::* part) {
  Total sum;
  for (const TraceJob& job : jobs) sum += job.*part;
  return sum;
}

// The published files, when they're there: KUDOS_SHARED_DATA names their directory. The expected totals were computed
// in another language from the formulas.
class PublishedTraceTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* directory = std::getenv("KUDOS_SHARED_DATA");
    if (directory == nullptr || !fs::is_directory(directory)) GTEST_SKIP() << "KUDOS_SHARED_DATA isn't a directory";
    directory_ = directory;
  }

  Read read(const char* name, TraceFormat format, TraceOptions options = {}) {
    auto reader = open_trace((directory_ / name).string(), format, options);
    if (!reader) {
      ADD_FAILURE() << reader.error().to_string();
      return {};
    }
    return read_all(**reader);
  }

  fs::path directory_;
};

TEST_F(PublishedTraceTest, Slurm) {
  const Read all = read("xdmod_slurm_jobs.csv", TraceFormat::slurm);
  EXPECT_EQ(all.refused.size(), 0u);
  EXPECT_EQ(all.jobs.size(), 15'989u);
  std::set<std::string> users, accounts;
  for (const TraceJob& job : all.jobs) {
    users.insert(job.requester);
    accounts.insert(job.team);
  }
  EXPECT_EQ(users.size(), 21u);
  EXPECT_EQ(accounts.size(), 9u);
  EXPECT_EQ(std::ranges::count(all.jobs, JobOutcome::completed, &TraceJob::outcome), 12'458);
  EXPECT_EQ(total(all.jobs, &TraceJob::things).to_string(), "301508153.00");
  EXPECT_EQ(total(all.jobs, &TraceJob::cost).to_string(), "5025135.61");
  EXPECT_EQ(total(all.jobs, &TraceJob::reward).to_string(), "4252276.54");
}

TEST_F(PublishedTraceTest, Azure) {
  const Read all = read("AzureLLMInferenceTrace_code.csv", TraceFormat::azure_llm);
  EXPECT_EQ(all.refused.size(), 0u);
  EXPECT_EQ(all.jobs.size(), 8'819u);
  EXPECT_EQ(total(all.jobs, &TraceJob::cost).to_string(), "205189.34");
}

TEST_F(PublishedTraceTest, Servegen) {
  auto reader = open_trace((directory_ / "servegen_mm-image.csv").string(), TraceFormat::servegen);
  ASSERT_TRUE(reader.has_value());
  std::int64_t jobs = 0;
  Total cost;
  std::set<std::string> clients;
  for (auto job = (*reader)->next(); job && job->has_value(); job = (*reader)->next()) {
    ++jobs;
    cost += (*job)->cost;
    clients.insert((*job)->requester);
  }
  // Of 818,610 requests each client may lose its last one to the decimals that are cut off.
  EXPECT_EQ(jobs, 818'576);
  EXPECT_EQ(cost.to_string(), "12272128.69");
  EXPECT_LE(clients.size(), 35u);
  EXPECT_EQ(read("servegen_mm-image.csv", TraceFormat::servegen, {1'000}).jobs.size(),
            static_cast<std::size_t>(jobs / 1'000));
}

}  // namespace
}  // namespace kudos::sim
