// The fold: what events do to the read models. Pure: no database, clock, thread or random number.
//
// Given the order of the events, the result depends on nothing else: not on how the sequence is cut into batches
// (rule 7). So floors are applied event by event, and what a batch does to counters is a sum.
//
// Source: contract, "What folds into what", "Floors and account classes", "Quarantine".
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/event.h"
#include "core/hold.h"

namespace kudos {

// What the fold needs of one user.
struct Account {
  Total spendable;
  Total escrow;
  std::optional<Timestamp> last_active;
  Total floor;
  Shortfall shortfall = Shortfall::forgive;
};

// The targets that the events name and that exist. A user of a currency posting must be there unless it is a system
// account; a user, worker or team that only statistics name may be missing.
struct FoldTargets {
  std::unordered_map<UserId, Account> accounts;
  std::unordered_set<Uuid> workers;
  std::unordered_set<Uuid> teams;
  std::unordered_map<std::int64_t, Hold> holds;  // by number; a hold that went with its user is missing
};

// Sums to add to a worker or team row.
struct Production {
  Total kudos;
  Total contributions;
  Total fulfilments;
};

using UserStatKey = std::pair<UserId, std::string>;                            // user, action
using UserRecordKey = std::pair<UserId, std::pair<std::string, std::string>>;  // user, (type, dimension)
using WorkerStatKey = std::pair<Uuid, std::string>;                            // worker, action

struct Quarantined {
  EventSeq seq;
  QuarantineReason reason;
};

// What to write, ordered by key so that every writer visits rows in the same order.
struct FoldOutcome {
  std::map<UserId, Account> accounts;  // new values of the accounts that an event touched
  std::map<UserStatKey, Total> user_stats;
  std::map<UserRecordKey, Total> user_records;
  std::map<std::int64_t, Hold> holds;  // new values of the holds that a debit named
  std::map<Uuid, Production> workers;
  std::map<WorkerStatKey, Total> worker_stats;
  std::map<Uuid, Production> teams;
  // Born applied in this fold, in the order of their causes; without sequence number and time of creation.
  std::vector<Event> floor_adjustments;
  std::vector<Quarantined> quarantined;
};

// Folds `events`, in order. Events applied inline have had their effect and are skipped. `targets` is not changed.
FoldOutcome fold(std::span<const Event> events, const FoldTargets& targets);

}  // namespace kudos
