#include "e2e/cli_fixture.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

#include "db/connection.h"

namespace kudos::testing {

std::string kudos_binary() {
  const char* path = std::getenv("KUDOS_BINARY");
  if (path == nullptr) {
    std::fputs("KUDOS_BINARY must name the program to test\n", stderr);
    std::abort();
  }
  return path;
}

ScratchDirectory::ScratchDirectory() {
  std::string path = "/tmp/kudos-e2e-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr || ::chmod(path.c_str(), 0755) != 0) std::abort();
  path_ = path;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchDirectory::write(const std::string& name, const std::string& content) const {
  std::ofstream(path_ / name, std::ios::binary) << content;
  return (path_ / name).string();
}

CliTest::Server::Server()
    : up({.argv = {kudos_binary(), "up", "--data-dir", data_dir()}, .env = {}, .limit = std::chrono::minutes(10)}) {
  if (up.wait_for_error_text("stop with Ctrl-C")) return;
  std::fprintf(stderr, "kudos up: %s\n", up.finish().err.c_str());
  std::abort();
}

CliTest::Server::~Server() {
  up.signal(SIGTERM);
  up.finish();
}

std::string CliTest::Server::conninfo() const {
  std::ifstream in(directory / "data/connection");
  std::string line;
  std::getline(in, line);
  return line;
}

CliTest::Server& CliTest::server() {
  static Server server;
  return server;
}

ProcessOptions CliTest::command(const Arguments& arguments) {
  ProcessOptions options;
  options.argv = {kudos_binary()};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.env = {"KUDOS_DATA_DIR=" + server().data_dir()};
  return options;
}

Outcome CliTest::kudos(const Arguments& arguments) { return run(command(arguments)); }

boost::json::value CliTest::json(Arguments arguments) {
  arguments.insert(arguments.begin(), "--json");
  const Outcome outcome = kudos(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  boost::system::error_code bad;
  auto value = boost::json::parse(outcome.out, bad);
  EXPECT_FALSE(bad) << outcome.out;
  return value;
}

void CliTest::expect_refused(const Arguments& arguments, const std::string& name) {
  SCOPED_TRACE(::testing::PrintToString(arguments));
  const Outcome plain = kudos(arguments);
  EXPECT_EQ(plain.code, 1);
  EXPECT_NE(plain.err.find("kudos: " + name + ": "), std::string::npos) << plain.err;
  EXPECT_EQ(plain.out, "");
  Arguments with_json = arguments;
  with_json.insert(with_json.begin(), "--json");
  const Outcome for_programs = kudos(with_json);
  EXPECT_EQ(for_programs.code, 1);
  boost::system::error_code bad;
  const auto error = boost::json::parse(for_programs.err, bad);
  ASSERT_FALSE(bad) << for_programs.err;
  EXPECT_EQ(error.at("error").at("name").as_string(), name);
}

void CliTest::expect_usage(const Arguments& arguments, const std::string& what) {
  SCOPED_TRACE(::testing::PrintToString(arguments));
  const Outcome outcome = kudos(arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(outcome.err.starts_with("kudos: usage: ")) << outcome.err;
  EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

std::string CliTest::balance(const std::string& user, const std::string& field) {
  EXPECT_EQ(kudos({"drain"}).code, 0);
  const auto value = json({"balance", user});
  return std::string(value.at(field).as_string());
}

void CliTest::create(const std::string& name) {
  const Outcome outcome = kudos({"user", "create", name});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
}

void CliTest::create_funded(const std::string& name, const std::string& kudos) {
  create(name);
  ASSERT_EQ(CliTest::kudos({"topup", "ext:" + name, kudos}).code, 0);
  ASSERT_EQ(CliTest::kudos({"drain"}).code, 0);
}

std::string CliTest::available(const std::string& user) {
  return std::string(json({"balance", user}).at("available").as_string());
}

boost::json::array CliTest::holds(const std::string& id) { return json({"holds", "--id", id}).as_array(); }

std::string CliTest::create_worker(const std::string& name, const std::string& owner, Arguments more) {
  more.insert(more.begin(), {"worker", "create", name, "--owner", owner});
  return std::string(json(more).at("worker_id").as_string());
}

std::string CliTest::create_team(const std::string& name, const std::string& owner) {
  return std::string(json({"team", "create", name, "--owner", owner}).at("team_id").as_string());
}

boost::json::object CliTest::leader(const std::string& board, const std::string& id) {
  EXPECT_EQ(kudos({"drain"}).code, 0);
  for (const auto& entry : json({"top", board, "--limit", "1000"}).as_array())
    if (entry.at("id").as_string() == id) return entry.as_object();
  ADD_FAILURE() << board << " has no " << id;
  return {{"kudos", ""}, {"contributions", ""}, {"fulfilments", ""}};
}

void CliTest::sql(const std::string& script) {
  auto connection = db::Connection::open(server().conninfo());
  ASSERT_TRUE(connection.has_value()) << connection.error().to_string();
  const auto status = connection->run_script(script);
  ASSERT_TRUE(status.has_value()) << status.error().to_string();
}

}  // namespace kudos::testing
