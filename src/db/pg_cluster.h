// One cluster on disk: making it, dealing with what a dead owner left running in it, and the server's command line.
// The steps of `PrivateServer::start`; all need the data directory's lock held.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/pg_binaries.h"
#include "db/private_server_dirs.h"
#include "db/process.h"
#include "kudos/error.h"

namespace kudos::db {

using PgSettings = std::map<std::string, std::string>;

// The PostgreSQL version that made the cluster; none if there is no cluster yet. data_directory if there is something
// else in its place.
Result<std::optional<int>> cluster_major(const PrivateServerDirs& dirs);

// Makes the cluster unless there is one. It appears under its name only when it's complete; remains of an attempt that
// was cut short are removed.
Status ensure_cluster(const PrivateServerDirs& dirs, const PgBinaries& binaries);

// An owner that was killed may leave its server running or still shutting down: that one is told to shut down fast and
// waited for. A pid file whose number meanwhile belongs to another program is removed, since PostgreSQL itself would
// take it for a running server.
Status settle_previous_server(const PrivateServerDirs& dirs);

// Fast shutdown; after 60 seconds an immediate one. False if it still runs 15 seconds later.
bool stop_postmaster(Process& postmaster);

// How to run one of the server's programs for this cluster: account, directory, locale; `argv` and the output still to
// be filled in.
SpawnOptions server_program(const PrivateServerDirs& dirs);

// The command line of `postgres`: our settings, `extra` over them, and over both what makes it private (socket only).
std::vector<std::string> server_command(const PrivateServerDirs& dirs, const PgBinaries& binaries,
                                        const PgSettings& extra);

// What the log says from byte `offset` on about why the server didn't start: the last few lines that complain.
std::string complaints(const std::filesystem::path& log, std::uintmax_t offset);

}  // namespace kudos::db
