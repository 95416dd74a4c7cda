#include "ledger/failure.h"

namespace kudos::ledger {
namespace {

FailureKind retryable_kind(std::string_view sqlstate) {
  if (sqlstate == "40P01") return FailureKind::deadlock;
  if (sqlstate == "40001") return FailureKind::serialization;
  if (sqlstate == "55P03") return FailureKind::lock_timeout;
  if (sqlstate == "57014") return FailureKind::statement_timeout;
  return FailureKind::unexpected;
}

}  // namespace

FailureKind failure_kind(const Error& error) {
  if (error.recovery == Recovery::in_doubt) return FailureKind::in_doubt;
  if (error.recovery == Recovery::reconnect || error.code == ErrorCode::database_unavailable)
    return FailureKind::connection;
  return retryable_kind(error.sqlstate);
}

std::string_view failure_name(FailureKind kind) {
  constexpr std::array<std::string_view, kFailureKinds> kNames = {
      "deadlock", "serialization", "lock_timeout", "statement_timeout", "connection", "in_doubt", "unexpected"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace kudos::ledger
