// One call of a producer: load, decide, store.
#pragma once

#include <span>
#include <vector>

#include "kudos/commands.h"
#include "kudos/receipt.h"
#include "kudos/session.h"

namespace kudos::ledger {

enum class Transaction : std::uint8_t {
  callers,  // open already, and stays open
  own,      // begun with the load and committed with the store, in the same round trips
};

// Whether these very commands may have been stored before: then the ids that their caller fixed are looked for. Without
// the look, one that is there is a serialization failure.
enum class Run : std::uint8_t { first, again };

// Carries out `commands`; see kudos::emit. With a transaction of its own the caller rolls back after a failure.
Result<std::vector<Result<Receipt>>> execute(Session& session, std::span<const Command> commands,
                                             Transaction transaction, Run run);

}  // namespace kudos::ledger
