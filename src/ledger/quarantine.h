// What operators do with events that were set aside: accept the loss, or repair it by a new event. Nothing re-enters
// the queue by itself, and the old event's facts and marks stay (contract, "Quarantine").
//
// All functions work inside the caller's open transaction, READ COMMITTED; a refusal stores nothing.
#pragma once

#include <optional>
#include <string>

#include "core/mend.h"
#include "kudos/session.h"
#include "store/quarantine.h"

namespace kudos::ledger {

// Who decides, and why.
struct Reviewer {
  std::string name;
  std::string note;  // may be empty for a repair
};

struct Acceptance {
  store::Review review;
  bool replayed = false;  // it had been accepted before: this is the first review
};

struct Repair {
  Receipt receipt;  // of the new event
  Mending mending;  // what it holds, and what could not be mended; of a replay: what would be mended today
};

// Records that the event's statistics stay out of the counters. Needs a note (invalid_request). Refuses an event that
// was repaired (already_exists). unknown_event; invalid_request when it wasn't set aside.
Result<Acceptance> accept_quarantined(Session& session, const Uuid& event, const Reviewer& reviewer);

// Emits the repair (core/mend.h), queued for the projector, and records who did it. Of two at once one has an effect;
// the other, and every later one, is a replay. An accepted event may still be repaired. Refuses shadow mode
// (shadow_mode_unsupported), and an event of which nothing can be mended (invalid_statistic).
Result<Repair> repair_quarantined(Session& session, const Uuid& event, const Reviewer& reviewer);

// What a repair would hold now. Needs no transaction.
Result<Mending> preview_repair(db::Connection& connection, const Uuid& event);

}  // namespace kudos::ledger
