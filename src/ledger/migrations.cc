#include "ledger/migrations.h"

#include "store/locks.h"
#include "store/schema.h"

namespace kudos::sql {
extern const std::vector<db::SqlFile> migrations;
extern const std::vector<db::SqlFile> functions;
}  // namespace kudos::sql

namespace kudos::ledger {

Result<db::MigrationReport> migrate(db::Connection& connection) {
  if (connection.server_version() < store::kOldestServer) return std::unexpected(store::server_too_old(connection));
  // Some statements name the schema inside a string.
  if (connection.options().schema.find('\'') != std::string::npos)
    return fail(ErrorCode::invalid_request, "the schema's name has a quotation mark");
  const auto keys = store::lock_keys(connection.options().schema);
  // The one function that depends on the schema's name.
  const std::string gate_key =
      "CREATE OR REPLACE FUNCTION kudos_gate_key() RETURNS bigint LANGUAGE sql IMMUTABLE AS "
      "$$ SELECT " +
      std::to_string(keys.mode_gate) + "::bigint $$";
  std::vector<db::SqlFile> functions = {{"00_lock_keys", gate_key}};
  functions.insert(functions.end(), sql::functions.begin(), sql::functions.end());
  return db::migrate(connection, {sql::migrations, functions}, keys.migration);
}

}  // namespace kudos::ledger
