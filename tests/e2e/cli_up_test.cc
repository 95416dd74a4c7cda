// `kudos up`: it starts, ends in every way, and keeps the data.
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sys/stat.h>

#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

class CliUpTest : public CliTest {
 protected:
  static ProcessOptions on(const std::string& directory, Arguments arguments) {
    arguments.insert(arguments.end(), {"--data-dir", directory});
    return command(arguments);
  }
  static Outcome run_on(const std::string& directory, Arguments arguments) { return run(on(directory, arguments)); }
  static pid_t postmaster(const std::string& data_dir) {
    pid_t pid = 0;
    std::ifstream(data_dir + "/postgres/postmaster.pid") >> pid;
    return pid;
  }
};

// One data directory goes through it all: to make a cluster takes longer than everything else here.
TEST_F(CliUpTest, TheLifeOfADataDirectory) {
  const std::string data = (files_ / "data").string();
  {
    SCOPED_TRACE("the demo, bounded by --for");
    const Outcome demo = run_on(data, {"up", "--demo", "--for", "2500ms"});
    EXPECT_EQ(demo.code, 0) << demo.err;
    for (const char* part : {"applied migration", "switched to ledger mode", "stopped; everything accepted is kept"})
      EXPECT_NE(demo.err.find(part), std::string::npos) << demo.err;
    for (const char* part : {"mode ledger", "accepted ", "folded ", "pending ", "oldest ", "heartbeat ", "top users",
                             "top workers", "top teams", "team-01"})
      EXPECT_NE(demo.out.find(part), std::string::npos) << demo.out;
    EXPECT_EQ(demo.out.find('\033'), std::string::npos) << "no colours in a pipe";
  }
  {
    SCOPED_TRACE("SIGKILL of up: the data is still there");
    Background up(on(data, {"up"}));
    ASSERT_TRUE(up.wait_for_error_text("stop with Ctrl-C"));
    ASSERT_EQ(run_on(data, {"user", "create", "survivor"}).code, 0);
    ASSERT_EQ(run_on(data, {"topup", "ext:survivor", "12.34"}).code, 0);
    up.signal(SIGKILL);
    EXPECT_EQ(up.finish().code, 128 + SIGKILL);
    Background again(on(data, {"up"}));
    ASSERT_TRUE(again.wait_for_error_text("stop with Ctrl-C"));
    ASSERT_EQ(run_on(data, {"drain"}).code, 0);
    EXPECT_NE(run_on(data, {"balance", "ext:survivor"}).out.find("12.34"), std::string::npos);
    again.signal(SIGTERM);
    const Outcome ended = again.finish();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_NE(run_on(data, {"balance", "ext:survivor"}).err.find("no private server is running"), std::string::npos);
  }
  {
    SCOPED_TRACE("its PostgreSQL dies under the demo: up ends and says so");
    Background up(on(data, {"up", "--demo"}));
    ASSERT_TRUE(up.wait_for_output("top users"));
    ::kill(postmaster(data), SIGKILL);
    const Outcome outcome = up.finish();
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("kudos: database_unavailable: the private PostgreSQL has ended"), std::string::npos)
        << outcome.err;
  }
  {
    SCOPED_TRACE("Ctrl-C in the demo, and a second one while it stops");
    Background up(on(data, {"up", "--demo", "--json"}));
    ASSERT_TRUE(up.wait_for_output("accepted_per_second"));
    up.signal(SIGINT);
    up.signal(SIGINT);
    const Outcome outcome = up.finish();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("stopped; everything accepted is kept"), std::string::npos) << outcome.err;
  }
  {
    SCOPED_TRACE("the reader of the demo leaves");
    auto options = on(data, {"up", "--demo"});
    options.out = ProcessOptions::Out::broken_pipe;
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  {
    SCOPED_TRACE("the socket is in use by another server of the account");
    const std::string lock = data + "/socket/.s.PGSQL.5432.lock";
    std::ofstream(lock) << postmaster(server().data_dir()) << "\n/elsewhere\n1\n5432\n\n";
    ASSERT_EQ(::chmod(lock.c_str(), 0644), 0);
    const Outcome outcome = run_on(data, {"up", "--for", "1s"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("kudos: server_start_failed"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(".s.PGSQL.5432.lock"), std::string::npos) << outcome.err;
    ::unlink(lock.c_str());
  }
  {
    SCOPED_TRACE("the socket's directory is open to others");
    ASSERT_EQ(::chmod((data + "/socket").c_str(), 0755), 0);
    const Outcome outcome = run_on(data, {"up", "--for", "1s"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("kudos: data_directory"), std::string::npos) << outcome.err;
  }
}

TEST_F(CliUpTest, ASecondOneOnTheSameDirectoryIsRefusedAndBreaksNothing) {
  const Outcome second = kudos({"up", "--data-dir", server().data_dir()});
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.err.find("kudos: already_running"), std::string::npos) << second.err;
  EXPECT_NE(second.err.find("pid " + std::to_string(server().up.pid())), std::string::npos) << second.err;
  EXPECT_EQ(kudos({"status"}).code, 0);
}

TEST_F(CliUpTest, ADirectoryThatIsNotOursIsLeftAlone) {
  const std::string file = files_.write("file", "");
  const std::string foreign =
      ::geteuid() == 0 ? (files_ / "").string() : "/usr";  // ours to root, but with a file in it
  for (const std::string& directory : {file, foreign}) {
    const Outcome outcome = run_on(directory, {"up", "--for", "1s"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("kudos: data_directory"), std::string::npos) << outcome.err;
  }
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(CliUpTest, OnAGivenDatabaseItKeepsThePasswordToItself) {
  auto options = command({"up", "--for", "200ms"});
  options.env = {"KUDOS_DATABASE_URL=" + server().conninfo() + " password=secret"};
  const Outcome outcome = run(options);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("secret"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("private PostgreSQL"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace kudos::testing
