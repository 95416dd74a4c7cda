// The transaction of a command that changes accounting.
#pragma once

#include <functional>

#include "kudos/error.h"
#include "kudos/session.h"

namespace kudos::cli {

// Runs `work` in a transaction, and again after a deadlock or a twin (kudos::run_transaction), so it starts its answer
// anew each time. A dry run is rolled back once `work` has succeeded.
Status transact(Session& session, bool dry_run, const std::function<Status()>& work);

}  // namespace kudos::cli
