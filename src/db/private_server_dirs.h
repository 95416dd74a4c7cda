// The directories of a private server: where its files lie, which account they belong to, and the lock that keeps a
// second owner out.
//
//   DATA_DIR/                0700, of the account that runs PostgreSQL
//     kudos.lock             flock'ed by the owner for as long as it lives; holds its pid
//     connection             libpq's keywords, there while the server can be used
//     postgres/              the cluster
//     postgres.initdb/       a cluster being made; never used, removed by the next start
//     postgres.log
//     socket/                0700; or a directory in /tmp where the path would be too long for a socket
//
// Thread-safety: plain values and functions without shared state.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "db/process.h"
#include "kudos/error.h"

namespace kudos::db {

struct PrivateServerDirs {
  std::filesystem::path data_dir;   // canonical
  std::optional<Identity> account;  // set when we're root, which PostgreSQL refuses to run as

  std::filesystem::path lock() const { return data_dir / "kudos.lock"; }
  std::filesystem::path connection() const { return data_dir / "connection"; }
  std::filesystem::path cluster() const { return data_dir / "postgres"; }
  std::filesystem::path staging() const { return data_dir / "postgres.initdb"; }
  std::filesystem::path log() const { return data_dir / "postgres.log"; }
  std::filesystem::path socket() const;
  bool socket_elsewhere() const;  // not below data_dir
};

// Creates the data directory if needed and settles the account: ourselves, or if we're root the first of: the owner of
// the cluster, the owner of the data directory, `postgres`, `nobody`. Root hands an empty directory of its own to the
// account. A directory of someone else's, one the account can't reach, or one with foreign contents is refused
// (data_directory) and left as it is.
Result<PrivateServerDirs> prepare_data_dir(const std::filesystem::path& data_dir);

// Creates the socket's directory. One that exists must be the account's and closed to all others (data_directory): in
// /tmp anybody could have put it there. Call it with the lock held.
Status prepare_socket_dir(const PrivateServerDirs& dirs);

// Takes the lock, without waiting, until the descriptor is closed; already_running names the holder.
Result<UniqueFd> lock_data_dir(const PrivateServerDirs& dirs);

// Readers see the old file or the whole new one. Mode 0600, of the account.
Status write_file_atomically(const PrivateServerDirs& dirs, const std::filesystem::path& file, const std::string& text);

}  // namespace kudos::db
