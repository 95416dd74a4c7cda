// The base of the packaging tests: this build installed into a prefix of its own, once for the program, and programs
// run from outside as a user would.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "integration/ledger_test.h"

namespace kudos::testing {

// Runs a program to its end with both outputs in one text. Not starting, or not ending in time, is a failure.
struct Ran {
  int code = -1;
  std::string output;
};
Ran run_program(std::vector<std::string> argv, std::vector<std::string> env = {});

// Expects exit code 0; the output.
std::string expect_success(std::vector<std::string> argv, std::vector<std::string> env = {});

bool has_program(const std::string& name);
std::string read_text(const std::filesystem::path& file);
std::filesystem::path source(const std::string& path);  // below the top of the source tree

class PackagingTest : public LedgerTest {
 protected:
  // Removed at the end of the program.
  static const std::filesystem::path& scratch();
  static const std::filesystem::path& prefix();

  // `text` must hold `parts` in this order.
  static void expect_in_order(const std::string& text, const std::vector<std::string>& parts);
};

}  // namespace kudos::testing
