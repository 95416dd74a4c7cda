// The base of the command line's tests: one `kudos up` for the program, which all tests share. Each test names its
// users and files itself.
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "e2e/cli_process.h"

namespace kudos::testing {

using Arguments = std::vector<std::string>;

std::string kudos_binary();

// A new directory below /tmp that other accounts may pass through; removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory();
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  // Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

class CliTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server(); }

  struct Server {
    Server();
    ~Server();
    std::string data_dir() const { return (directory / "data").string(); }
    std::string conninfo() const;  // of the database in it
    ScratchDirectory directory;
    Background up;
  };
  static Server& server();

  // `kudos` with these arguments, on the shared server.
  static Outcome kudos(const Arguments& arguments);
  static ProcessOptions command(const Arguments& arguments);
  // It must succeed; what it answered.
  static boost::json::value json(Arguments arguments);
  // Exit status 1 with that stable error name, plain and as JSON, and nothing on stdout.
  static void expect_refused(const Arguments& arguments, const std::string& name);
  // Exit status 2, `what` on stderr, and nothing on stdout.
  static void expect_usage(const Arguments& arguments, const std::string& what);

  // Folds everything; then the field "kudos" (or another) of the user's balance.
  static std::string balance(const std::string& user, const std::string& field = "kudos");
  static void create(const std::string& name);
  // Creates a user with that balance, folded.
  static void create_funded(const std::string& name, const std::string& kudos);
  // What the user may spend now; nothing is folded for it.
  static std::string available(const std::string& user);
  // The holds under a business id, the newest first.
  static boost::json::array holds(const std::string& id);
  // Creates a worker (or team) of that owner; its id.
  static std::string create_worker(const std::string& name, const std::string& owner, Arguments more = {});
  static std::string create_team(const std::string& name, const std::string& owner);
  // The entry of a leaderboard by id; fails the test when it isn't there.
  static boost::json::object leader(const std::string& board, const std::string& id);
  // Runs SQL in the ledger's database, as its owner.
  static void sql(const std::string& script);

  ScratchDirectory files_;
};

}  // namespace kudos::testing
