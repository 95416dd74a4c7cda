#include "store/schema.h"

#include <string>

#include "base/try.h"

namespace kudos::store {
namespace {

constexpr db::Statement kHasMigrations{"has_migrations",
                                       "SELECT to_regclass(quote_ident($1::text) || '.kudos_migrations') IS NOT NULL"};
constexpr db::Statement kSchemaVersionOf{"schema_version",
                                         "SELECT coalesce(max(version), 0) FROM @schema@.kudos_migrations"};
constexpr db::Statement kEnumTypes{"enum_types", R"(
SELECT t.typname::text, t.oid::bigint FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname = $1::text
  AND t.typname IN ('kudos_entry_type', 'kudos_unit', 'kudos_target', 'kudos_quarantine_reason'))"};

}  // namespace

Error server_too_old(const db::Connection& connection) {
  const int major = connection.server_version() / 10000;
  return {ErrorCode::server_too_old,
          "the server is PostgreSQL " + std::to_string(major) + "; 15 is the oldest supported",
          "Upgrade the server, or use the private one: `kudos up`.",
          {},
          {},
          Recovery::none};
}

Status check_schema(db::Connection& connection) {
  if (connection.server_version() < kOldestServer) return std::unexpected(server_too_old(connection));
  const std::string& schema = connection.options().schema;
  KUDOS_ASSIGN(const auto present, connection.execute(kHasMigrations, db::Params().add(schema)));
  if (!present.boolean(0, 0))
    return fail(ErrorCode::schema_missing, "schema " + schema + " of this database has no ledger",
                "Create it with `kudos migrate`.");
  KUDOS_ASSIGN(const auto rows, connection.execute(kSchemaVersionOf));
  const int version = rows.int32(0, 0);
  const std::string versions =
      "the ledger has version " + std::to_string(version) + ", this program knows " + std::to_string(kSchemaVersion);
  if (version < kSchemaVersion) return fail(ErrorCode::schema_too_old, versions, "Run `kudos migrate`.");
  if (version > kSchemaVersion) return fail(ErrorCode::schema_too_new, versions, "Upgrade this program.");
  return {};
}

Result<EnumTypes> load_enum_types(db::Connection& connection) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kEnumTypes, db::Params().add(connection.options().schema)));
  EnumTypes types;
  for (int row = 0; row < rows.size(); ++row) {
    const auto name = rows.text(row, 0);
    const auto oid = static_cast<db::Oid>(rows.int64(row, 1));
    if (name == "kudos_entry_type") types.entry_type = oid;
    if (name == "kudos_unit") types.unit = oid;
    if (name == "kudos_target") types.target = oid;
    if (name == "kudos_quarantine_reason") types.quarantine_reason = oid;
  }
  return types;
}

}  // namespace kudos::store
