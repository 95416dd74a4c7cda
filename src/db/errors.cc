#include "db/errors.h"

#include <algorithm>
#include <array>
#include <span>

namespace kudos::db {
namespace {

using namespace std::string_view_literals;

// Deadlock, serialization failure, lock timeout, statement timeout.
constexpr std::array kRetryable = {"40P01"sv, "40001"sv, "55P03"sv, "57014"sv};
// The server ends the session: shutdown, crash of a neighbour, starting up, idle timeouts.
constexpr std::array kDisconnecting = {"57P01"sv, "57P02"sv, "57P03"sv, "57P05"sv, "25P03"sv};

bool contains(std::span<const std::string_view> states, std::string_view sqlstate) {
  return std::ranges::find(states, sqlstate) != states.end();
}

Recovery recovery_for(std::string_view sqlstate) {
  if (contains(kRetryable, sqlstate)) return Recovery::retry;
  if (contains(kDisconnecting, sqlstate) || sqlstate.starts_with("08")) return Recovery::reconnect;
  return Recovery::none;
}

// "applier_busy: …" raised by one of our functions.
bool split_name(std::string_view message, ErrorCode& code, std::string_view& rest) {
  const auto colon = message.find(": ");
  if (colon == std::string_view::npos) return false;
  rest = message.substr(colon + 2);
  return error_from_name(message.substr(0, colon), code);
}

}  // namespace

Error server_error(std::string_view sqlstate, std::string_view message, std::string_view hint,
                   std::string_view statement) {
  ErrorCode code = ErrorCode::database_error;
  std::string_view rest = message;
  if (sqlstate.starts_with("KD") && split_name(message, code, rest))
    return {code, std::string(rest), std::string(hint), {}, {}, Recovery::none};
  const Recovery recovery = recovery_for(sqlstate);
  code = recovery == Recovery::reconnect ? ErrorCode::database_unavailable : ErrorCode::database_error;
  return {code, one_line(message), std::string(hint), std::string(sqlstate), std::string(statement), recovery};
}

Error lost_connection(std::string message, std::string_view statement, bool commit_sent) {
  if (commit_sent)
    return {ErrorCode::commit_in_doubt,
            "the connection was lost while committing: " + message,
            "Look for the event by its id or idempotency key before sending it again.",
            {},
            std::string(statement),
            Recovery::in_doubt};
  return {ErrorCode::database_unavailable,
          "the connection was lost: " + message,
          {},
          {},
          std::string(statement),
          Recovery::reconnect};
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) line += c == '\n' || c == '\t' ? ' ' : c;
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace kudos::db
