// Floors: what part of a debit is forgiven, and the event that records it.
// Source: contract, "Floors and account classes".
#pragma once

#include "core/event.h"
#include "core/fold.h"

namespace kudos {

// The part of an event's net change that doesn't fit above the account's floor: at most the event's own net debit, so
// a balance already below its floor stays where it is under a debit, and a credit is never touched. Zero unless the
// account forgives.
Total forgiven_part(const Account& account, Total net);

// The event that records what was forgiven: treasury → user, naming the cause and the floor in force. Its id follows
// from cause and user, so that folding again makes the same event.
Event floor_adjustment(const Event& cause, UserId user, Total forgiven, Total floor);

}  // namespace kudos
