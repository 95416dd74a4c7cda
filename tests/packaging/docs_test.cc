// Code in docs/embedding.md is taken from the examples: what can't be found there would be code that nobody ran.
#include <sstream>

#include "packaging/packaging_fixture.h"

namespace kudos::testing {
namespace {

std::string without_indentation(const std::string& text) {
  std::istringstream lines(text);
  std::string line, result;
  while (std::getline(lines, line)) {
    line.erase(0, line.find_first_not_of(' '));
    if (!line.empty()) result += line + "\n";
  }
  return result;
}

std::string all_examples() {
  std::string text;
  for (const auto& file : std::filesystem::recursive_directory_iterator(source("examples")))
    if (file.is_regular_file()) text += without_indentation(read_text(file.path()));
  return text;
}

// The fenced blocks, cut where a line holds only "…".
std::vector<std::string> snippets(const std::string& markdown) {
  std::istringstream lines(markdown);
  std::vector<std::string> found;
  bool inside = false;
  std::string line;
  while (std::getline(lines, line)) {
    const bool fence = line.starts_with("```");
    if (fence) inside = !inside;
    if (inside && (fence || line == "…"))
      found.emplace_back();
    else if (inside)
      found.back() += line + "\n";
  }
  return found;
}

TEST(EmbeddingPage, TakesItsCodeFromTheExamples) {
  const auto examples = all_examples();
  const auto blocks = snippets(read_text(source("docs/embedding.md")));
  EXPECT_GE(blocks.size(), 5u);
  for (const auto& block : blocks)
    EXPECT_NE(examples.find(without_indentation(block)), std::string::npos) << "not in examples/:\n" << block;
}

}  // namespace
}  // namespace kudos::testing
