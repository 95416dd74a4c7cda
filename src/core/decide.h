// The decision over a batch of commands: who gets what, in the order given. Pure: no database, clock or random number
// but for event ids that nobody fixed.
//
// Each command sees what those before it in the batch left available, reserved and stored under a key, so a batch of
// hundreds gives the same answers as as many transactions one after the other. A refusal changes nothing.
//
// Source: contract, "Admission and holds".
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/event.h"
#include "core/hold.h"
#include "core/produce.h"
#include "kudos/commands.h"
#include "kudos/receipt.h"

namespace kudos {

struct StoredEvent {
  EventSeq seq;
  std::optional<Digest> request_digest;
  std::int64_t hold = 0;  // that its debit names
};

// The first result of a key whose command left no event.
struct StoredRequest {
  Digest request_digest{};
  std::int64_t hold = 0;
  Amount amount;
};

// What a payer has and has promised, as read under the payer's lock.
struct PayerTerms {
  Total balance;
  Total floor;
  Total promised;  // active holds and queued debits, none counted twice
  Shortfall shortfall = Shortfall::forgive;

  Total available() const { return balance - floor - promised; }
};

// Balance and everything queued, not below the floor; a balance that is below it already stays, and a class that may
// owe shows what it owes. For answers to people, never to authorise a spend.
Total effective_balance(const PayerTerms& terms, Total queued);

using Pair = std::pair<UserId, UserId>;  // payer, recipient

// All that a decision depends on.
struct DecisionState {
  Timestamp now;  // read after the locks
  Directory directory;
  std::unordered_map<UserId, PayerTerms> payers;  // locked
  std::map<std::string, Hold> holds;              // by business id: the active one, else the last
  std::set<std::int64_t> locked_holds;            // whose rows are locked
  std::map<Uuid, StoredEvent> events;             // under the ids that the commands' keys make
  std::map<Uuid, StoredRequest> requests;         // likewise
  std::set<Pair> recent_transfers;                // within the guard time
  std::set<Pair> locked_pairs;                    // whose recent transfers were looked for
  bool guards_transfers = true;
  std::vector<EventSeq> seqs;          // numbers for new events, at least one a command
  std::vector<std::int64_t> hold_ids;  // numbers for new holds, at least one a command that may make one
};

struct DecidedEvent {
  std::size_t command = 0;  // which one it came from
  Event event;
};
struct DecidedRequest {
  Uuid id;
  StoredRequest request;
};
struct DecidedTransfer {
  EventSeq seq;
  Pair pair;
  Amount amount;
};

// What to store.
struct Decisions {
  Timestamp now;  // of the decision: when its events and holds were made and its holds ended; zero if nobody asked
  std::vector<Result<Receipt>> receipts;  // one a command
  std::vector<DecidedEvent> events;
  std::map<std::int64_t, Hold> new_holds;
  std::map<std::int64_t, Hold> changed_holds;
  std::vector<DecidedRequest> requests;
  std::vector<DecidedTransfer> transfers;

  // More than events: then a twin that stored one of the events first has made the rest wrong.
  bool has_side_effects() const {
    return !new_holds.empty() || !changed_holds.empty() || !requests.empty() || !transfers.empty();
  }
};

// The refusal of a key that was used for another request (idempotency_conflict).
std::unexpected<Error> key_conflict(const Uuid& event);

Decisions decide(DecisionState state, std::span<const Command> commands);

// What must be loaded and locked for a command.
struct AdmissionNeeds {
  std::set<UserRef> payers;           // spend from what is available
  std::set<std::string> holds;        // are named
  std::set<std::string> payer_holds;  // are named, and their payers spend
  std::set<std::pair<UserRef, UserRef>> transfers;
  bool may_make_hold = false;
};
void collect_needs(const Command& command, AdmissionNeeds& needs);

// Whether the command is one on holds that leaves no event.
bool leaves_no_event(const Command& command);

}  // namespace kudos
