// Mending an event whose statistics were set aside: a new event with those of its statistics that can fold. Pure.
//
// The old event stays as it is, marks and all. Its currency has folded and is not repeated.
// Source: contract, "Quarantine" and rule 11.
#pragma once

#include <set>
#include <vector>

#include "core/event.h"

namespace kudos {

// A statistic that can't be mended, by its line in the old event.
struct LeftOut {
  std::int16_t line = 0;
  QuarantineReason reason = QuarantineReason::unknown_projection;
  bool operator==(const LeftOut&) const = default;
};

struct Mending {
  Event event;                     // without sequence number and time of creation; may have no statistics
  std::vector<std::int16_t> kept;  // for each statistic of `event`, its line in the old event
  std::vector<LeftOut> left_out;
};

// The repair of `set_aside`. `users` are those of its statistics' users that exist now. A line without target gets the
// one that its columns describe; a target that contradicts them can't be mended. A missing worker is no obstacle.
Mending mend(const Event& set_aside, const std::set<UserId>& users);

// The repair's id follows from the event's: a second repair of it is the same event.
Uuid repair_id(const Uuid& set_aside);

// When the activity was that a statistic speaks of: its event's time. A repair's lines carry the time of the event that
// they repair.
Timestamp activity_time(const Event& event, const StatPosting& statistic);

}  // namespace kudos
