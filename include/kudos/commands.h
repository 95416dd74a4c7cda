// The commands that producers emit, one struct each. Every command becomes one business event: one row of facts with
// all its postings (contract, "Producers"). They are plain values; `emit` (kudos/session.h) turns them into events
// inside the caller's transaction.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "kudos/amount.h"
#include "kudos/ids.h"
#include "kudos/uuid.h"

namespace kudos {

// A user, by number or by the host's own name for them (`users.external_id`).
struct UserRef {
  static UserRef number(UserId id) { return {id, {}}; }
  static UserRef external(std::string name) { return {std::nullopt, std::move(name)}; }
  // "17" or "ext:alice"; invalid_request otherwise.
  static Result<UserRef> parse(std::string_view text);

  std::optional<UserId> id = {};
  std::string external_id = {};  // used when `id` is empty

  std::string to_string() const;
  auto operator<=>(const UserRef&) const = default;
};

// Makes a command safe to send again: the same key and the same request return the first result, another request under
// the same key is refused (idempotency_conflict). A key's scope is the calling principal and the kind of command.
struct IdempotencyKey {
  std::string principal = {};  // who calls, e.g. "cli" or an API key's name
  std::string key = {};        // 1 to 200 bytes
};

struct EventOptions {
  std::optional<IdempotencyKey> key = {};
  // A flat JSON object of at most 2 KB, kept apart with a salt so that it can be erased; only its salted hash is part
  // of the fact. Empty: none.
  std::string metadata = {};
};

// treasury → user, e.g. a purchase. `topped_up`.
struct TopUp {
  UserRef user = {};
  Amount amount = {};  // > 0
  EventOptions options = {};
};

// treasury → user, a gift of the house. `awarded`.
struct Award {
  UserRef user = {};
  Amount amount = {};       // > 0
  std::string reason = {};  // kept as detail; may be empty, at most 200 bytes
  EventOptions options = {};
};

// treasury → user: what an account starts with. `opening`. Negative only for a class whose shortfall is debt.
struct Opening {
  UserRef user = {};
  Amount amount = {};  // not 0
  EventOptions options = {};
};

// An operator's correction: treasury → user, or user → sink when negative. `admin`.
struct AdminAdjustment {
  UserRef user = {};
  Amount amount = {};       // not 0
  std::string reason = {};  // kept as detail; may be empty, at most 200 bytes
  EventOptions options = {};
};

// treasury → the maker of a style that was used. `styled`, and STYLE +1.
struct StyleReward {
  UserRef user = {};
  Amount amount = {};        // > 0
  std::string wp_type = {};  // of the style; default "image"
  EventOptions options = {};
};

// payer → payee, or → sink without one. `charged`; a payee's `received`.
struct Charge {
  UserRef payer = {};
  Amount amount = {};  // > 0
  std::optional<UserRef> payee = {};
  std::string reason = {};  // kept as detail; may be empty, at most 200 bytes
  EventOptions options = {};
};

// treasury → a worker's owner for being there: spendable for trusted and anonymous owners, or where the worker's type
// bypasses evaluation; else all into escrow. Worker `uptime`, owner `accumulated` if spendable.
struct UptimeReward {
  Uuid worker = {};
  Amount amount = {};  // > 0
  bool bypass_evaluation = false;
  EventOptions options = {};
};

// How a job ended; decides who pays and who earns.
enum class JobOutcome : std::uint8_t {
  completed,
  cancelled,  // the cost beyond the reward is burned
  censored,   // the worker earns as usual, the requester pays nothing
  fake,       // nothing at all: no event is stored
};

// requester → worker's owner for one job; the difference between cost and reward goes to the sink or comes from the
// treasury. A trusted or anonymous owner earns spendable kudos, any other gets half into escrow, rounded half to even.
struct Settlement {
  UserRef requester = {};
  Uuid worker = {};
  Amount cost = {};                   // ≥ 0
  std::optional<Amount> reward = {};  // ≥ 0; default: the cost
  Amount things = {};                 // ≥ 0, raw: pixelsteps for images, tokens for text; divided by the type's divisor
  std::optional<Uuid> job_id = {};
  std::string wp_type = {};  // default: the worker's type; at most 20 characters
  JobOutcome outcome = JobOutcome::completed;
  EventOptions options = {};
};

// requester → sink when a prompt is activated.
struct ActivationTax {
  UserRef requester = {};
  Amount tax = {};  // > 0
  Uuid prompt = {};
  std::string wp_type = {};  // default "image"
  EventOptions options = {};
};

// An interrogation (a question about an image, say) that was answered, or cancelled in flight. Like a settlement of
// type "interrogation".
struct InterrogationSettlement {
  UserRef requester = {};
  Uuid worker = {};
  Amount cost = {};                   // ≥ 0
  std::optional<Amount> reward = {};  // ≥ 0; default: the cost
  Amount things = Amount::whole(1);
  Uuid form = {};
  bool cancelled = false;
  EventOptions options = {};
};

using Command = std::variant<TopUp, Award, Opening, AdminAdjustment, StyleReward, Charge, UptimeReward, Settlement,
                             InterrogationSettlement, ActivationTax>;

// The stable name of the command's kind, e.g. "settle": part of the scope of an idempotency key.
std::string_view command_kind(const Command& command);
const EventOptions& command_options(const Command& command);

}  // namespace kudos
