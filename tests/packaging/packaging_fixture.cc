#include "packaging/packaging_fixture.h"

#include <fstream>
#include <iterator>

#include "db/process.h"

namespace kudos::testing {
namespace {

struct ScratchDirectory {
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "kudos-packaging-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

}  // namespace

Ran run_program(std::vector<std::string> argv, std::vector<std::string> env) {
  auto result = db::run({.argv = std::move(argv), .env = std::move(env)}, std::chrono::minutes(5));
  if (!result) {
    ADD_FAILURE() << result.error().to_string();
    return {};
  }
  return {result->status.code, std::move(result->output)};
}

std::string expect_success(std::vector<std::string> argv, std::vector<std::string> env) {
  const std::string name = argv.front();
  auto ran = run_program(std::move(argv), std::move(env));
  EXPECT_EQ(ran.code, 0) << name << ":\n" << ran.output;
  return std::move(ran.output);
}

bool has_program(const std::string& name) { return run_program({"/bin/sh", "-c", "command -v " + name}).code == 0; }

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream) << file;
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::filesystem::path source(const std::string& path) { return std::filesystem::path(KUDOS_SOURCE_DIR) / path; }

const std::filesystem::path& PackagingTest::scratch() {
  static const ScratchDirectory directory;
  return directory.path;
}

const std::filesystem::path& PackagingTest::prefix() {
  static const std::filesystem::path installed = [] {
    auto path = scratch() / "prefix";
    expect_success({KUDOS_CMAKE, "--install", KUDOS_BUILD_DIR, "--prefix", path});
    return path;
  }();
  return installed;
}

void PackagingTest::expect_in_order(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t at = 0;
  for (const auto& part : parts) {
    const auto found = text.find(part, at);
    EXPECT_NE(found, std::string::npos) << "'" << part << "' is missing, or out of order, in:\n" << text;
    if (found == std::string::npos) return;
    at = found + part.size();
  }
}

}  // namespace kudos::testing
