// Load and store for trust promotion and the drain of escrow.
//
// A round is one transaction under the applier lock, so that two promotions of one user can't be made at once; it waits
// for no row that somebody else holds.
//
// Thread-safety: belongs to the connection's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/trust.h"
#include "db/connection.h"
#include "kudos/session.h"
#include "store/locks.h"
#include "store/schema.h"

namespace kudos::store {

struct TrustQuery {
  TrustPolicy policy;
  UserId after{0};           // trusted users up to this number had their turn
  std::int32_t limit = 500;  // users a round, of each of the two kinds
};

struct TrustRound {
  Mode mode = Mode::ledger;
  Timestamp now;  // the database's clock
  FoldId head;
  std::vector<TrustCandidate> candidates;  // locked
  std::vector<UserId> trusted_seen;        // trusted users with escrow behind `after`, locked or not; ascending
};

// Whether a round would find anybody: one cheap statement without locks. Also true for promotions that are in flight.
Result<bool> anybody_to_promote(db::Connection& connection, const TrustPolicy& policy);

// Begins a transaction, takes the applier lock and the mode gate, locks candidates. Fails with applier_busy when
// another projector works; the caller rolls back after any failure.
Result<TrustRound> begin_trust_round(db::Connection& connection, const LockKeys& keys, const TrustQuery& query);

// Stores the decision and commits.
Status commit_trust_round(db::Connection& connection, const EnumTypes& types, TrustDecision decision, Timestamp now);

}  // namespace kudos::store
