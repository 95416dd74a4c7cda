// When trust is looked at, and one round of it.
//
// Thread-safety: belongs to the projector's thread.
#pragma once

#include <chrono>

#include "db/connection.h"
#include "store/trust.h"

namespace kudos::ledger {

struct TrustReport {
  std::int32_t promoted_users = 0;  // became trusted
  std::int32_t promotions = 0;      // events that move escrow into the spendable balance; a later cycle folds them
};

class TrustRounds {
 public:
  explicit TrustRounds(TrustPolicy policy) : policy_(policy) {}

  // After a cycle. A round is run when the cycle folded and its claim came back short, or 30 s after the last look. It
  // takes at most 500 users of each kind (newly trusted; trusted before), so that a wave of many never stretches a
  // tick; the next rounds go on where it ended. Nothing happens in shadow mode.
  Result<TrustReport> run_if_due(db::Connection& connection, const store::LockKeys& keys, const store::EnumTypes& types,
                                 bool queue_ran_dry);

 private:
  using Clock = std::chrono::steady_clock;
  Result<TrustReport> run(db::Connection& connection, const store::LockKeys& keys, const store::EnumTypes& types);
  bool due(bool queue_ran_dry) const;

  TrustPolicy policy_;
  UserId after_{0};  // trusted users up to here had their turn
  Clock::time_point last_look_;
  Clock::time_point rest_until_;  // the last round found nothing to do
};

}  // namespace kudos::ledger
