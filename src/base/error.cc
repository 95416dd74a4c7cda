#include "kudos/error.h"

#include <array>

namespace kudos {
namespace {

struct Named {
  ErrorCode code;
  std::string_view name;
};

constexpr std::array kNames = {
    Named{ErrorCode::invalid_request, "invalid_request"},
    Named{ErrorCode::invalid_amount, "invalid_amount"},
    Named{ErrorCode::amount_too_precise, "amount_too_precise"},
    Named{ErrorCode::amount_out_of_range, "amount_out_of_range"},
    Named{ErrorCode::amount_not_positive, "amount_not_positive"},
    Named{ErrorCode::invalid_metadata, "invalid_metadata"},
    Named{ErrorCode::invalid_statistic, "invalid_statistic"},
    Named{ErrorCode::unbalanced_event, "unbalanced_event"},
    Named{ErrorCode::too_many_postings, "too_many_postings"},
    Named{ErrorCode::wrong_isolation_level, "wrong_isolation_level"},
    Named{ErrorCode::not_in_transaction, "not_in_transaction"},
    Named{ErrorCode::in_transaction, "in_transaction"},
    Named{ErrorCode::shadow_mode_unsupported, "shadow_mode_unsupported"},
    Named{ErrorCode::unknown_user, "unknown_user"},
    Named{ErrorCode::system_account, "system_account"},
    Named{ErrorCode::unknown_worker, "unknown_worker"},
    Named{ErrorCode::unknown_team, "unknown_team"},
    Named{ErrorCode::unknown_event, "unknown_event"},
    Named{ErrorCode::already_exists, "already_exists"},
    Named{ErrorCode::account_deleted, "account_deleted"},
    Named{ErrorCode::idempotency_conflict, "idempotency_conflict"},
    Named{ErrorCode::anonymous_payer, "anonymous_payer"},
    Named{ErrorCode::unknown_recipient, "unknown_recipient"},
    Named{ErrorCode::anonymous_recipient, "anonymous_recipient"},
    Named{ErrorCode::same_account, "same_account"},
    Named{ErrorCode::suspicious_payer, "suspicious_payer"},
    Named{ErrorCode::flagged_payer, "flagged_payer"},
    Named{ErrorCode::education_payer, "education_payer"},
    Named{ErrorCode::deleted_payer, "deleted_payer"},
    Named{ErrorCode::suspicious_recipient, "suspicious_recipient"},
    Named{ErrorCode::flagged_recipient, "flagged_recipient"},
    Named{ErrorCode::deleted_recipient, "deleted_recipient"},
    Named{ErrorCode::reverse_transfer, "reverse_transfer"},
    Named{ErrorCode::unknown_hold, "unknown_hold"},
    Named{ErrorCode::wrong_payer, "wrong_payer"},
    Named{ErrorCode::hold_conflict, "hold_conflict"},
    Named{ErrorCode::hold_ended, "hold_ended"},
    Named{ErrorCode::hold_exceeded, "hold_exceeded"},
    Named{ErrorCode::insufficient_funds, "insufficient_funds"},
    Named{ErrorCode::overloaded, "overloaded"},
    Named{ErrorCode::schema_missing, "schema_missing"},
    Named{ErrorCode::schema_too_old, "schema_too_old"},
    Named{ErrorCode::schema_too_new, "schema_too_new"},
    Named{ErrorCode::server_too_old, "server_too_old"},
    Named{ErrorCode::applier_busy, "applier_busy"},
    Named{ErrorCode::mode_change_timeout, "mode_change_timeout"},
    Named{ErrorCode::data_directory, "data_directory"},
    Named{ErrorCode::server_start_failed, "server_start_failed"},
    Named{ErrorCode::already_running, "already_running"},
    Named{ErrorCode::file_unreadable, "file_unreadable"},
    Named{ErrorCode::wrong_format, "wrong_format"},
    Named{ErrorCode::bad_row, "bad_row"},
    Named{ErrorCode::database_unavailable, "database_unavailable"},
    Named{ErrorCode::database_error, "database_error"},
    Named{ErrorCode::commit_in_doubt, "commit_in_doubt"},
    Named{ErrorCode::timed_out, "timed_out"},
};

constexpr bool names_are_in_order() {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (static_cast<std::size_t>(kNames[i].code) != i) return false;
  return true;
}
static_assert(names_are_in_order(), "kNames lists every ErrorCode in the order of the enumeration");

}  // namespace

std::string_view error_name(ErrorCode code) { return kNames[static_cast<std::size_t>(code)].name; }

bool error_from_name(std::string_view name, ErrorCode& code) {
  for (const Named& named : kNames) {
    if (named.name != name) continue;
    code = named.code;
    return true;
  }
  return false;
}

std::string Error::to_string() const {
  std::string text{error_name(code)};
  text += ": ";
  text += message;
  if (!sqlstate.empty()) text += " [" + sqlstate + (statement.empty() ? "" : " in " + statement) + "]";
  if (!hint.empty()) text += "\nhint: " + hint;
  return text;
}

}  // namespace kudos
