// The canonical form of a request: what "the same request" means for an idempotency key. Users are numbers, amounts
// have two decimals, defaults are filled in where they don't depend on changing state; metadata is left out, so that
// it can be erased. docs/reference/digests.md has the form of every command.
#pragma once

#include "base/sha256.h"
#include "core/produce.h"
#include "kudos/commands.h"

namespace kudos {

// `directory` must hold the users that the command names.
std::string canonical_request(const Command& command, const Directory& directory);

Digest request_digest(const Command& command, const Directory& directory);

}  // namespace kudos
