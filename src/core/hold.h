// Holds as values. Source: contract, "Admission and holds".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/timestamp.h"
#include "kudos/amount.h"
#include "kudos/error.h"
#include "kudos/ids.h"
#include "kudos/uuid.h"

namespace kudos {

enum class HoldState : std::uint8_t { active, consumed, released, expired };
std::string_view label(HoldState state);

// One row of kudos_reservations.
struct Hold {
  std::int64_t id = 0;
  std::string business_id;
  UserId payer;
  Amount original;
  Total captured;  // debits that name it, as admitted; above `original` when more was taken
  Total consumed;  // debits that name it, as folded; at most `original`
  HoldState state = HoldState::active;
  std::string reason;  // why it ended; empty while it is active
  std::optional<Timestamp> expires;
  std::optional<Uuid> owner_event;  // the event that it belongs to and ends with
};

// What the hold still keeps from being spent otherwise, beyond the debits that name it. Those count as queued, or are
// in the balance.
Total claim_of(const Hold& hold);

// Whether its deadline has passed. It keeps its claim until its row says that it expired.
bool is_due(const Hold& hold, Timestamp now);

// Ends an active hold.
void end_hold(Hold& hold, HoldState state, std::string_view reason);

// A debit of `amount` names the hold: what is captured grows, and a hold that is used up ends as consumed.
void capture_from(Hold& hold, Amount amount);

// How a fold treats a hold that a debit of its event names: `consumed` grows, and a hold of the event's own is
// released.
void fold_into(Hold& hold, Amount debit, const Uuid& event);

// A business id as callers may give it: printable, 1 to 200 bytes, not one of the ledger's own (invalid_request).
Status validate_hold_id(std::string_view business_id);

// The business id of the hold that a transfer makes for itself.
std::string transfer_hold_id(UserId payer, const Uuid& event);

}  // namespace kudos
