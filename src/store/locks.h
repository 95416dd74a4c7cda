// The registry of advisory locks. Transaction-scoped, all of them. The lock order is the contract's: applier → gate →
// keys → payers → pairs → rows.
#pragma once

#include <cstdint>
#include <string_view>

namespace kudos::store {

struct LockKeys {
  std::int64_t applier = 0;          // one projector at a time
  std::int64_t mode_gate = 0;        // shared by every mutation, exclusive for a mode change
  std::int64_t reconciliation = 0;   // repair runs
  std::int64_t migration = 0;        // schema changes
  std::int32_t payer_namespace = 0;  // with the payer's user id
  std::int32_t pair_namespace = 0;   // with a hash of payer and recipient: the guard against transfers the other way
};

// The contract's keys for schema "public"; for another schema they are derived from its name, so that several ledgers
// fit into one database.
LockKeys lock_keys(std::string_view schema);

}  // namespace kudos::store
