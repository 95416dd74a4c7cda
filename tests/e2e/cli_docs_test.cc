// The sessions in docs/concepts/admission.md are run, in order, and must answer what the page says.
#include <fstream>
#include <regex>
#include <sstream>

#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

using CliDocsTest = CliTest;

struct Step {
  std::string command;
  std::string answer;
};

// What stands behind "$ " in fenced blocks, each with the lines that follow it there.
std::vector<Step> read_steps(const std::string& path) {
  std::ifstream in(std::string(KUDOS_SOURCE_DIR) + "/" + path);
  std::vector<Step> steps;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```"))
      inside = !inside;
    else if (inside && line.starts_with("$ "))
      steps.push_back({line.substr(2), ""});
    else if (inside && !steps.empty())
      steps.back().answer += line + "\n";
  }
  return steps;
}

// Times, random ids and numbers of users are another ledger's.
std::string masked(std::string text) {
  text = std::regex_replace(text, std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}Z)"), "TIME");
  text = std::regex_replace(text, std::regex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID");
  text = std::regex_replace(text, std::regex(R"(user +\d+)"), "user N");
  text = std::regex_replace(text, std::regex(R"(folded \d+ events in .*)"), "folded events");
  // The first column of a table, and how far it pushes the others.
  text = std::regex_replace(text, std::regex(R"((^|\n) +)"), "$1");
  return std::regex_replace(text, std::regex(R"((^|\n)\d+ )"), "$1N ");
}

TEST_F(CliDocsTest, AdmissionIsAsThePageSays) {
  const auto steps = read_steps("docs/concepts/admission.md");
  ASSERT_GE(steps.size(), 8U);
  for (const auto& [line, answer] : steps) {
    SCOPED_TRACE(line);
    ProcessOptions options = command({});
    const std::string script = "kudos() { \"$0\" \"$@\" 2>&1; }; " + line;
    options.argv = {"/bin/sh", "-c", script, kudos_binary()};
    const Outcome outcome = run(options);
    const bool refusal = answer.starts_with("kudos: ");
    EXPECT_EQ(outcome.code, refusal ? 1 : 0) << outcome.out;
    const auto cut = answer.find("…");
    const std::string expected = masked(answer.substr(0, cut));
    EXPECT_EQ(masked(outcome.out).substr(0, cut == std::string::npos ? cut : expected.size()), expected);
  }
}

}  // namespace
}  // namespace kudos::testing
