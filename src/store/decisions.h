// Store for producers: what `decide` decided, in one round trip.
#pragma once

#include <span>
#include <string_view>
#include <unordered_set>

#include "core/decide.h"
#include "db/connection.h"
#include "store/schema.h"

namespace kudos::store {

struct StoreOptions {
  bool commit = false;      // the transaction, in the same round trip
  bool keep_plans = false;  // see queue_keep_plans
};

// Inserts the events with their postings, holds, requests and transfers. `metadata` has one entry a command. Returns
// the numbers of the events that were stored: one whose id a twin stored first is left out. When holds, requests or
// transfers depend on the events, a twin is a serialization failure instead (Recovery::retry): the transaction is
// aborted, and run again it finds what the twin stored.
Result<std::unordered_set<EventSeq>> store_decisions(db::Connection& connection, const EnumTypes& types,
                                                     const Decisions& decisions,
                                                     std::span<const std::string_view> metadata, StoreOptions options);

}  // namespace kudos::store
