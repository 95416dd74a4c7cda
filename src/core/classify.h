// What a statistic posting means: its columns decide the projection it folds into, or why it can't.
// Pure; used at emission (to refuse) and at the fold (to set aside). Source: contract, "Quarantine".
#pragma once

#include <expected>
#include <optional>

#include "core/event.h"

namespace kudos {

// The projection that the documented columns describe, or the reason why there is none. `target` is looked at in a
// RECONCILIATION only: a repair can reach every counter, so there the target says which, and the columns must fit it.
std::expected<Target, QuarantineReason> classify(const StatPosting& statistic);

// The first reason why this posting can't fold as its `target` says; nothing when it can. Whether its user exists is
// not decided here.
std::optional<QuarantineReason> find_defect(const StatPosting& statistic);

// Whether it moves its user's last_active: an activity, or any statistic whose detail says "touch_last_active": true.
bool touches_last_active(const StatPosting& statistic);

// The unit in which a record type counts; nothing for an unknown type.
std::optional<Unit> record_unit(std::string_view record_type);

}  // namespace kudos
