// The examples, built and run as their readers do: against the installed package, in a database prepared by an
// operator.
#include "db/pg_binaries.h"
#include "packaging/packaging_fixture.h"

namespace kudos::testing {
namespace {

constexpr const char* kDebianPython = "/usr/bin/python3";

class ExamplesTest : public PackagingTest {
 protected:
  static std::string pkg_config_path() { return "PKG_CONFIG_PATH=" + (prefix() / KUDOS_LIBDIR / "pkgconfig").string(); }
  static bool sanitized() { return std::string_view(KUDOS_CXX_FLAGS).find("-fsanitize") != std::string_view::npos; }

  // alice pays, bob's machine works; and the projector folds afterwards what the example emitted.
  static Uuid prepare_accounts() {
    make_user("alice");
    make_user("bob", "standard", true);
    emit_and_commit(top_up("alice", 100));
    return make_worker("bob's machine", "bob");
  }

  // Two jobs at 12.00 are committed by the C++ example in the end: the first, and three at once with one refused.
  static void expect_what_cpp_does(const std::filesystem::path& program) {
    prepare_accounts();
    const auto output = expect_success({program, server().conninfo()});
    expect_in_order(output, {"committed: job ", "remains: 1 row in jobs, 1 event", "again with the same key: replayed",
                             "remains: 1 row in jobs, 1 event", "rolled back: job ", "remains: 0 row in jobs, 0 event",
                             "three at once:", "  stored\n", "  unknown_worker: ", "  stored\n"});
    EXPECT_EQ(ask("SELECT count(*) FROM jobs"), "1");
    EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE job_id IS NOT NULL"), "3");
    EXPECT_EQ(ask("SELECT count(*) FROM jobs j JOIN kudos_events e ON e.job_id = j.id"), "1");
    fold_all();
    EXPECT_EQ(balance("alice"), "64.00");
    EXPECT_EQ(balance("bob"), "36.00");
  }

  static void expect_what_stream_does(const std::filesystem::path& program) {
    prepare_accounts();
    fold_all();
    const auto output = expect_success({program, server().conninfo()});
    expect_in_order(output, {"alice has 90.00 available", "extended: 20.00", "extended: 30.00", "charged: 37.00",
                             "charged: 37.00", "alice has 63.00 available"});
    EXPECT_NE(output.find("charged: 37.00, replayed"), std::string::npos) << output;
    fold_all();
    EXPECT_EQ(balance("alice"), "63.00");
  }
};

TEST_F(ExamplesTest, CppWithFindPackage) {
  const auto build = scratch() / "cpp";
  expect_success({KUDOS_CMAKE, "-S", source("examples/cpp"), "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix().string(),
                  std::string("-DCMAKE_CXX_COMPILER=") + KUDOS_CXX_COMPILER,
                  std::string("-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror ") + KUDOS_CXX_FLAGS});
  expect_success({KUDOS_CMAKE, "--build", build});
  expect_what_cpp_does(build / "settle");
  server().fresh_database();
  expect_what_stream_does(build / "stream");
}

TEST_F(ExamplesTest, CppWithPkgConfigAndGcc) {
  if (sanitized()) GTEST_SKIP() << "g++ can't link archives that clang's sanitizers are in";
  if (!has_program("g++")) GTEST_SKIP() << "g++ isn't installed";
  const std::string line = "g++ -std=c++23 main.cc -o settle $(pkg-config --cflags --libs kudos)";
  EXPECT_NE(read_text(source("examples/cpp/README.md")).find(line), std::string::npos) << "the README says otherwise";
  const auto build = scratch() / "gcc";
  std::filesystem::create_directory(build);
  std::filesystem::copy_file(source("examples/cpp/main.cc"), build / "main.cc");
  expect_success({"/bin/sh", "-c", "cd '" + build.string() + "' && " + line}, {pkg_config_path()});
  expect_what_cpp_does(build / "settle");
}

TEST_F(ExamplesTest, CppSaysWhatIsWrong) {
  const auto build = scratch() / "cpp";
  if (!std::filesystem::exists(build / "settle")) GTEST_SKIP() << "it wasn't built";
  const auto ran = run_program({build / "settle", "host=/nonexistent"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.output.find("database_unavailable: "), std::string::npos) << ran.output;
}

TEST_F(ExamplesTest, Psql) {
  const auto worker = prepare_accounts();
  const auto psql = must(db::find_pg_binaries({})).dir / "psql";
  const auto output = expect_success({psql, "-X", server().conninfo(), "-v", "requester=ext:alice", "-v",
                                      "worker=" + worker.to_string(), "-f", source("examples/psql/settle.sql")});
  expect_in_order(output, {"settled: event ", "replayed false", "again: event ", "replayed true", "refused: KD",
                           "amount_too_precise: ", "settled after the refusal: event ", "replayed false",
                           "remains of the first job: 1 row, 1 event", "remains of the second job: 1 row, 1 event",
                           "remains of the third job: 0 row, 0 event"});
  EXPECT_EQ(ask("SELECT count(*) FROM jobs j JOIN kudos_events e ON e.job_id = j.id"), "2");
  fold_all();
  EXPECT_EQ(balance("alice"), "86.77");
  EXPECT_EQ(balance("bob"), "13.23");
}

TEST_F(ExamplesTest, Python) {
  if (run_program({kDebianPython, "-c", "import psycopg2"}).code != 0)
    GTEST_SKIP() << "no psycopg2 for " << kDebianPython << ": apt-get install python3-psycopg2";
  const auto worker = prepare_accounts();
  const auto output = expect_success({kDebianPython, "-B", source("examples/python/service.py"), server().conninfo(),
                                      "ext:alice", worker.to_string()});
  expect_in_order(output, {": event ", ": event ", ", replayed", "refused: unknown_user: ", ": still running"});
  EXPECT_EQ(ask("SELECT count(*) FROM jobs j JOIN kudos_events e ON e.job_id = j.id WHERE state = 'done'"), "1");
  EXPECT_EQ(ask("SELECT count(*) FROM jobs WHERE state = 'running'"), "1");
  fold_all();
  EXPECT_EQ(balance("alice"), "88.00");
  EXPECT_EQ(balance("bob"), "12.00");
}

}  // namespace
}  // namespace kudos::testing
