// A session: Kudos on one libpq connection that the caller owns.
//
//   PGconn* connection = PQconnectdb(url);
//   auto session = kudos::Session::attach(connection, {});
//   PQexec(connection, "BEGIN");
//   PQexec(connection, "UPDATE jobs SET state = 'done' WHERE id = 7");
//   auto receipt = kudos::emit(*session, kudos::Settlement{...});
//   PQexec(connection, receipt ? "COMMIT" : "ROLLBACK");
//
// The job's state and the facts commit together or not at all: Kudos never begins, commits or rolls back.
//
// Thread-safety: a session belongs to one thread at a time, as its connection does. There is no global state.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kudos/commands.h"
#include "kudos/error.h"
#include "kudos/ids.h"
#include "kudos/receipt.h"

struct pg_conn;

namespace kudos {

enum class Mode : std::uint8_t { shadow, ledger };

struct SessionOptions {
  std::string schema = "public";  // where the migrations were applied
  // Prepare statements by name. Turn it off behind a pooler in transaction mode.
  bool prepare = true;
};

class Session {
 public:
  // Checks that the schema is there and of a version that this library knows (schema_missing, schema_too_old,
  // schema_too_new). `connection` must outlive the session and be idle (no query under way) at each call.
  static Result<Session> attach(pg_conn* connection, SessionOptions options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // The library's own side of the session; opaque to callers.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Carries out one command inside the caller's open transaction, which must be READ COMMITTED (wrong_isolation_level)
// and begun (not_in_transaction). A refusal stores nothing and leaves the transaction usable; after a database error it
// is aborted and the caller rolls back (and runs it again when the error says Recovery::retry; kudos/retry.h does). Two
// or three round trips. Commands that spend from what is available lock their payer until the transaction ends.
Result<Receipt> emit(Session& session, const Command& command);

// The same for many commands in the same round trips. Each has its own result, in the order given; a refused one
// doesn't touch its neighbours, and each sees what those before it left available. The outer result fails only when the
// whole call did (context, mode, database).
Result<std::vector<Result<Receipt>>> emit(Session& session, std::span<const Command> commands);

// What a user has and may spend, read under the payer's lock, which is kept until the transaction ends.
struct Funds {
  Total balance;    // materialised
  Total escrow;     // materialised
  Total floor;      // in force
  Total held;       // active holds and queued debits: what is promised already
  Total available;  // balance − floor − held: the only value that authorises a spend
  Total effective;  // balance and everything queued, not below the floor: for a "new balance" answer
};
Result<Funds> read_funds(Session& session, const UserRef& user);

// Takes the mode gate (shared, until the transaction ends) and reads the mode.
Result<Mode> pin_mode(Session& session);

}  // namespace kudos
