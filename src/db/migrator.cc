#include "db/migrator.h"

#include <charconv>

#include "base/check.h"
#include "base/try.h"

namespace kudos::db {
namespace {

constexpr Statement kLock{"migration_lock", "SELECT pg_advisory_xact_lock($1::bigint)"};
constexpr Statement kVersion{"migration_version",
                             "SELECT coalesce(max(version), 0) FROM @schema@.kudos_migrations"};
constexpr Statement kRecord{"record_migration",
                            "INSERT INTO @schema@.kudos_migrations (version, name) VALUES ($1::integer, $2::text)"};
constexpr const char* kPrepare = R"(
CREATE SCHEMA IF NOT EXISTS @schema@;
CREATE TABLE IF NOT EXISTS @schema@.kudos_migrations (
    version integer CONSTRAINT kudos_migrations_pkey PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now());
SET LOCAL search_path TO @schema@, pg_temp;)";

int version_of(const SqlFile& file) {
  int version = 0;
  const auto [end, error] = std::from_chars(file.name.data(), file.name.data() + file.name.size(), version);
  KUDOS_CHECK(error == std::errc() && *end == '_');
  return version;
}

Status apply(Connection& connection, const SqlFile& file) {
  if (auto ran = connection.run_script(std::string(file.sql)); !ran) {
    ran.error().statement = "migration " + std::string(file.name);
    return ran;
  }
  KUDOS_TRY(connection.execute(kRecord, Params().add(version_of(file)).add(file.name)));
  return {};
}

Result<MigrationReport> apply_missing(Connection& connection, std::span<const SqlFile> files, std::int64_t lock_key) {
  // The lock comes first: two processes creating the schema at once would collide in the catalogue.
  KUDOS_TRY(connection.execute(kBegin));
  KUDOS_TRY(connection.execute(kLock, Params().add(lock_key)));
  KUDOS_TRY(connection.run_script(kPrepare));
  KUDOS_ASSIGN(const auto rows, connection.execute(kVersion));
  const int known = files.empty() ? 0 : version_of(files.back());
  MigrationReport report{rows.int32(0, 0), rows.int32(0, 0), {}};
  if (report.from_version > known)
    return fail(ErrorCode::schema_too_new,
                "the schema has version " + std::to_string(report.from_version) + ", this program knows " +
                    std::to_string(known),
                "Upgrade this program.");
  for (const SqlFile& file : files) {
    if (version_of(file) <= report.from_version) continue;
    KUDOS_TRY(apply(connection, file));
    report.to_version = version_of(file);
    report.applied.emplace_back(file.name);
  }
  KUDOS_TRY(connection.execute(kCommit));
  return report;
}

}  // namespace

Result<MigrationReport> migrate(Connection& connection, std::span<const SqlFile> files, std::int64_t lock_key) {
  auto report = apply_missing(connection, files, lock_key);
  if (!report) connection.roll_back();
  return report;
}

}  // namespace kudos::db
