// Finds PostgreSQL's server programs on this machine.
//
// Looked for in this order: the directory in KUDOS_PG_BINDIR (then nothing else is tried), what `pg_config --bindir`
// says, /usr/lib/postgresql/*/bin from the newest down, the directories in PATH.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kudos/error.h"

namespace kudos::db {

inline constexpr int kMinimumPgMajor = 15;

struct PgBinaries {
  std::filesystem::path dir;  // holds `postgres` and `initdb`
  int major = 0;              // e.g. 15

  std::string postgres() const { return dir / "postgres"; }
  std::string initdb() const { return dir / "initdb"; }
};

// The first that can be used: with a `cluster_major` of exactly that version (a cluster is bound to the version that
// made it), else of any version from 15 up. Errors: server_too_old if there are only older ones, else
// server_start_failed.
Result<PgBinaries> find_pg_binaries(std::optional<int> cluster_major);

}  // namespace kudos::db
