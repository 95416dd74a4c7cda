#include "db/private_server.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <libpq-fe.h>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "db/pg_binaries.h"
#include "db/pg_cluster.h"
#include "db/private_server_dirs.h"
#include "db/process.h"

namespace kudos::db {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPingInterval = 20ms;
// How long backends of a crashed postmaster may take to notice and to let go of its shared memory.
constexpr auto kSharedMemoryLimit = 30s;

constexpr const char* kDatabaseExists = "SELECT 1 FROM pg_catalog.pg_database WHERE datname = $1";

std::string quote_value(std::string_view value) {
  constexpr std::string_view kSpecial = " \t\n\r\v\f'\\";
  if (!value.empty() && value.find_first_of(kSpecial) == std::string_view::npos) return std::string{value};
  std::string text = "'";
  for (const char byte : value) {
    if (byte == '\'' || byte == '\\') text += '\\';
    text += byte;
  }
  return text + "'";
}

std::string conninfo_for(const PrivateServerDirs& dirs, std::string_view database) {
  return "host=" + quote_value(dirs.socket().native()) + " port=5432 user=kudos dbname=" + quote_value(database);
}

std::uintmax_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

struct Connection {
  explicit Connection(const std::string& conninfo) : handle(PQconnectdb(conninfo.c_str())) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { PQfinish(handle); }
  std::unexpected<Error> failure(const char* statement) const {
    std::string_view message = PQerrorMessage(handle);
    while (message.ends_with('\n')) message.remove_suffix(1);
    return fail(ErrorCode::server_start_failed, std::string{statement} + ": " + std::string{message});
  }
  PGconn* handle;
};

struct QueryResult {
  explicit QueryResult(PGresult* result) : handle(result) {}
  QueryResult(const QueryResult&) = delete;
  QueryResult& operator=(const QueryResult&) = delete;
  ~QueryResult() { PQclear(handle); }
  PGresult* handle;
};

Status create_database(const Connection& connection, const std::string& database) {
  char* const name = PQescapeIdentifier(connection.handle, database.c_str(), database.size());
  if (name == nullptr) return connection.failure("create_database");
  const std::string statement = std::string{"CREATE DATABASE "} + name;
  PQfreemem(name);
  const QueryResult created{PQexec(connection.handle, statement.c_str())};
  if (PQresultStatus(created.handle) != PGRES_COMMAND_OK) return connection.failure("create_database");
  return {};
}

Status ensure_database(const PrivateServerDirs& dirs, const std::string& database) {
  const Connection connection{conninfo_for(dirs, "postgres") + " connect_timeout=10"};
  if (PQstatus(connection.handle) != CONNECTION_OK) return connection.failure("connect");
  const char* const value = database.c_str();
  const QueryResult found{PQexecParams(connection.handle, kDatabaseExists, 1, nullptr, &value, nullptr, nullptr, 0)};
  if (PQresultStatus(found.handle) != PGRES_TUPLES_OK) return connection.failure("database_exists");
  return PQntuples(found.handle) == 1 ? Status{} : create_database(connection, database);
}

}  // namespace

class PrivateServer::Impl {
 public:
  Impl(PrivateServerOptions options, PrivateServerDirs dirs, UniqueFd lock)
      : options_(std::move(options)), dirs_(std::move(dirs)), lock_(std::move(lock)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { static_cast<void>(stop()); }

  Status start();
  Status stop();
  std::string conninfo() const { return conninfo_for(dirs_, options_.database); }
  fs::path log_file() const { return dirs_.log(); }
  const std::optional<Process>& postmaster() const { return postmaster_; }

 private:
  Status start_postmaster(const std::vector<std::string>& command);
  Status wait_until_ready(std::uintmax_t log_offset);
  std::unexpected<Error> ended(ExitStatus status, std::uintmax_t log_offset) const;

  PrivateServerOptions options_;
  PrivateServerDirs dirs_;
  UniqueFd lock_;
  std::optional<Process> postmaster_;
};

Status PrivateServer::Impl::start() {
  ::unlink(dirs_.connection().c_str());  // of an owner that was killed
  KUDOS_ASSIGN(const std::optional<int> major, cluster_major(dirs_));
  KUDOS_ASSIGN(const PgBinaries binaries, find_pg_binaries(major));
  KUDOS_TRY(prepare_socket_dir(dirs_));
  KUDOS_TRY(settle_previous_server(dirs_));
  KUDOS_TRY(ensure_cluster(dirs_, binaries));
  KUDOS_TRY(start_postmaster(server_command(dirs_, binaries, options_.settings)));
  KUDOS_TRY(ensure_database(dirs_, options_.database));
  return write_file_atomically(dirs_, dirs_.connection(), conninfo() + "\n");
}

Status PrivateServer::Impl::start_postmaster(const std::vector<std::string>& command) {
  SpawnOptions program = server_program(dirs_);
  program.argv = command;
  program.output_file = dirs_.log();
  program.death_signal = SIGINT;
  const auto give_up = Clock::now() + kSharedMemoryLimit;
  for (;;) {
    const std::uintmax_t log_offset = size_of(dirs_.log());
    KUDOS_ASSIGN(postmaster_, Process::spawn(program));
    Status ready = wait_until_ready(log_offset);
    if (ready || Clock::now() >= give_up || !ready.error().message.contains("pre-existing shared memory block"))
      return ready;
    // Nothing announces the end of another postmaster's backends.
    ::usleep(200'000);
  }
}

Status PrivateServer::Impl::wait_until_ready(std::uintmax_t log_offset) {
  const std::string conninfo = conninfo_for(dirs_, "postgres") + " connect_timeout=5";
  const auto give_up = Clock::now() + options_.start_timeout;
  while (PQping(conninfo.c_str()) != PQPING_OK) {
    if (const auto status = postmaster_->wait(kPingInterval)) return ended(*status, log_offset);
    if (Clock::now() >= give_up)
      return fail(ErrorCode::server_start_failed,
                  "PostgreSQL didn't answer within " + std::to_string(options_.start_timeout.count()) + " s",
                  "See " + dirs_.log().string() + "; after a crash, recovery may need a longer time.");
  }
  return {};
}

std::unexpected<Error> PrivateServer::Impl::ended(ExitStatus status, std::uintmax_t log_offset) const {
  return fail(ErrorCode::server_start_failed,
              "PostgreSQL ended with " + status.to_string() + " while starting: " + complaints(dirs_.log(), log_offset),
              "See " + dirs_.log().string() + ".");
}

Status PrivateServer::Impl::stop() {
  if (!lock_) return {};
  ::unlink(dirs_.connection().c_str());
  if (postmaster_ && !stop_postmaster(*postmaster_))
    return fail(ErrorCode::timed_out, "PostgreSQL (pid " + std::to_string(postmaster_->pid()) + ") doesn't stop",
                "See " + dirs_.log().string() + ".");
  if (dirs_.socket_elsewhere()) ::rmdir(dirs_.socket().c_str());
  lock_.reset();
  return {};
}

PrivateServer::PrivateServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PrivateServer::PrivateServer(PrivateServer&&) noexcept = default;
PrivateServer& PrivateServer::operator=(PrivateServer&&) noexcept = default;
PrivateServer::~PrivateServer() = default;

Result<PrivateServer> PrivateServer::start(const PrivateServerOptions& options) {
  KUDOS_ASSIGN(PrivateServerDirs dirs, prepare_data_dir(options.data_dir));
  KUDOS_ASSIGN(UniqueFd lock, lock_data_dir(dirs));
  auto impl = std::make_unique<Impl>(options, std::move(dirs), std::move(lock));
  KUDOS_TRY(impl->start());
  return PrivateServer{std::move(impl)};
}

std::string PrivateServer::conninfo() const {
  KUDOS_CHECK(impl_ != nullptr);
  return impl_->conninfo();
}

fs::path PrivateServer::log_file() const {
  KUDOS_CHECK(impl_ != nullptr);
  return impl_->log_file();
}

pid_t PrivateServer::pid() const {
  KUDOS_CHECK(impl_ != nullptr && impl_->postmaster());
  return impl_->postmaster()->pid();
}

bool PrivateServer::running() const { return impl_ != nullptr && impl_->postmaster()->running(); }

Status PrivateServer::stop() { return impl_ == nullptr ? Status{} : impl_->stop(); }

fs::path default_data_dir() {
  const auto from_env = [](const char* name) {
    const char* const value = std::getenv(name);
    return fs::path{value == nullptr ? "" : value};
  };
  if (fs::path chosen = from_env("KUDOS_DATA_DIR"); !chosen.empty()) return chosen;
  if (::geteuid() == 0) return "/var/lib/kudos";
  if (const fs::path xdg = from_env("XDG_DATA_HOME"); xdg.is_absolute()) return xdg / "kudos";
  fs::path home = from_env("HOME");
  if (const passwd* entry = home.empty() ? ::getpwuid(::geteuid()) : nullptr) home = entry->pw_dir;
  return home / ".local/share/kudos";
}

Result<std::string> find_running(const fs::path& data_dir) {
  const fs::path file = data_dir / "connection";
  if (::access(file.c_str(), R_OK) != 0 && errno == EACCES)
    return fail(ErrorCode::database_unavailable, file.string() + " can't be read: permission denied",
                "Run this as the account that runs the private server, or give --database-url.");
  std::ifstream in{file};
  std::string conninfo;
  if (std::getline(in, conninfo) && PQping((conninfo + " connect_timeout=5").c_str()) == PQPING_OK) return conninfo;
  return fail(ErrorCode::database_unavailable, "no private server is running in " + data_dir.string(),
              "Start one with `kudos up --data-dir " + data_dir.string() + "` or give --database-url.");
}

}  // namespace kudos::db
