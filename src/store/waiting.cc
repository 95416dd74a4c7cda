#include "store/waiting.h"

#include "base/try.h"

namespace kudos::store {
namespace {

constexpr db::Statement kReadOutcome{"read_outcome", R"(
SELECT fold_id IS NOT NULL OR inline, quarantine_reason IS NOT NULL FROM @schema@.kudos_events
WHERE event_id = $1::uuid)"};
constexpr db::Statement kWaitPosition{"wait_position", "SELECT @schema@.kudos_wait_position()::text"};
constexpr db::Statement kFoldedUpTo{"folded_up_to", "SELECT @schema@.kudos_folded_up_to($1::int8multirange)"};

}  // namespace

Result<std::optional<WaitOutcome>> read_outcome(db::Connection& connection, const Uuid& event) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kReadOutcome, db::Params().add(event)));
  if (rows.empty()) return fail(ErrorCode::unknown_event, "there is no event " + event.to_string());
  if (!rows.boolean(0, 0)) return std::nullopt;
  return rows.boolean(0, 1) ? WaitOutcome::quarantined : WaitOutcome::folded;
}

Result<std::string> wait_position(db::Connection& connection) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kWaitPosition));
  return std::string(rows.text(0, 0));
}

Result<bool> folded_up_to(db::Connection& connection, std::string_view position) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kFoldedUpTo, db::Params().add_text_format(position)));
  return rows.boolean(0, 0);
}

}  // namespace kudos::store
