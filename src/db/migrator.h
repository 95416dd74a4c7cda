// Versioned, forward-only migrations: files named NNNN_verb_noun, applied in order, each once, all that are missing in
// one transaction under an advisory lock. Running it twice, or from two processes at once, has one effect.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/connection.h"

namespace kudos::db {

struct SqlFile {
  std::string_view name;  // "0001_create_ledger"
  std::string_view sql;   // @schema@ is replaced; runs with search_path set to the schema
};

// What `migrate` applies.
struct SqlFiles {
  std::span<const SqlFile> migrations;  // each once, in the order of their versions
  std::span<const SqlFile> functions;   // CREATE OR REPLACE: all again, in order, whenever one has changed
};

struct MigrationReport {
  int from_version = 0;
  int to_version = 0;
  std::vector<std::string> applied;  // names of migrations, in order
  bool functions_replaced = false;
};

// Creates the schema when it is missing. Refuses a database whose version is beyond the last file (schema_too_new).
// Leaves nothing behind on failure.
Result<MigrationReport> migrate(Connection& connection, const SqlFiles& files, std::int64_t lock_key);

}  // namespace kudos::db
