#include "db/private_server.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <libpq-fe.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <vector>

#include "db/pg_binaries.h"
#include "db/pg_cluster.h"
#include "db/private_server_dirs.h"
#include "db/process.h"

namespace kudos::db {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// The first value of a query's result, or the error's text.
std::string ask(const std::string& conninfo, const std::string& sql) {
  PGconn* const connection = PQconnectdb(conninfo.c_str());
  PGresult* const result = PQexec(connection, sql.c_str());
  std::string answer = PQerrorMessage(connection);
  if (PQresultStatus(result) == PGRES_COMMAND_OK) answer = "ok";
  if (PQresultStatus(result) == PGRES_TUPLES_OK) answer = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  PQfinish(connection);
  return answer;
}

std::string contents(const fs::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

mode_t mode_of(const fs::path& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

// Runs `body` in a child of this test, which ends with its value.
template <class Body>
pid_t in_child(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  return pid;
}

int exit_code(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A child that starts the server and then does nothing until it's killed.
pid_t owner_in_child(const PrivateServerOptions& options) {
  std::array<int, 2> ready{};
  EXPECT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
  const pid_t owner = in_child([&] {
    auto server = PrivateServer::start(options);
    if (!server) return 1;
    static_cast<void>(ask(server->conninfo(), "CREATE TABLE kept AS SELECT 7 AS value"));
    static_cast<void>(::write(ready[1], "r", 1));
    for (;;) ::pause();
  });
  ::close(ready[1]);
  char signal = 0;
  EXPECT_EQ(::read(ready[0], &signal, 1), 1) << "the owner could not start its server";
  ::close(ready[0]);
  return owner;
}

class PrivateServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/kudos-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  }
  void TearDown() override { fs::remove_all(root_); }

  PrivateServerOptions options(const std::string& name = "data") const {
    PrivateServerOptions chosen;
    chosen.data_dir = root_ / name;
    chosen.settings = {{"shared_buffers", "16MB"}, {"max_connections", "20"}};
    return chosen;
  }

  fs::path root_;
};

TEST_F(PrivateServerTest, KeepsDataOverStopAndStart) {
  auto server = PrivateServer::start(options());
  ASSERT_TRUE(server) << server.error().to_string();
  EXPECT_EQ(ask(server->conninfo(), "CREATE TABLE kept AS SELECT 7 AS value"), "ok");
  EXPECT_TRUE(server->stop());
  EXPECT_FALSE(server->running());
  EXPECT_TRUE(server->stop());
  EXPECT_FALSE(fs::exists(root_ / "data/connection"));
  EXPECT_FALSE(fs::exists(root_ / "data/postgres/postmaster.pid"));

  server = PrivateServer::start(options());
  ASSERT_TRUE(server) << server.error().to_string();
  EXPECT_EQ(ask(server->conninfo(), "SELECT value FROM kept"), "7");
}

TEST_F(PrivateServerTest, IsPrivateAndDurable) {
  auto started = PrivateServer::start(options());
  ASSERT_TRUE(started) << started.error().to_string();
  const PrivateServer server = *std::move(started);
  const std::vector<std::array<const char*, 2>> expected = {
      {"listen_addresses", ""},   {"fsync", "on"},         {"synchronous_commit", "on"}, {"full_page_writes", "on"},
      {"shared_buffers", "16MB"}, {"max_wal_size", "2GB"}, {"server_encoding", "UTF8"},  {"lc_collate", "C"},
  };
  for (const auto& [name, value] : expected)
    EXPECT_EQ(ask(server.conninfo(), std::string{"SHOW "} + name), value) << name;
  EXPECT_EQ(ask(server.conninfo(), "SELECT current_user || '@' || current_database()"), "kudos@kudos");
  EXPECT_EQ(mode_of(root_ / "data"), 0700U);
  EXPECT_EQ(mode_of(root_ / "data/socket"), 0700U);
  EXPECT_EQ(mode_of(root_ / "data/postgres"), 0700U);
  EXPECT_EQ(mode_of(root_ / "data/connection"), 0600U);
}

TEST_F(PrivateServerTest, SecondStarterLearnsWhoHoldsTheDirectory) {
  auto server = PrivateServer::start(options());
  ASSERT_TRUE(server) << server.error().to_string();
  const auto second = PrivateServer::start(options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::already_running);
  EXPECT_TRUE(second.error().message.contains((root_ / "data").string())) << second.error().message;
  EXPECT_TRUE(second.error().message.contains("pid " + std::to_string(::getpid()))) << second.error().message;
  EXPECT_EQ(ask(server->conninfo(), "SELECT 1"), "1");
  EXPECT_EQ(find_running(root_ / "data").value_or(""), server->conninfo());
}

TEST_F(PrivateServerTest, LongPathsGetASocketInTmp) {
  PrivateServerOptions chosen = options(std::string(120, 'x') + "/it's here");
  chosen.database = "o'dd \"name\"";
  auto server = PrivateServer::start(chosen);
  ASSERT_TRUE(server) << server.error().to_string();
  EXPECT_TRUE(server->conninfo().contains("host=/tmp/kudos-")) << server->conninfo();
  EXPECT_EQ(ask(server->conninfo(), "SELECT current_database()"), chosen.database);
  const PrivateServerDirs dirs{chosen.data_dir, std::nullopt};
  EXPECT_EQ(mode_of(dirs.socket()), 0700U);
  EXPECT_TRUE(server->stop());
  EXPECT_FALSE(fs::exists(dirs.socket()));
}

TEST_F(PrivateServerTest, PathsThatNeedQuoting) {
  for (const std::string name : {"it's a \\ dir", "with, comma"}) {
    auto server = PrivateServer::start(options(name));
    ASSERT_TRUE(server) << server.error().to_string();
    EXPECT_EQ(ask(server->conninfo(), "SELECT 1"), "1") << server->conninfo();
  }
}

TEST_F(PrivateServerTest, SocketDirectoryInTmpThatIsOpenToOthersIsRefused) {
  const PrivateServerOptions chosen = options(std::string(120, 'x'));
  const fs::path socket = PrivateServerDirs{chosen.data_dir, std::nullopt}.socket();
  ASSERT_TRUE(fs::create_directory(socket));
  ASSERT_EQ(::chmod(socket.c_str(), 0777), 0);
  const auto server = PrivateServer::start(chosen);
  fs::remove_all(socket);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::data_directory) << server.error().to_string();
}

TEST_F(PrivateServerTest, StartsAgainAfterTheServerCrashed) {
  auto server = PrivateServer::start(options());
  ASSERT_TRUE(server) << server.error().to_string();
  EXPECT_EQ(ask(server->conninfo(), "CREATE TABLE kept AS SELECT 7 AS value"), "ok");
  ASSERT_EQ(::kill(server->pid(), SIGKILL), 0);
  while (server->running()) ::usleep(1000);
  EXPECT_TRUE(server->stop());

  server = PrivateServer::start(options());
  ASSERT_TRUE(server) << server.error().to_string();
  EXPECT_EQ(ask(server->conninfo(), "SELECT value FROM kept"), "7");
}

// A backend that is busy doesn't notice its postmaster's death and keeps the shared memory.
TEST_F(PrivateServerTest, WaitsForBackendsOfACrashedServer) {
  auto server = PrivateServer::start(options());
  ASSERT_TRUE(server) << server.error().to_string();
  PGconn* const busy = PQconnectdb(server->conninfo().c_str());
  // A loop in PL/pgSQL looks for cancellation, not for the postmaster.
  ASSERT_EQ(PQsendQuery(busy,
                        "DO $$ DECLARE t timestamptz := clock_timestamp() + '2 s'; BEGIN "
                        "WHILE clock_timestamp() < t LOOP END LOOP; END $$"),
            1);
  PQflush(busy);
  while (ask(server->conninfo(),
             "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO %' AND state = 'active'") != "1") {
  }
  ASSERT_EQ(::kill(server->pid(), SIGKILL), 0);
  while (server->running()) ::usleep(1000);
  EXPECT_TRUE(server->stop());
  server = PrivateServer::start(options());
  EXPECT_TRUE(server) << server.error().to_string();
  PQfinish(busy);
}

TEST_F(PrivateServerTest, StartsAgainAfterTheOwnerWasKilled) {
  const pid_t owner = owner_in_child(options());
  EXPECT_TRUE(find_running(root_ / "data"));
  ASSERT_EQ(::kill(owner, SIGKILL), 0);
  EXPECT_EQ(exit_code(owner), -1);
  auto server = PrivateServer::start(options());
  ASSERT_TRUE(server) << server.error().to_string();
  EXPECT_EQ(ask(server->conninfo(), "SELECT value FROM kept"), "7");
}

TEST_F(PrivateServerTest, ServerEndsWithItsOwner) {
  const pid_t owner = owner_in_child(options());
  auto postmaster = Process::open(std::atoi(contents(root_ / "data/postgres/postmaster.pid").c_str()));
  ASSERT_TRUE(postmaster && postmaster->running());
  ASSERT_EQ(::kill(owner, SIGKILL), 0);
  EXPECT_EQ(exit_code(owner), -1);
  EXPECT_TRUE(postmaster->wait(60s));
}

TEST_F(PrivateServerTest, ReplacesAServerThatOutlivedItsOwner) {
  ASSERT_TRUE(PrivateServer::start(options()));
  const auto dirs = prepare_data_dir(options().data_dir);
  ASSERT_TRUE(dirs) << dirs.error().to_string();
  const auto binaries = find_pg_binaries(std::nullopt);
  ASSERT_TRUE(binaries) << binaries.error().to_string();
  SpawnOptions program = server_program(*dirs);
  program.argv = server_command(*dirs, *binaries, options().settings);
  auto orphan = Process::spawn(program);
  ASSERT_TRUE(orphan) << orphan.error().to_string();
  const std::string conninfo = "host=" + dirs->socket().string() + " user=kudos dbname=kudos";
  while (PQping(conninfo.c_str()) != PQPING_OK && orphan->running()) ::usleep(1000);

  auto server = PrivateServer::start(options());
  ASSERT_TRUE(server) << server.error().to_string();
  EXPECT_FALSE(orphan->running());
  EXPECT_EQ(ask(server->conninfo(), "SELECT 1"), "1");
}

// The number in postmaster.pid may belong to another program of the same account by now: PostgreSQL alone would refuse.
TEST_F(PrivateServerTest, PidFileOfAnotherProgramIsNoServer) {
  ASSERT_TRUE(PrivateServer::start(options()));
  const auto dirs = prepare_data_dir(options().data_dir);
  ASSERT_TRUE(dirs) << dirs.error().to_string();
  SpawnOptions sleeper = server_program(*dirs);
  sleeper.argv = {"sleep", "300"};
  sleeper.working_dir = dirs->cluster();
  auto other = Process::spawn(sleeper);
  ASSERT_TRUE(other) << other.error().to_string();
  std::ofstream{dirs->cluster() / "postmaster.pid"} << other->pid() << "\n" << dirs->cluster().string() << "\n";
  const auto server = PrivateServer::start(options());
  EXPECT_TRUE(server) << server.error().to_string();
  EXPECT_TRUE(other->running());
}

TEST_F(PrivateServerTest, RemainsOfAnInterruptedInitdbAreRemoved) {
  fs::create_directories(root_ / "data/postgres.initdb/base");
  std::ofstream{root_ / "data/postgres.initdb/PG_VERSION"} << "15\n";
  const auto server = PrivateServer::start(options());
  ASSERT_TRUE(server) << server.error().to_string();
  EXPECT_FALSE(fs::exists(root_ / "data/postgres.initdb"));
}

TEST_F(PrivateServerTest, FailureToStartQuotesTheLogAndFreesTheLock) {
  PrivateServerOptions wrong = options();
  wrong.settings["shared_buffers"] = "a lot";
  const auto server = PrivateServer::start(wrong);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::server_start_failed);
  EXPECT_TRUE(server.error().message.contains("shared_buffers")) << server.error().message;
  EXPECT_TRUE(PrivateServer::start(options()));
}

TEST_F(PrivateServerTest, ForeignDirectoriesAreLeftAlone) {
  fs::create_directories(root_ / "data/postgres");
  std::ofstream{root_ / "data/postgres/precious"} << "x";
  const auto not_a_cluster = PrivateServer::start(options());
  ASSERT_FALSE(not_a_cluster);
  EXPECT_EQ(not_a_cluster.error().code, ErrorCode::data_directory) << not_a_cluster.error().to_string();
  EXPECT_TRUE(fs::exists(root_ / "data/postgres/precious"));
}

TEST_F(PrivateServerTest, RootRefusesAnotherProgramsDirectory) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root hands directories over";
  fs::create_directories(root_ / "data");
  std::ofstream{root_ / "data/letter.txt"} << "x";
  const auto server = PrivateServer::start(options());
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::data_directory);
  struct stat found{};
  ASSERT_EQ(::stat((root_ / "data").c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, 0U);
}

TEST_F(PrivateServerTest, RootNeedsADirectoryTheAccountCanReach) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second account";
  fs::create_directories(root_ / "closed");
  ASSERT_EQ(::chmod((root_ / "closed").c_str(), 0700), 0);
  const auto server = PrivateServer::start(options("closed/below/data"));
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::data_directory);
  EXPECT_TRUE(server.error().message.contains((root_ / "closed").string())) << server.error().message;
  EXPECT_FALSE(server.error().hint.empty());
  EXPECT_FALSE(fs::exists(root_ / "closed/below"));
}

TEST_F(PrivateServerTest, DirectoryOfSomeoneElseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  constexpr uid_t kOwner = 54321;
  constexpr uid_t kThird = 54322;
  fs::create_directory(root_ / "data");
  ASSERT_EQ(::chown((root_ / "data").c_str(), kOwner, kOwner), 0);
  const int code = exit_code(in_child([&] {
    if (::setgid(kThird) != 0 || ::setuid(kThird) != 0) return 2;
    const auto server = PrivateServer::start(options());
    if (server || server.error().code != ErrorCode::data_directory) return 3;
    return server.error().message.contains("belongs to") ? 0 : 4;
  }));
  EXPECT_EQ(code, 0);
}

// The same without root: an ordinary account runs PostgreSQL as itself, below a directory it may write to.
TEST_F(PrivateServerTest, OrdinaryAccountRunsItAsItself) {
  if (::geteuid() != 0) GTEST_SKIP() << "the other tests do this already";
  const passwd* const nobody = ::getpwnam("nobody");
  if (nobody == nullptr) GTEST_SKIP() << "there is no account nobody";
  ASSERT_EQ(::chown(root_.c_str(), nobody->pw_uid, nobody->pw_gid), 0);
  const int code = exit_code(in_child([&] {
    if (::setgid(nobody->pw_gid) != 0 || ::setuid(nobody->pw_uid) != 0) return 2;
    auto server = PrivateServer::start(options("a/b/data"));
    if (!server) return 3;
    if (ask(server->conninfo(), "SELECT 1") != "1") return 4;
    return server->stop() ? 0 : 5;
  }));
  EXPECT_EQ(code, 0);
  // Root goes on as the directory's owner.
  const auto server = PrivateServer::start(options("a/b/data"));
  ASSERT_TRUE(server) << server.error().to_string();
  EXPECT_EQ(ask(server->conninfo(), "SELECT 1"), "1");
  struct stat found{};
  ASSERT_EQ(::stat(("/proc/" + std::to_string(server->pid())).c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, nobody->pw_uid);
}

TEST_F(PrivateServerTest, FindRunningSaysWhatToDo) {
  const auto none = find_running(root_ / "data");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::database_unavailable);
  EXPECT_TRUE(none.error().message.contains((root_ / "data").string()));
  EXPECT_TRUE(none.error().hint.contains("kudos up --data-dir")) << none.error().hint;

  fs::create_directory(root_ / "data");
  std::ofstream{root_ / "data/connection"} << "host=" << (root_ / "data/socket").string() << " dbname=kudos\n";
  const auto stale = find_running(root_ / "data");
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::database_unavailable);
}

TEST_F(PrivateServerTest, ChosenBinariesMustExist) {
  ASSERT_EQ(::setenv("KUDOS_PG_BINDIR", root_.c_str(), 1), 0);
  const auto none = find_pg_binaries(std::nullopt);
  std::ofstream{root_ / "postgres"} << "#!/bin/sh\necho 'postgres (PostgreSQL) 14.9'\n";
  std::ofstream{root_ / "initdb"} << "#!/bin/sh\n";
  for (const char* name : {"postgres", "initdb"}) ASSERT_EQ(::chmod((root_ / name).c_str(), 0755), 0);
  const auto old = find_pg_binaries(std::nullopt);
  ASSERT_EQ(::unsetenv("KUDOS_PG_BINDIR"), 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::server_start_failed);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, ErrorCode::server_too_old) << old.error().to_string();
  const auto missing_version = find_pg_binaries(99);
  ASSERT_FALSE(missing_version);
  EXPECT_TRUE(missing_version.error().message.contains("99")) << missing_version.error().message;
}

TEST(DefaultDataDir, FollowsTheEnvironment) {
  ASSERT_EQ(::setenv("KUDOS_DATA_DIR", "/somewhere/else", 1), 0);
  EXPECT_EQ(default_data_dir(), "/somewhere/else");
  ASSERT_EQ(::unsetenv("KUDOS_DATA_DIR"), 0);
  if (::geteuid() == 0)
    EXPECT_EQ(default_data_dir(), "/var/lib/kudos");
  else
    EXPECT_TRUE(default_data_dir().is_absolute());
}

TEST(ProcessTest, CapturesOutputAndExitCode) {
  SpawnOptions program;
  program.argv = {"sh", "-c", "echo $KUDOS_WORD; echo bad >&2; exit 3"};
  program.env = {"KUDOS_WORD=good"};
  const auto result = run(program, 10s);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->output, "good\nbad\n");
  EXPECT_EQ(result->status.code, 3);
}

TEST(ProcessTest, TellsWhyAProgramCannotRun) {
  SpawnOptions program;
  program.argv = {"/nowhere/program"};
  const auto process = Process::spawn(program);
  ASSERT_FALSE(process);
  EXPECT_TRUE(process.error().message.contains("No such file")) << process.error().message;
}

TEST(ProcessTest, RunEndsTheWholeGroupWhenTheTimeIsUp) {
  SpawnOptions program;
  program.argv = {"sh", "-c", "sleep 300 & echo $!; wait"};
  const auto result = run(program, 300ms);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::timed_out);
  const std::string& message = result.error().message;
  auto sleeper = Process::open(std::atoi(message.substr(message.rfind(' ')).c_str()));
  EXPECT_TRUE(!sleeper || sleeper->wait(10s)) << message;
}

TEST(ProcessTest, InheritsNoDescriptorsAndNoSignalMask) {
  const int low = ::open("/dev/null", O_RDONLY);
  const int leaky = ::fcntl(low, F_DUPFD, 77);
  const std::string in_child = "/proc/$$/fd/" + std::to_string(leaky);
  sigset_t interrupt;
  sigset_t before;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  SpawnOptions program;
  program.argv = {"sh", "-c", "[ -e " + in_child + " ] && echo leaked; exec grep SigBlk /proc/self/status"};
  const auto result = run(program, 10s);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(leaky);
  ::close(low);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->output, "SigBlk:\t0000000000000000\n");
}

}  // namespace
}  // namespace kudos::db
