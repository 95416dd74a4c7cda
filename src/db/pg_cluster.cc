#include "db/pg_cluster.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/try.h"

namespace kudos::db {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kInitdbLimit = 5min;
constexpr auto kShutdownLimit = 60s;
constexpr auto kQuitLimit = 15s;

std::string first_line(const fs::path& file) {
  std::ifstream in{file};
  std::string line;
  std::getline(in, line);
  return line;
}

// A renamed directory survives a power cut only once its parent is on disk.
void sync_directory(const fs::path& dir) {
  const UniqueFd fd{::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (fd) ::fsync(fd.get());
}

pid_t recorded_pid(const PrivateServerDirs& dirs) {
  const std::string line = first_line(dirs.cluster() / "postmaster.pid");
  return static_cast<pid_t>(std::strtol(line.c_str(), nullptr, 10));
}

// Any process may have got the number: it's ours to stop only if it's a postgres that works in this very directory.
bool is_server_of(pid_t pid, const fs::path& cluster) {
  const fs::path proc = fs::path{"/proc"} / std::to_string(pid);
  std::error_code error;
  const fs::path cwd = fs::read_symlink(proc / "cwd", error);
  if (error || cwd != cluster) return false;
  const fs::path program = fs::read_symlink(proc / "exe", error);
  return !error && program.filename().string().starts_with("postgres");
}

void forget_pid_files(const PrivateServerDirs& dirs) {
  ::unlink((dirs.cluster() / "postmaster.pid").c_str());
  ::unlink((dirs.socket() / ".s.PGSQL.5432.lock").c_str());
}

// lz4 costs next to nothing, but a PostgreSQL may have been built without it.
bool supports_lz4(const PrivateServerDirs& dirs, const PgBinaries& binaries) {
  SpawnOptions probe = server_program(dirs);
  probe.argv = {binaries.postgres(), "-D", dirs.cluster(), "-c", "wal_compression=lz4", "-C", "wal_compression"};
  const auto answer = run(probe, 30s);
  return answer && answer->status.ok();
}

PgSettings standard_settings() {
  return {
      {"fsync", "on"},
      {"synchronous_commit", "on"},
      {"full_page_writes", "on"},
      {"max_connections", "200"},
      {"shared_buffers", "256MB"},
      {"max_wal_size", "2GB"},
      {"checkpoint_timeout", "15min"},
      {"wal_compression", "on"},
      // Tables that are mostly appended to: freeze and analyze little and often, not a fifth of a large table at once.
      {"autovacuum", "on"},
      {"autovacuum_naptime", "15s"},
      {"autovacuum_vacuum_scale_factor", "0.05"},
      {"autovacuum_vacuum_insert_scale_factor", "0.05"},
      {"autovacuum_analyze_scale_factor", "0.02"},
      {"autovacuum_vacuum_cost_limit", "1000"},
  };
}

PgSettings private_settings(const PrivateServerDirs& dirs) {
  return {
      {"listen_addresses", ""},
      {"port", "5432"},
      {"unix_socket_directories", dirs.socket()},
      {"unix_socket_permissions", "0700"},
      {"logging_collector", "off"},
      {"log_destination", "stderr"},
  };
}

bool complains(std::string_view line) {
  for (const std::string_view mark : {"FATAL:", "PANIC:", "ERROR:", "could not ", "HINT:"})
    if (line.contains(mark)) return true;
  return false;
}

}  // namespace

Result<std::optional<int>> cluster_major(const PrivateServerDirs& dirs) {
  std::error_code error;
  if (!fs::exists(dirs.cluster(), error)) return std::nullopt;
  const int major = std::atoi(first_line(dirs.cluster() / "PG_VERSION").c_str());
  if (major > 0) return major;
  return fail(ErrorCode::data_directory, dirs.cluster().string() + " is not a PostgreSQL cluster (no PG_VERSION in it)",
              "Move it away, or choose another data directory.");
}

Status ensure_cluster(const PrivateServerDirs& dirs, const PgBinaries& binaries) {
  std::error_code error;
  fs::remove_all(dirs.staging(), error);
  if (error) return fail(ErrorCode::data_directory, dirs.staging().string() + ": can't be removed: " + error.message());
  if (fs::exists(dirs.cluster(), error)) return {};
  SpawnOptions initdb = server_program(dirs);
  initdb.argv = {binaries.initdb(), "--pgdata",   dirs.staging(),     "--auth=trust",
                 "--encoding=UTF8", "--locale=C", "--username=kudos", "--no-instructions"};
  initdb.death_signal = SIGTERM;
  KUDOS_ASSIGN(const RunResult made, run(initdb, kInitdbLimit));
  if (!made.status.ok())
    return fail(ErrorCode::server_start_failed, "initdb ended with " + made.status.to_string() + ": " + made.output);
  fs::rename(dirs.staging(), dirs.cluster(), error);
  if (error) return fail(ErrorCode::data_directory, dirs.cluster().string() + ": can't be created: " + error.message());
  sync_directory(dirs.data_dir);
  return {};
}

Status settle_previous_server(const PrivateServerDirs& dirs) {
  const pid_t pid = recorded_pid(dirs);
  std::optional<Process> previous = Process::open(pid);
  if (!previous) return {};
  // Asked after opening the handle: from here on the number can't change hands.
  if (!is_server_of(pid, dirs.cluster())) {
    // Between the two steps it may have ended by itself; PostgreSQL deals with the file of a process that's gone.
    if (recorded_pid(dirs) == pid) forget_pid_files(dirs);
    return {};
  }
  if (stop_postmaster(*previous)) return {};
  return fail(ErrorCode::server_start_failed,
              "a server left behind in " + dirs.cluster().string() + " (pid " + std::to_string(pid) + ") doesn't stop");
}

bool stop_postmaster(Process& postmaster) {
  postmaster.signal(SIGINT);
  if (postmaster.wait(kShutdownLimit)) return true;
  postmaster.signal(SIGQUIT);
  return postmaster.wait(kQuitLimit).has_value();
}

SpawnOptions server_program(const PrivateServerDirs& dirs) {
  SpawnOptions options;
  options.env = {"LC_ALL=C"};  // the log is searched for English words
  options.working_dir = dirs.data_dir;
  options.run_as = dirs.account;
  return options;
}

std::vector<std::string> server_command(const PrivateServerDirs& dirs, const PgBinaries& binaries,
                                        const PgSettings& extra) {
  PgSettings settings = standard_settings();
  if (supports_lz4(dirs, binaries)) settings["wal_compression"] = "lz4";
  for (const auto& [name, value] : extra) settings[name] = value;
  for (const auto& [name, value] : private_settings(dirs)) settings[name] = value;
  std::vector<std::string> command = {binaries.postgres(), "-D", dirs.cluster()};
  for (const auto& [name, value] : settings) {
    command.emplace_back("-c");
    command.push_back(name + "=" + value);
  }
  return command;
}

std::string complaints(const fs::path& log, std::uintmax_t offset) {
  std::ifstream in{log};
  in.seekg(static_cast<std::streamoff>(offset));
  constexpr std::size_t kLines = 4;
  std::vector<std::string> kept;
  std::string last;
  for (std::string line; std::getline(in, line);) {
    last = line;
    if (complains(line)) kept.push_back(line);
  }
  if (kept.empty()) return last;
  std::string text;
  for (std::size_t i = kept.size() > kLines ? kept.size() - kLines : 0; i < kept.size(); ++i)
    text.append(text.empty() ? "" : "\n").append(kept[i]);
  return text;
}

}  // namespace kudos::db
