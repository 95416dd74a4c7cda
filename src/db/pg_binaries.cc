#include "db/pg_binaries.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "db/process.h"

namespace kudos::db {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kQueryLimit{20};

std::string env_or_empty(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

int leading_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// What a program prints, or nothing if it can't be run.
std::string output_of(std::vector<std::string> command) {
  SpawnOptions program;
  program.argv = std::move(command);
  const auto answer = run(program, kQueryLimit);
  return answer && answer->status.ok() ? answer->output : std::string{};
}

// "postgres (PostgreSQL) 15.20 (Debian ...)" gives 15, "17beta1" 17; 0 if it isn't understood.
int major_of(const fs::path& postgres) {
  constexpr std::string_view kBefore = "(PostgreSQL) ";
  const std::string version = output_of({postgres, "--version"});
  const std::size_t at = version.find(kBefore);
  return at == std::string::npos ? 0 : leading_number(std::string_view{version}.substr(at + kBefore.size()));
}

std::optional<PgBinaries> inspect(const fs::path& dir) {
  for (const char* program : {"postgres", "initdb"})
    if (::access((dir / program).c_str(), X_OK) != 0) return std::nullopt;
  const int major = major_of(dir / "postgres");
  if (major == 0) return std::nullopt;
  return PgBinaries{dir, major};
}

void add_pg_config(std::vector<fs::path>& dirs) {
  const std::string answer = output_of({"pg_config", "--bindir"});
  if (!answer.empty()) dirs.emplace_back(answer.substr(0, answer.find('\n')));
}

void add_installed(std::vector<fs::path>& dirs) {
  std::vector<std::pair<int, fs::path>> versions;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored))
    versions.emplace_back(leading_number(entry.path().filename().string()), entry.path() / "bin");
  std::ranges::sort(versions, std::ranges::greater{});
  for (auto& [major, dir] : versions) dirs.push_back(std::move(dir));
}

void add_path(std::vector<fs::path>& dirs) {
  std::istringstream path{env_or_empty("PATH")};
  for (std::string dir; std::getline(path, dir, ':');)
    if (dir.starts_with('/')) dirs.emplace_back(dir);
}

std::vector<fs::path> candidates(const std::string& chosen) {
  if (!chosen.empty()) return {chosen};
  std::vector<fs::path> dirs;
  add_pg_config(dirs);
  add_installed(dirs);
  add_path(dirs);
  return dirs;
}

std::unexpected<Error> not_found(const std::string& chosen, std::optional<int> wanted, int newest) {
  const std::string where = chosen.empty() ? "on this machine" : "in KUDOS_PG_BINDIR (" + chosen + ")";
  const std::string elsewhere = ", or name the directory of its programs in KUDOS_PG_BINDIR.";
  if (newest == 0)
    return fail(ErrorCode::server_start_failed, "PostgreSQL's programs `postgres` and `initdb` were not found " + where,
                "Install PostgreSQL 15 or newer" + elsewhere);
  if (newest < kMinimumPgMajor)
    return fail(ErrorCode::server_too_old,
                "PostgreSQL " + std::to_string(newest) + " was found " + where + ", 15 or newer is needed",
                "Install PostgreSQL 15 or newer" + elsewhere);
  const std::string version = std::to_string(wanted.value_or(0));
  return fail(ErrorCode::server_start_failed,
              "the data directory was made by PostgreSQL " + version + ", which was not found " + where +
                  " (found: " + std::to_string(newest) + ")",
              "Install PostgreSQL " + version + elsewhere);
}

}  // namespace

Result<PgBinaries> find_pg_binaries(std::optional<int> cluster_major) {
  const std::string chosen = env_or_empty("KUDOS_PG_BINDIR");
  int newest = 0;
  for (const fs::path& dir : candidates(chosen)) {
    const auto found = inspect(dir);
    if (!found) continue;
    newest = std::max(newest, found->major);
    if (found->major >= kMinimumPgMajor && (!cluster_major || found->major == *cluster_major)) return *found;
  }
  return not_found(chosen, cluster_major, newest);
}

}  // namespace kudos::db
