#include "kudos/wait.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "base/try.h"
#include "ledger/session_impl.h"
#include "store/waiting.h"

namespace kudos {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirstPause{1}, kLongestPause{50};
constexpr milliseconds kLongestTimeout = std::chrono::hours(24 * 365);

Status refuse_transaction(const db::Connection& connection) {
  if (!connection.in_transaction()) return {};
  return fail(ErrorCode::in_transaction, "the connection has an open transaction, for which the fold may have to wait",
              "Commit first, then wait.");
}

// Asks until there is an answer; nothing when the time is up. `ask` returns Result<std::optional<T>>.
template <class Ask>
auto poll(milliseconds timeout, Ask ask) -> decltype(ask()) {
  const auto deadline = std::chrono::steady_clock::now() + std::min(timeout, kLongestTimeout);
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    KUDOS_ASSIGN(auto answer, ask());
    const auto now = std::chrono::steady_clock::now();
    if (answer || now >= deadline) return answer;
    std::this_thread::sleep_until(std::min(now + pause, deadline));
  }
}

std::unexpected<Error> timed_out(const std::string& what, milliseconds timeout) {
  return fail(ErrorCode::timed_out, what + " not folded after " + std::to_string(timeout.count()) + " ms",
              "Look at `kudos status`: does a projector run, and how long is the queue?");
}

}  // namespace

Result<WaitOutcome> wait_for_event(Session& session, const Uuid& event, milliseconds timeout) {
  db::Connection& connection = session.impl().connection;
  KUDOS_TRY(refuse_transaction(connection));
  KUDOS_ASSIGN(const auto outcome, poll(timeout, [&] { return store::read_outcome(connection, event); }));
  if (outcome) return *outcome;
  return timed_out("event " + event.to_string() + " is", timeout);
}

Status wait_for_all(Session& session, milliseconds timeout) {
  db::Connection& connection = session.impl().connection;
  KUDOS_TRY(refuse_transaction(connection));
  KUDOS_ASSIGN(const std::string position, store::wait_position(connection));
  KUDOS_ASSIGN(const auto done, poll(timeout, [&]() -> Result<std::optional<bool>> {
                 KUDOS_ASSIGN(const bool folded, store::folded_up_to(connection, position));
                 return folded ? std::optional(true) : std::nullopt;
               }));
  if (done) return {};
  return timed_out("what was committed before is", timeout);
}

}  // namespace kudos
