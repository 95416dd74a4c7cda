#include "ledger/projector_trust.h"

#include "base/try.h"

namespace kudos::ledger {
namespace {

constexpr std::chrono::seconds kLongestWait{30};
// Between rounds that find only promotions in flight or rows that somebody holds.
constexpr std::chrono::seconds kRest{1};
constexpr std::int32_t kUsersPerRound = 500;

}  // namespace

bool TrustRounds::due(bool queue_ran_dry) const {
  const auto now = Clock::now();
  if (now < rest_until_) return false;
  return queue_ran_dry || now - last_look_ >= kLongestWait;
}

Result<TrustReport> TrustRounds::run_if_due(db::Connection& connection, const store::LockKeys& keys,
                                            const store::EnumTypes& types, bool queue_ran_dry) {
  if (!due(queue_ran_dry)) return TrustReport{};
  last_look_ = Clock::now();
  KUDOS_ASSIGN(const bool anybody, store::anybody_to_promote(connection, policy_));
  if (!anybody) return TrustReport{};
  auto report = run(connection, keys, types);
  if (!report) connection.roll_back();
  return report;
}

Result<TrustReport> TrustRounds::run(db::Connection& connection, const store::LockKeys& keys,
                                     const store::EnumTypes& types) {
  const store::TrustQuery query{policy_, after_, kUsersPerRound};
  KUDOS_ASSIGN(const auto round, store::begin_trust_round(connection, keys, query));
  after_ = round.trusted_seen.size() < kUsersPerRound ? UserId{0} : round.trusted_seen.back();
  TrustDecision decision;
  if (round.mode == Mode::ledger) decision = decide_trust(round.candidates, policy_, round.now, round.head);
  const TrustReport report{static_cast<std::int32_t>(decision.promoted.size()),
                           static_cast<std::int32_t>(decision.promotions.size())};
  if (report.promoted_users + report.promotions == 0) rest_until_ = Clock::now() + kRest;
  KUDOS_TRY(store::commit_trust_round(connection, types, std::move(decision), round.now));
  return report;
}

}  // namespace kudos::ledger
