// What needs no ledger: help, wrong command lines, outputs that can't be written.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

using CliUsageTest = CliTest;
using Out = ProcessOptions::Out;

TEST_F(CliUsageTest, EveryCommandHasHelpWithAnExample) {
  const std::vector<Arguments> commands = {{},
                                           {"up"},
                                           {"migrate"},
                                           {"projector"},
                                           {"status"},
                                           {"drain"},
                                           {"mode"},
                                           {"replay"},
                                           {"user"},
                                           {"user", "create"},
                                           {"user", "show"},
                                           {"balance"},
                                           {"topup"},
                                           {"award"},
                                           {"event"},
                                           {"top"},
                                           {"event", "show"},
                                           {"adjust"},
                                           {"opening"},
                                           {"style"},
                                           {"charge"},
                                           {"settle"},
                                           {"reserve"},
                                           {"extend"},
                                           {"capture"},
                                           {"release"},
                                           {"transfer"},
                                           {"holds"},
                                           {"settings"},
                                           {"uptime"},
                                           {"grant"},
                                           {"import"},
                                           {"worker"},
                                           {"worker", "create"},
                                           {"team"},
                                           {"team", "create"},
                                           {"user", "erase"}};
  for (Arguments arguments : commands) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    arguments.push_back("--help");
    const Outcome help = kudos(arguments);
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_NE(help.out.find("Example"), std::string::npos) << help.out;
    EXPECT_NE(help.out.find("  kudos "), std::string::npos) << help.out;
    EXPECT_NE(help.out.find("--database-url"), std::string::npos) << help.out;
  }
}

TEST_F(CliUsageTest, WrongCommandLines) {
  const struct {
    Arguments arguments;
    std::string what;
  } cases[] = {
      {{}, "a command is missing"},
      {{"frobnicate"}, "there is no command 'frobnicate'"},
      {{"user"}, "a command is missing; kudos user has create, show, erase"},
      {{"user", "frobnicate"}, "there is no command 'frobnicate'"},
      {{"balance"}, "user is required"},
      {{"topup", "ext:a"}, "amount is required"},
      {{"topup", "ext:a", "1", "2"}, "2"},
      {{"balance", "--frobnicate"}, "there is no option --frobnicate"},
      {{"top", "planets"}, "planets not in"},
      {{"top", "users", "--limit", "0"}, "--limit"},
      {{"mode", "both"}, "both not in"},
      {{"drain", "--timeout", "soon"}, "'soon' is not a time"},
      {{"up", "--for", "0s"}, "'0s' is not a time above 0"},
      {{"up", "--for", "99999999999999999999h"}, "is not a time"},
      {{"up", "--rate", "0"}, "--rate"},
      {{"user", "create", "a", "--id", "-1"}, "--id"},
      {{"user", "create", "a", "--id", "99999999999"}, "--id"},
      {{"user", "create", "a", "--floor="}, "--floor"},
      {{"adjust", "ext:a"}, "amount is required"},
      {{"adjust", "ext:a", "-x"}, "there is no option -x"},
      {{"topup", "ext:a", "1", "--reason", "x"}, "not expected: x --reason"},
      {{"opening", "ext:a", "1", "--type", "x"}, "not expected: x --type"},
      {{"settle", "--requester", "ext:a", "--cost", "1"}, "--worker is required"},
      {{"settle", "--requester", "ext:a", "--worker", "w", "--cost", "1", "--outcome", "lost"}, "lost not in"},
      {{"grant", "ext:a", "--key", "k"}, "not expected: k --key"},
      {{"worker", "create", "w"}, "--owner is required"},
      {{"team"}, "a command is missing; kudos team has create"},
      {{"import"}, "file is required"},
      {{"replay", "f"}, "--format is required"},
      {{"replay", "f", "--format", "excel"}, "excel not in"},
      {{"replay", "f", "--format", "servegen", "--one-in", "0"}, "--one-in"},
  };
  for (const auto& each : cases) expect_usage(each.arguments, each.what);
}

// Nearly always a variable that a script forgot to set: not a way to say "no key" or "the other database".
TEST_F(CliUsageTest, EmptyValuesAreRefused) {
  for (const Arguments& arguments : std::vector<Arguments>{{"topup", "ext:a", "1", "--key", ""},
                                                           {"topup", "ext:a", "1", "--metadata", ""},
                                                           {"adjust", "ext:a", "1", "--reason", ""},
                                                           {"charge", "ext:a", "1", "--to", ""},
                                                           {"grant", "ext:a", "--monthly", ""},
                                                           {"team", "create", "t", "--owner", "1", "--id", ""},
                                                           {"import", ""},
                                                           {"replay", "", "--format", "slurm"},
                                                           {"status", "--database-url", ""},
                                                           {"status", "--data-dir", ""},
                                                           {"status", "--schema", ""}})
    expect_usage(arguments, "the value is empty");
}

TEST_F(CliUsageTest, BytesThatAreNotUtf8AreRefused) {
  for (const Arguments& arguments : std::vector<Arguments>{{"user", "create", "\xFF\xFE"},
                                                           {"user", "show", "ext:\xFF"},
                                                           {"balance", "\xFF"},
                                                           {"topup", "ext:\xC3", "1"},
                                                           {"topup", "ext:a", "1", "--key", "\xED\xA0\x80"},
                                                           {"status", "--schema", "\xFF"}})
    expect_usage(arguments, "not valid UTF-8");
}

TEST_F(CliUsageTest, TwoDatabasesAtOnceAreRefused) {
  expect_usage({"status", "--data-dir", "/x", "--database-url", "postgresql:///x"}, "excludes");
}

TEST_F(CliUsageTest, NoEscapeSequenceReachesTheTerminal) {
  const Outcome outcome = kudos({"balance", "\033[2J"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err.find('\033'), std::string::npos);
}

TEST_F(CliUsageTest, VersionIsPrinted) {
  const Outcome outcome = kudos({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.starts_with("kudos "));
}

// `kudos top users | head -1`: the reader has seen enough, nothing failed.
TEST_F(CliUsageTest, AReaderThatLeavesIsNoFailure) {
  for (const Arguments& arguments : std::vector<Arguments>{{"top", "users"}, {"status", "--json"}, {"--help"}}) {
    auto options = command(arguments);
    options.out = Out::broken_pipe;
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_F(CliUsageTest, AFullDiskIsAFailure) {
  for (const Arguments& arguments : std::vector<Arguments>{{"top", "users"}, {"status", "--json"}}) {
    auto options = command(arguments);
    options.out = Out::full_disk;
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("the output can't be written"), std::string::npos) << outcome.err;
  }
}

// Else the connection to PostgreSQL would get the number of stdout, and the table with it.
TEST_F(CliUsageTest, AClosedOutputDisturbsNothing) {
  auto options = command({"top", "users"});
  options.out = Out::closed;
  const Outcome outcome = run(options);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(CliUsageTest, WatchEndsWithItsReaderAndOnSignals) {
  auto options = command({"status", "--watch"});
  options.out = Out::broken_pipe;
  EXPECT_EQ(run(options).code, 0);
  Background watch(command({"status", "--watch"}));
  ASSERT_TRUE(watch.wait_for_output("mode ledger"));
  watch.signal(SIGINT);
  EXPECT_EQ(watch.finish().code, 0);
}

}  // namespace
}  // namespace kudos::testing
