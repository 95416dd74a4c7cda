// Reads for people: accounts, events, leaderboards.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/event.h"
#include "db/connection.h"
#include "kudos/commands.h"

namespace kudos::store {

struct UserRow {
  UserId id;
  std::string external_id;  // empty: none
  std::string account_class;
  Total floor;  // the override, else the class's
  bool floor_overridden = false;
  bool trusted = false;
  bool deleted = false;
  Total kudos;
  Total escrow;
  Total pending;  // sum of queued changes of the spendable balance
  Total pending_escrow;
  std::optional<Timestamp> last_active;
  Timestamp created;
};

// Refuses a user that doesn't exist (unknown_user). System accounts' balances are the sums of their postings.
Result<UserRow> read_user(db::Connection& connection, const UserRef& user);

struct EventRow {
  Event event;
  std::optional<FoldId> fold;
  std::optional<Timestamp> folded_at;
  std::string quarantine_reason;  // empty: none
  std::string metadata;           // JSON text; empty: none
};

// The event with all its postings; unknown_event when there is none of that id.
Result<EventRow> read_event(db::Connection& connection, const Uuid& id);

struct Leader {
  std::string id;    // a number or a UUID
  std::string name;  // may be empty
  Total kudos;
  Total contributions;  // workers and teams only
  Total fulfilments;    // workers and teams only
};

enum class Board : std::uint8_t { users, workers, teams };

// The `limit` first by kudos. System and deleted accounts aren't listed.
Result<std::vector<Leader>> read_leaders(db::Connection& connection, Board board, std::int32_t limit);

}  // namespace kudos::store
