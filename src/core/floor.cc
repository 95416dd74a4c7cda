#include "core/floor.h"

#include <algorithm>

namespace kudos {
namespace {

// The name space of floor adjustments' ids, a random constant.
constexpr Uuid kNamespace{
    {0x5e, 0x0c, 0x1f, 0x3a, 0x8d, 0x27, 0x4b, 0x6e, 0x9a, 0x41, 0x77, 0xd2, 0x06, 0xbe, 0x93, 0x58}};

}  // namespace

Total forgiven_part(const Account& account, Total net) {
  if (account.shortfall != Shortfall::forgive || !net.is_negative()) return {};
  const Total missing = account.floor - (account.spendable + net);
  return std::clamp(missing, Total(), -net);
}

Event floor_adjustment(const Event& cause, UserId user, Total forgiven, Total floor) {
  Event event;
  event.id = Uuid::v5(kNamespace, cause.id.to_string() + "/" + std::to_string(user.value));
  event.job_id = cause.job_id;
  // As PostgreSQL writes jsonb: shorter keys first.
  const std::string detail =
      R"({"floor": ")" + floor.to_string() + R"(", "reason": "floor", "event_id": ")" + cause.id.to_string() + R"("})";
  const auto post = [&](UserId who, Amount change) {
    Posting posting;
    posting.entry_type = EntryType::floor_adjustment;
    posting.user = who;
    posting.amount = change;
    posting.detail = detail;
    event.postings.push_back(std::move(posting));
  };
  // The net debit of up to 1,000 postings can exceed what one posting carries.
  const Total largest = Amount::from_hundredths(Amount::kLimit - 1);
  while (!forgiven.is_zero()) {
    const Amount part = *std::min(forgiven, largest).to_amount();
    post(user, part);
    post(kTreasury, -part);
    forgiven -= part;
  }
  number_lines(event);
  return event;
}

}  // namespace kudos
