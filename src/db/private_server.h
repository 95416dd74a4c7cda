// A private PostgreSQL server: a cluster of its own in a data directory, for a machine where nobody runs a PostgreSQL.
//
// `start` makes the cluster when there is none, starts `postgres` as a child and waits until it answers. It is reached
// through a Unix socket only, in a directory closed to other accounts; it doesn't listen on the network. Commits are as
// durable as PostgreSQL makes them (fsync, synchronous_commit and full_page_writes are on). Don't use it for a
// server that others administer, nor on a network file system.
//
// Ownership: one PrivateServer owns one data directory, by a lock that ends with the process. When the owner dies,
// SIGKILL included, the server shuts down by itself; the next `start` waits for that, and stops a server it finds still
// running in the directory. PostgreSQL refuses to run as root: then its programs run as an unprivileged account and the
// files are that account's (see private_server_dirs.h).
//
// Thread-safety: one thread at a time. Linux ties a child's life to the *thread* that started it: call `start` on a
// thread that lives as long as the server is needed, e.g. the main one.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <sys/types.h>

#include "kudos/error.h"

namespace kudos::db {

struct PrivateServerOptions {
  std::filesystem::path data_dir;
  std::string database = "kudos";
  // Settings as in postgresql.conf, e.g. {"shared_buffers", "1GB"}. They replace our own, except those that keep the
  // server private: addresses, port, socket and log.
  std::map<std::string, std::string> settings;
  // Recovery after a crash happens before the server answers.
  std::chrono::seconds start_timeout{300};
};

class PrivateServer {
 public:
  // On success the server answers and the database exists. On failure no process is left, the lock is free, and a
  // cluster that existed is as it was.
  //   already_running      another owner has the data directory; names its pid
  //   data_directory       the directory can't be used: someone else's, unreachable, not ours
  //   server_too_old       only a PostgreSQL before 15 is installed
  //   server_start_failed  no PostgreSQL found, or it ended: quotes its log
  static Result<PrivateServer> start(const PrivateServerOptions& options);

  PrivateServer(PrivateServer&&) noexcept;
  PrivateServer& operator=(PrivateServer&&) noexcept;
  ~PrivateServer();  // stops it

  // libpq's keywords for the database, e.g. "host=/var/lib/kudos/socket port=5432 user=kudos dbname=kudos".
  std::string conninfo() const;
  std::filesystem::path log_file() const;
  pid_t pid() const;

  // False once the postmaster has ended for whatever reason. It isn't started again: `stop` (or drop) and `start` anew.
  bool running() const;

  // Fast shutdown: open transactions are rolled back, what was committed stays. After 60 seconds an immediate shutdown
  // (recovery at the next start). The lock is free afterwards. May be called again. Fails (timed_out) if the server
  // can't be stopped at all; then it's still owned and locked.
  Status stop();

 private:
  class Impl;
  explicit PrivateServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// KUDOS_DATA_DIR if set; for root /var/lib/kudos; else $XDG_DATA_HOME/kudos or ~/.local/share/kudos.
std::filesystem::path default_data_dir();

// The conninfo of the private server that another process runs in `data_dir`, after asking whether it answers;
// otherwise database_unavailable. Changes nothing.
Result<std::string> find_running(const std::filesystem::path& data_dir);

}  // namespace kudos::db
