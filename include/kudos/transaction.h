// Transactions that run again after a deadlock: for services that do their own work and emit in one transaction.
//
//   auto done = kudos::run_transaction(session, [&]() -> kudos::Status {
//     if (auto failed = kudos::check_result(PQexec(connection, "UPDATE jobs SET state = 'active' WHERE id = 7"));
//     !failed)
//       return failed;
//     auto receipt = kudos::emit(session, kudos::ActivationTax{...});
//     if (!receipt) return std::unexpected(receipt.error());
//     return {};
//   });
//
// Kudos takes its locks in one order, so its own transactions don't deadlock with each other. Together with a service's
// own rows they may.
//
// Thread-safety: as the session's; counters may be shared by threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "kudos/error.h"
#include "kudos/session.h"

struct pg_result;

namespace kudos {

struct RetryOptions {
  int attempts = 8;  // in all
  std::chrono::milliseconds first_pause{2};
  std::chrono::milliseconds longest_pause{250};
};

// How often transactions ran again, for metrics.
struct RetryCounters {
  std::atomic<std::int64_t> deadlocks = 0;       // 40P01
  std::atomic<std::int64_t> serializations = 0;  // 40001: a twin was first, or the host's own isolation
  std::atomic<std::int64_t> timeouts = 0;        // lock or statement timeout
  std::atomic<std::int64_t> given_up = 0;        // after the last attempt
};

// Whether running the transaction again may help (Recovery::retry), counted.
bool is_retryable(const Error& error, RetryCounters* counters = nullptr);

// The pause before attempt number `attempt` (the first repetition is 1): doubles up to the longest, and is drawn
// between half of it and all of it, so that two victims don't meet again.
std::chrono::microseconds retry_pause(const RetryOptions& options, int attempt);

// Begins a transaction (READ COMMITTED), runs `work`, commits. When `work` or the commit fails, rolls back; when
// running it again may help, does so after a pause, up to `attempts` in all. `work` must have no effect outside the
// transaction. A lost connection isn't repaired: database_unavailable, or commit_in_doubt.
Status run_transaction(Session& session, const std::function<Status()>& work, const RetryOptions& options = {},
                       RetryCounters* counters = nullptr);

// What a libpq result of the service's own says, as `run_transaction` wants it; frees the result.
Status check_result(pg_result* result);

}  // namespace kudos
