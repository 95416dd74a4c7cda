// Errors and results, shared by every layer and every surface.
//
// There is one closed list of error codes. C++, the command line, SQL and HTTP spell a code the same way
// (`error_name`). A refusal is a value: nothing was stored, and the caller's transaction is still usable. A database
// error additionally carries what PostgreSQL said and what the caller may do about it.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace kudos {

// In order of precedence: when several would apply, the first is reported.
enum class ErrorCode : std::uint8_t {
  // The request can't be right, whatever the accounts hold.
  invalid_request,
  invalid_amount,
  amount_too_precise,
  amount_out_of_range,
  amount_not_positive,
  invalid_metadata,
  invalid_statistic,
  unbalanced_event,
  too_many_postings,
  // The calling transaction can't carry it.
  wrong_isolation_level,
  not_in_transaction,
  in_transaction,
  shadow_mode_unsupported,
  // What it names doesn't exist or doesn't fit.
  unknown_user,
  system_account,
  unknown_worker,
  unknown_team,
  unknown_event,
  already_exists,
  account_deleted,
  idempotency_conflict,
  // What admission refuses. Transfers are refused in this order.
  anonymous_payer,
  unknown_recipient,
  anonymous_recipient,
  same_account,
  suspicious_payer,
  flagged_payer,
  education_payer,
  deleted_payer,
  suspicious_recipient,
  flagged_recipient,
  deleted_recipient,
  reverse_transfer,
  unknown_hold,
  wrong_payer,
  hold_conflict,
  hold_ended,
  hold_exceeded,
  insufficient_funds,
  overloaded,
  // The installation isn't ready.
  schema_missing,
  schema_too_old,
  schema_too_new,
  server_too_old,
  applier_busy,
  mode_change_timeout,
  data_directory,
  server_start_failed,
  already_running,
  // Input files.
  file_unreadable,
  wrong_format,
  bad_row,
  // PostgreSQL.
  database_unavailable,
  database_error,
  commit_in_doubt,
  timed_out,
};

// The stable name, e.g. "amount_too_precise".
std::string_view error_name(ErrorCode code);
// The inverse; false when no code has that name.
bool error_from_name(std::string_view name, ErrorCode& code);

// What helps after a database error.
enum class Recovery : std::uint8_t {
  none,       // running it again gives the same answer
  retry,      // roll back and run the transaction again (deadlock, serialization, lock timeout)
  reconnect,  // the connection is gone; nothing was committed
  in_doubt,   // the connection went away during COMMIT: look for the event id before anything else
};

struct Error {
  ErrorCode code = ErrorCode::invalid_request;
  std::string message;    // what was refused, the value and the rule, for a person
  std::string hint;       // what to do next; may be empty
  std::string sqlstate;   // from PostgreSQL, else empty
  std::string statement;  // the name of the statement that failed, else empty
  Recovery recovery = Recovery::none;

  // "amount_too_precise: 1.234 has three decimals. Use at most two."
  std::string to_string() const;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string hint = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(hint), {}, {}, Recovery::none});
}

}  // namespace kudos
