// From a command to its event: the postings of each producer. Pure. Source: contract, "Producers".
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/event.h"
#include "kudos/commands.h"

namespace kudos {

// What a producer needs to know of a user.
struct UserFacts {
  UserId id;
  std::string account_class;
  bool trusted = false;
  bool deleted = false;
  bool may_owe = false;  // its class's shortfall is debt
  bool suspicious = false, flagged = false, education = false;
  std::int64_t usage_multiplier = 10'000;  // in ten-thousandths

  bool is_anonymous() const { return account_class == "anonymous"; }
  // Whether rewards are spendable at once.
  bool earns_spendable() const { return trusted || is_anonymous(); }
};

struct WorkerFacts {
  UserFacts owner;
  std::optional<Uuid> team;
  std::string type;
};

// The accounts that a batch of commands refers to, as loaded. What isn't here doesn't exist.
struct Directory {
  std::map<UserRef, UserFacts> users;
  std::unordered_map<Uuid, WorkerFacts> workers;
};

// What a command becomes.
struct Produced {
  Event event;         // without sequence number; its id is set
  bool stored = true;  // false for a fake job: there is nothing to store
};

// The user's facts; unknown_user, system_account.
Result<const UserFacts*> find_user(const Directory& directory, const UserRef& user);
Status require_positive(Amount amount, std::string_view what);  // amount_not_positive

// The event of a transfer, or the first of its refusals that need no look at the ledger. Its payer's posting names no
// hold yet.
Result<Event> transfer_event(const Transfer& transfer, const Directory& directory);

// Calls `user(ref)` and `worker(id)` for each account that the command names.
void visit_accounts(const Command& command, const std::function<void(const UserRef&)>& user,
                    const std::function<void(const Uuid&)>& worker);

// The event's id: from the idempotency key when there is one, else the one that the caller fixed, else random.
Uuid make_event_id(const Command& command);

// Builds the event of `command`. Refuses by name what can't be; see kudos/commands.h for each command. A capture is
// produced as the charge that it becomes; other commands on holds have no event, and are no business of this function.
Result<Produced> produce(const Command& command, const Directory& directory);

// How many things `raw` units of work of a type are: pixelsteps, tokens, … through the type's divisor.
Result<Amount> things_of(Amount raw, std::string_view wp_type);

}  // namespace kudos
