#include "core/hold.h"

#include <algorithm>

#include "base/check.h"
#include "base/try.h"
#include "core/validate.h"

namespace kudos {
namespace {

constexpr std::size_t kMaxHoldId = 200;
constexpr std::string_view kTransferPrefix = "transfer:";

}  // namespace

std::string_view label(HoldState state) {
  switch (state) {
    case HoldState::active:
      return "active";
    case HoldState::consumed:
      return "consumed";
    case HoldState::released:
      return "released";
    case HoldState::expired:
      return "expired";
  }
  return {};
}

Total claim_of(const Hold& hold) {
  if (hold.state != HoldState::active) return {};
  return std::max(Total(hold.original) - hold.captured, Total());
}

bool is_due(const Hold& hold, Timestamp now) {
  return hold.state == HoldState::active && hold.expires && *hold.expires <= now;
}

void end_hold(Hold& hold, HoldState state, std::string_view reason) {
  KUDOS_CHECK(hold.state == HoldState::active && state != HoldState::active);
  hold.state = state;
  hold.reason = reason;
}

void capture_from(Hold& hold, Amount amount) {
  hold.captured += amount;
  if (hold.captured >= hold.original) end_hold(hold, HoldState::consumed, "captured");
}

void fold_into(Hold& hold, Amount debit, const Uuid& event) {
  hold.consumed = std::min(hold.consumed + debit, Total(hold.original));
  if (hold.state != HoldState::active) return;
  if (hold.owner_event == event)
    end_hold(hold, HoldState::released, "folded");
  else if (hold.consumed == hold.original)
    end_hold(hold, HoldState::consumed, "folded");
}

Status validate_hold_id(std::string_view business_id) {
  KUDOS_TRY(validate_name(business_id, "the hold's id", kMaxHoldId));
  if (business_id.starts_with(kTransferPrefix))
    return fail(ErrorCode::invalid_request, "ids of holds that begin with \"transfer:\" belong to transfers");
  return {};
}

std::string transfer_hold_id(UserId payer, const Uuid& event) {
  return std::string(kTransferPrefix) + std::to_string(payer.value) + ":" + event.to_string();
}

}  // namespace kudos
