// The ledger's migrations, embedded from sql/migrations, and their application.
#pragma once

#include "db/migrator.h"

namespace kudos::ledger {

// Brings the ledger's schema up to date; see db::migrate. Refuses a server older than 15 (server_too_old). A new ledger
// starts in shadow mode.
Result<db::MigrationReport> migrate(db::Connection& connection);

}  // namespace kudos::ledger
