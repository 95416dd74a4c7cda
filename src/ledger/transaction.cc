#include "kudos/transaction.h"

#include <algorithm>
#include <libpq-fe.h>
#include <random>
#include <thread>

#include "base/try.h"
#include "db/errors.h"
#include "ledger/session_impl.h"

namespace kudos {
namespace {

void count(RetryCounters* counters, std::atomic<std::int64_t> RetryCounters::* counter) {
  if (counters != nullptr) (counters->*counter).fetch_add(1, std::memory_order_relaxed);
}

Status attempt(db::Connection& connection, const std::function<Status()>& work) {
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_TRY(work());
  KUDOS_TRY(connection.execute(db::kCommit));
  return {};
}

}  // namespace

bool is_retryable(const Error& error, RetryCounters* counters) {
  if (error.recovery != Recovery::retry) return false;
  if (error.sqlstate == "40P01")
    count(counters, &RetryCounters::deadlocks);
  else if (error.sqlstate == "40001")
    count(counters, &RetryCounters::serializations);
  else
    count(counters, &RetryCounters::timeouts);
  return true;
}

std::chrono::microseconds retry_pause(const RetryOptions& options, int attempt) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const auto longest = std::chrono::microseconds(options.longest_pause);
  auto pause = std::chrono::microseconds(options.first_pause);
  for (int i = 1; i < attempt && pause < longest; ++i) pause *= 2;
  pause = std::min(pause, longest);
  return std::chrono::microseconds(
      std::uniform_int_distribution<std::int64_t>(pause.count() / 2, pause.count())(random));
}

Status run_transaction(Session& session, const std::function<Status()>& work, const RetryOptions& options,
                       RetryCounters* counters) {
  db::Connection& connection = session.impl().connection;
  for (int tries = 1;; ++tries) {
    auto done = attempt(connection, work);
    if (done) return {};
    connection.roll_back();
    if (!is_retryable(done.error(), counters)) return done;
    if (tries >= options.attempts) {
      count(counters, &RetryCounters::given_up);
      return done;
    }
    std::this_thread::sleep_for(retry_pause(options, tries));
  }
}

Status check_result(pg_result* result) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> owned(result, &PQclear);
  const auto status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY) return {};
  const auto field = [&](int name) {
    const char* text = PQresultErrorField(result, name);
    return std::string_view(text == nullptr ? "" : text);
  };
  if (field(PG_DIAG_SQLSTATE).empty())
    return std::unexpected(db::lost_connection(db::one_line(PQresultErrorMessage(result)), "", false));
  return std::unexpected(
      db::server_error(field(PG_DIAG_SQLSTATE), field(PG_DIAG_MESSAGE_PRIMARY), field(PG_DIAG_MESSAGE_HINT), ""));
}

}  // namespace kudos
