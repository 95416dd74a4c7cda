// The commands that producers emit, one struct each. Every command becomes one business event: one row of facts with
// all its postings (contract, "Producers"). They are plain values; `emit` (kudos/session.h) turns them into events
// inside the caller's transaction.
#pragma once

#include <chrono>
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
  // The event's id when there is no key; default: a random one, made by each call. Fix it before the first attempt to
  // run the same command again after a lost connection: what is there under this id counts as done.
  std::optional<Uuid> event_id = {};
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
  // A hold of the payer that the debit uses up, if it is still active: its cost was promised. Empty: none. Not checked
  // against the hold's amount; `Capture` is.
  std::string hold = {};
  // Refuse unless that much is available (insufficient_funds). Without it the charge is a fact that became known late.
  bool check = false;
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
  std::string hold = {};  // of the requester: as for `Charge`
  EventOptions options = {};
};

// requester → sink when a prompt is activated. Uses up the requester's hold `upfront:<prompt>` if it is active.
struct ActivationTax {
  UserRef requester = {};
  Amount tax = {};  // > 0
  Uuid prompt = {};
  std::string wp_type = {};  // default "image"
  EventOptions options = {};
};

// An interrogation (a question about an image, say) that was answered, or cancelled in flight. Like a settlement of
// type "interrogation". Uses up the requester's hold `interrogation:<form>` if it is active.
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

// payer → recipient, from what is available, under a hold of its own that ends when the event folds. `gifted`
// (`donated` to an education account); `received`. Refused, in this order, for: amount_not_positive, anonymous_payer,
// unknown_recipient, anonymous_recipient, same_account, suspicious_payer, flagged_payer, education_payer,
// deleted_payer, suspicious_recipient, flagged_recipient, deleted_recipient, reverse_transfer, insufficient_funds.
struct Transfer {
  UserRef payer = {};
  UserRef recipient = {};
  Amount amount = {};  // > 0
  EventOptions options = {};
};

// Holds: temporary claims on what a payer has available. A hold has a business id of the caller's own, unique among
// active holds: 1 to 200 bytes, not beginning with "transfer:". Reserve, extend and release leave no event, so of their
// options only the key counts.

// Claims `amount`, if that much is available (insufficient_funds). An active id again: the same hold for the same
// payer and amount, else hold_conflict. An id whose hold ended gets a new hold.
struct Reserve {
  UserRef payer = {};
  Amount amount = {};  // > 0
  std::string hold = {};
  std::optional<std::chrono::seconds> lifetime = {};  // ends by itself after this time; default: never
  EventOptions options = {};
};

// Raises what an active hold claims to `amount`, checking the difference (insufficient_funds), or moves its deadline,
// or both. At least one of them. unknown_hold, hold_ended, hold_conflict (an amount below the present one).
struct Extend {
  std::string hold = {};
  std::optional<Amount> amount = {};                  // in all, not in addition
  std::optional<std::chrono::seconds> lifetime = {};  // from now
  EventOptions options = {};
};

// Ends an active hold and gives back what it still claims. Nothing active under the id: nothing happens, amount 0.
struct Release {
  std::string hold = {};
  EventOptions options = {};
};

// Charges a part of what a hold claims: payer → payee, or → sink. Never beyond what is left of it (hold_exceeded). When
// all is captured, the hold ends as consumed.
struct Capture {
  std::string hold = {};
  Amount amount = {};  // > 0
  bool final = false;  // release the rest
  bool over = false;   // take what exceeds the hold from what is available; a debt class may owe it
  bool late = false;   // when the hold has ended: a plain charge, if available, instead of hold_ended
  std::optional<UserRef> payee = {};
  std::string reason = {};  // kept as detail; may be empty, at most 200 bytes
  EventOptions options = {};
};

using Command = std::variant<TopUp, Award, Opening, AdminAdjustment, StyleReward, Charge, UptimeReward, Settlement,
                             InterrogationSettlement, ActivationTax, Transfer, Reserve, Extend, Release, Capture>;

// The stable name of the command's kind, e.g. "settle": part of the scope of an idempotency key.
std::string_view command_kind(const Command& command);
const EventOptions& command_options(const Command& command);

}  // namespace kudos
