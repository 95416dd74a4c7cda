// The mode row.
#pragma once

#include <chrono>

#include "db/connection.h"
#include "kudos/session.h"
#include "store/locks.h"

namespace kudos::store {

struct Control {
  Mode mode = Mode::shadow;
  Timestamp changed_at;
};

Result<Control> read_control(db::Connection& connection);

// Switches to ledger mode in one transaction: applier lock, then the gate (exclusive: waits for the mutations under
// way), then the row. Waits at most `patience` for each lock (mode_change_timeout); nothing changes on failure.
Status switch_to_ledger(db::Connection& connection, const LockKeys& keys, std::chrono::milliseconds patience);

}  // namespace kudos::store
