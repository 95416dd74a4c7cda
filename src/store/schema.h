// What the code must know of the database's schema before it works with it.
#pragma once

#include "db/connection.h"
#include "kudos/error.h"

namespace kudos::store {

// The newest migration that this code knows, and the oldest server that it supports.
inline constexpr int kSchemaVersion = 6;
inline constexpr int kOldestServer = 150000;

// Object ids of the ledger's enum types: binary array parameters name their element type.
struct EnumTypes {
  db::Oid entry_type = 0;
  db::Oid unit = 0;
  db::Oid target = 0;
  db::Oid quarantine_reason = 0;
};

// Refuses a server that is too old (server_too_old), a database without the ledger (schema_missing), a schema that is
// older (schema_too_old) or newer (schema_too_new) than this code.
Status check_schema(db::Connection& connection);

// The refusal of a server older than `kOldestServer`.
Error server_too_old(const db::Connection& connection);

// Needs a checked schema.
Result<EnumTypes> load_enum_types(db::Connection& connection);

}  // namespace kudos::store
