// The control row: the mode and the settings.
#pragma once

#include <chrono>

#include "db/connection.h"
#include "kudos/session.h"
#include "store/locks.h"

namespace kudos::store {

struct Control {
  Mode mode = Mode::shadow;
  Timestamp changed_at;  // of the mode
  std::int32_t transfer_guard_seconds = 0;
};

Result<Control> read_control(db::Connection& connection);

// Switches to ledger mode in one transaction: applier lock, then the gate (exclusive: waits for the mutations under
// way), then the row. Waits at most `patience` for each lock (mode_change_timeout); nothing changes on failure.
Status switch_to_ledger(db::Connection& connection, const LockKeys& keys, std::chrono::milliseconds patience);

inline constexpr std::int32_t kLongestTransferGuard = 86'400;  // seconds

// How long a transfer the other way between the same two is refused; 0 turns the guard off. At most
// `kLongestTransferGuard`, a constraint of the table. Transfers that are already under way may still see the old value.
// Whether it was another one before.
Result<bool> set_transfer_guard(db::Connection& connection, std::int32_t seconds);

}  // namespace kudos::store
