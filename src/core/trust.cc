#include "core/trust.h"

#include <algorithm>

#include "core/event_builder.h"

namespace kudos {
namespace {

// The name space of promotions' ids, a random constant.
constexpr Uuid kNamespace{
    {0x9b, 0x27, 0xd0, 0x4e, 0x61, 0xf3, 0x4a, 0x18, 0x8c, 0x5d, 0x2e, 0xa7, 0xb4, 0x90, 0x3f, 0x6c}};

bool earns_trust(const TrustCandidate& user, const TrustPolicy& policy, Timestamp now) {
  if (!policy.threshold || user.trusted || user.suspicious || user.deleted || user.workers_held) return false;
  if (user.account_class == "anonymous" || user.account_class == "system") return false;
  const auto age = std::chrono::microseconds(now.micros - user.created.micros);
  return age >= kTrustMinimumAge && user.escrow > Total(*policy.threshold);
}

Event promotion(const TrustCandidate& user, FoldId head) {
  // One posting carries less than a total can be; the rest follows by the next promotion.
  const Total largest = Amount::from_hundredths(Amount::kLimit - 1);
  const Amount amount = *std::min(user.escrow, largest).to_amount();
  EventBuilder builder;
  builder.escrow(EntryType::evaluation_promotion, user.user, -amount);
  builder.spendable(EntryType::evaluation_promotion, user.user, amount);
  builder.user_stat(EntryType::evaluation_promotion, user.user, "accumulated", amount);
  Event event = std::move(builder).take();
  event.id = Uuid::v5(kNamespace, std::to_string(user.user.value) + "/" + std::to_string(head.value));
  return event;
}

}  // namespace

TrustDecision decide_trust(std::span<const TrustCandidate> candidates, const TrustPolicy& policy, Timestamp now,
                           FoldId head) {
  TrustDecision decision;
  for (const TrustCandidate& user : candidates) {
    const bool becomes_trusted = earns_trust(user, policy, now);
    if (becomes_trusted) decision.promoted.push_back(user.user);
    const bool has_escrow = user.escrow > Total() && user.account_class != "system";
    if ((user.trusted || becomes_trusted) && has_escrow && !user.in_flight)
      decision.promotions.push_back(promotion(user, head));
  }
  return decision;
}

}  // namespace kudos
