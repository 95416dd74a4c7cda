#include "ledger/migrations.h"

#include "store/locks.h"
#include "store/schema.h"

namespace kudos::sql {
extern const std::vector<db::SqlFile> migrations;
extern const std::vector<db::SqlFile> functions;
}  // namespace kudos::sql

namespace kudos::ledger {
namespace {

std::string constant(std::string_view function, std::string_view type, std::int64_t value) {
  return "CREATE OR REPLACE FUNCTION " + std::string(function) + "() RETURNS " + std::string(type) +
         " LANGUAGE sql IMMUTABLE AS $$ SELECT (" + std::to_string(value) + ")::" + std::string(type) + " $$;\n";
}

// The functions that depend on the schema's name.
std::string lock_key_functions(const store::LockKeys& keys) {
  return constant("kudos_gate_key", "bigint", keys.mode_gate) +
         constant("kudos_payer_namespace", "integer", keys.payer_namespace) +
         constant("kudos_pair_namespace", "integer", keys.pair_namespace);
}

}  // namespace

Result<db::MigrationReport> migrate(db::Connection& connection) {
  if (connection.server_version() < store::kOldestServer) return std::unexpected(store::server_too_old(connection));
  // Some statements name the schema inside a string.
  if (connection.options().schema.find('\'') != std::string::npos)
    return fail(ErrorCode::invalid_request, "the schema's name has a quotation mark");
  const auto keys = store::lock_keys(connection.options().schema);
  const std::string lock_keys = lock_key_functions(keys);
  std::vector<db::SqlFile> functions = {{"00_lock_keys", lock_keys}};
  functions.insert(functions.end(), sql::functions.begin(), sql::functions.end());
  return db::migrate(connection, {sql::migrations, functions}, keys.migration);
}

}  // namespace kudos::ledger
