// Trust promotion and the drain of escrow: who becomes trusted, and the event that moves a trusted user's escrow into
// the spendable balance. Pure.
//
// Source: contract, "Trust".
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/event.h"

namespace kudos {

// A user younger than this is never promoted.
inline constexpr std::chrono::hours kTrustMinimumAge{7 * 24};

struct TrustPolicy {
  // A user with more escrow than this becomes trusted. Nothing: nobody does, but who is trusted still gets its escrow.
  std::optional<Amount> threshold;
};

// What the decision needs of one user, as projected.
struct TrustCandidate {
  UserId user;
  std::string account_class;
  bool trusted = false;
  bool suspicious = false;
  bool deleted = false;
  Timestamp created;
  Total escrow;
  bool in_flight = false;     // a promotion event of this user isn't folded yet
  bool workers_held = false;  // a paused worker of this user can't be unpaused now: somebody holds its row
};

struct TrustDecision {
  std::vector<UserId> promoted;   // become trusted; their workers are unpaused
  std::vector<Event> promotions;  // escrow −e, spendable +e; without sequence number and time of creation
};

// `head` is the last fold: it tells apart the promotions that a user gets in the course of time, so that their ids
// follow from the state alone. One user has at most one promotion in flight.
TrustDecision decide_trust(std::span<const TrustCandidate> candidates, const TrustPolicy& policy, Timestamp now,
                           FoldId head);

}  // namespace kudos
