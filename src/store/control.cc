#include "store/control.h"

#include "base/try.h"

namespace kudos::store {
namespace {

constexpr db::Statement kReadControl{
    "read_control", "SELECT mode::text, changed_at, transfer_guard_seconds FROM @schema@.kudos_ledger_control"};
constexpr db::Statement kSetTransferGuard{"set_transfer_guard", R"(
UPDATE @schema@.kudos_ledger_control SET transfer_guard_seconds = $1::integer
WHERE transfer_guard_seconds <> $1::integer)"};
constexpr db::Statement kSetPatience{"set_patience", "SELECT set_config('lock_timeout', $1::text, true)"};
constexpr db::Statement kLock{"control_lock", "SELECT pg_advisory_xact_lock($1::bigint)"};
constexpr db::Statement kSetLedger{"set_ledger", R"(
UPDATE @schema@.kudos_ledger_control SET mode = 'ledger', changed_at = clock_timestamp() WHERE mode <> 'ledger')"};
constexpr std::string_view kLockTimeout = "55P03";

}  // namespace

Result<Control> read_control(db::Connection& connection) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kReadControl));
  return Control{rows.text(0, 0) == "ledger" ? Mode::ledger : Mode::shadow, rows.timestamp(0, 1), rows.int32(0, 2)};
}

Status switch_to_ledger(db::Connection& connection, const LockKeys& keys, std::chrono::milliseconds patience) {
  connection.queue(db::kBegin);
  connection.queue(kSetPatience, db::Params().add(std::to_string(patience.count()) + "ms"));
  connection.queue(kLock, db::Params().add(keys.applier));
  connection.queue(kLock, db::Params().add(keys.mode_gate));
  connection.queue(kSetLedger);
  connection.queue(db::kCommit);
  auto done = connection.flush();
  if (done) return {};
  connection.roll_back();
  if (done.error().sqlstate != kLockTimeout) return std::unexpected(std::move(done).error());
  return fail(ErrorCode::mode_change_timeout,
              "a running transaction still holds the ledger after " + std::to_string(patience.count()) + " ms",
              "Nothing was changed. Look for long transactions in pg_stat_activity and try again.");
}

Result<bool> set_transfer_guard(db::Connection& connection, std::int32_t seconds) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kSetTransferGuard, db::Params().add(seconds)));
  return rows.affected() > 0;
}

}  // namespace kudos::store
