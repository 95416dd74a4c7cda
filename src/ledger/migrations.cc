#include "ledger/migrations.h"

#include "store/locks.h"
#include "store/schema.h"

namespace kudos::sql {
extern const std::vector<db::SqlFile> migrations;
}

namespace kudos::ledger {

Result<db::MigrationReport> migrate(db::Connection& connection) {
  if (connection.server_version() < store::kOldestServer) return std::unexpected(store::server_too_old(connection));
  const auto keys = store::lock_keys(connection.options().schema);
  return db::migrate(connection, sql::migrations, keys.migration);
}

}  // namespace kudos::ledger
