// Waiting until events have had their effect on balances and counters, for a caller that wants to read its own writes.
// Not for spending: what may be spent is decided by admission, never by a balance that was waited for.
//
// A wait polls, from 1 ms apart to 50 ms; a poll is one or two index probes, whatever the archive's size, and between
// polls no transaction is open. The projector must run somewhere.
//
// Thread-safety: as the session's.
#pragma once

#include <chrono>
#include <cstdint>

#include "kudos/error.h"
#include "kudos/session.h"
#include "kudos/uuid.h"

namespace kudos {

enum class WaitOutcome : std::uint8_t {
  folded,       // in the read models, by a committed fold or inline in shadow mode
  quarantined,  // its currency is; its statistics can never fold and were set aside
};

// Waits until the event has folded, at most `timeout` (timed_out); with a timeout of 0 it looks once. unknown_event
// when no committed event has this id. Refuses inside an open transaction (in_transaction): its event isn't committed
// yet, and the fold may wait for the rows it holds. After a failure nothing is left behind.
Result<WaitOutcome> wait_for_event(Session& session, const Uuid& event, std::chrono::milliseconds timeout);

// Waits until every event has folded that was committed when the call began, set-aside ones included. What commits
// later isn't waited for, also when its sequence number is lower. The same refusals.
Status wait_for_all(Session& session, std::chrono::milliseconds timeout);

}  // namespace kudos
