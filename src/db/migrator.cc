#include "db/migrator.h"

#include <charconv>

#include "base/check.h"
#include "base/sha256.h"
#include "base/try.h"

namespace kudos::db {
namespace {

constexpr Statement kLock{"migration_lock", "SELECT pg_advisory_xact_lock($1::bigint)"};
constexpr Statement kHasSchema{"has_schema", "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1::text)"};
constexpr Statement kVersion{"migration_version", "SELECT coalesce(max(version), 0) FROM @schema@.kudos_migrations"};
constexpr Statement kRecord{"record_migration",
                            "INSERT INTO @schema@.kudos_migrations (version, name) VALUES ($1::integer, $2::text)"};
constexpr const char* kPrepare = R"(
CREATE TABLE IF NOT EXISTS @schema@.kudos_migrations (
    version integer CONSTRAINT kudos_migrations_pkey PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS @schema@.kudos_function_sets (
    digest text CONSTRAINT kudos_function_sets_pkey PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now());
SET LOCAL search_path TO @schema@, pg_temp;
SET LOCAL check_function_bodies = off;)";
constexpr Statement kLastFunctions{"last_functions",
                                   "SELECT digest FROM @schema@.kudos_function_sets ORDER BY applied_at DESC LIMIT 1"};
constexpr Statement kRecordFunctions{"record_functions", R"(
INSERT INTO @schema@.kudos_function_sets (digest, applied_at) VALUES ($1::text, clock_timestamp())
ON CONFLICT (digest) DO UPDATE SET applied_at = excluded.applied_at)"};

int version_of(const SqlFile& file) {
  int version = 0;
  const auto [end, error] = std::from_chars(file.name.data(), file.name.data() + file.name.size(), version);
  KUDOS_CHECK(error == std::errc() && *end == '_');
  return version;
}

Status run(Connection& connection, const SqlFile& file) {
  auto ran = connection.run_script(std::string(file.sql));
  if (!ran) ran.error().statement = std::string(file.name);
  return ran;
}

std::string digest_of(std::span<const SqlFile> files) {
  Sha256 hash;
  for (const SqlFile& file : files) hash.update(file.sql);
  return to_hex(hash.finish());
}

// Whether they had to be replaced.
Result<bool> replace_functions(Connection& connection, std::span<const SqlFile> files) {
  const std::string digest = digest_of(files);
  KUDOS_ASSIGN(const auto last, connection.execute(kLastFunctions));
  if (!last.empty() && last.text(0, 0) == digest) return false;
  for (const SqlFile& file : files) KUDOS_TRY(run(connection, file));
  KUDOS_TRY(connection.execute(kRecordFunctions, Params().add(digest)));
  return true;
}

Status apply(Connection& connection, const SqlFile& file) {
  KUDOS_TRY(run(connection, file));
  KUDOS_TRY(connection.execute(kRecord, Params().add(version_of(file)).add(file.name)));
  return {};
}

Result<MigrationReport> apply_missing(Connection& connection, const SqlFiles& files, std::int64_t lock_key) {
  // The lock comes first: two processes creating the schema at once would collide in the catalogue.
  KUDOS_TRY(connection.execute(kBegin));
  KUDOS_TRY(connection.execute(kLock, Params().add(lock_key)));
  // Asked first: even IF NOT EXISTS wants the right to create schemas.
  KUDOS_ASSIGN(const auto schema, connection.execute(kHasSchema, Params().add(connection.options().schema)));
  if (!schema.boolean(0, 0)) KUDOS_TRY(connection.run_script("CREATE SCHEMA @schema@"));
  KUDOS_TRY(connection.run_script(kPrepare));
  KUDOS_ASSIGN(const auto rows, connection.execute(kVersion));
  const int known = files.migrations.empty() ? 0 : version_of(files.migrations.back());
  MigrationReport report{rows.int32(0, 0), rows.int32(0, 0), {}, false};
  if (report.from_version > known)
    return fail(ErrorCode::schema_too_new,
                "the schema has version " + std::to_string(report.from_version) + ", this program knows " +
                    std::to_string(known),
                "Upgrade this program.");
  for (const SqlFile& file : files.migrations) {
    if (version_of(file) <= report.from_version) continue;
    KUDOS_TRY(apply(connection, file));
    report.to_version = version_of(file);
    report.applied.emplace_back(file.name);
  }
  KUDOS_ASSIGN(report.functions_replaced, replace_functions(connection, files.functions));
  KUDOS_TRY(connection.execute(kCommit));
  return report;
}

}  // namespace

Result<MigrationReport> migrate(Connection& connection, const SqlFiles& files, std::int64_t lock_key) {
  auto report = apply_missing(connection, files, lock_key);
  if (!report) connection.roll_back();
  return report;
}

}  // namespace kudos::db
