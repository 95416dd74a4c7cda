// The life of a streamed request: the estimate is held before the first token, the hold grows while tokens flow, and
// the true cost is captured at the end, however late, once.
//
//   stream CONNINFO        e.g. stream "host=/var/lib/kudos/socket user=kudos dbname=kudos"
//
// It needs a user alice with something to spend, and makes a table `streams`.
#include <cstdio>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kudos/batcher.h"
#include "kudos/session.h"
#include "kudos/transaction.h"

namespace {

using Connection = std::unique_ptr<PGconn, decltype([](PGconn* connection) { PQfinish(connection); })>;

constexpr const char* kStream = "stream-17";

// The service's own row and the hold of the estimate, together. The work may run more than once.
kudos::Status begin_stream(PGconn* connection, kudos::Session& session) {
  return kudos::run_transaction(session, [&]() -> kudos::Status {
    const char* insert = "INSERT INTO streams VALUES ('stream-17', 'running')";
    if (auto failed = kudos::check_result(PQexec(connection, insert)); !failed) return failed;
    kudos::Reserve estimate;
    estimate.payer = kudos::UserRef::external("alice");
    estimate.amount = kudos::Amount::whole(10);
    estimate.hold = kStream;
    estimate.lifetime = std::chrono::minutes(10);  // given back by itself if we die
    const auto held = kudos::emit(session, estimate);
    if (!held) return std::unexpected(held.error());
    return {};
  });
}

// What follows needs no transaction of the service's own: group commit gathers it with what other threads send.
kudos::Result<kudos::Receipt> extend(kudos::Batcher& batcher, std::int64_t amount) {
  return batcher.run(kudos::Extend{.hold = kStream, .amount = kudos::Amount::whole(amount)});
}

// Above the hold if need be (`over`), after its end if need be (`late`), and once, whoever sends it again (the key).
kudos::Result<kudos::Receipt> settle(kudos::Batcher& batcher, std::int64_t cost) {
  kudos::Capture capture{.hold = kStream, .amount = kudos::Amount::whole(cost)};
  capture.final = capture.over = capture.late = true;
  capture.options.key = {"example", std::string("cost of ") + kStream};
  return batcher.run(capture);
}

void say(const char* what, const kudos::Result<kudos::Receipt>& receipt) {
  if (receipt)
    std::printf("%s: %s%s\n", what, receipt->amount.to_string().c_str(), receipt->replayed ? ", replayed" : "");
  else
    std::printf("%s: %s\n", what, receipt.error().to_string().c_str());
}

kudos::Status show_funds(kudos::Session& session) {
  return kudos::run_transaction(session, [&]() -> kudos::Status {
    const auto funds = kudos::read_funds(session, kudos::UserRef::external("alice"));
    if (!funds) return std::unexpected(funds.error());
    std::printf("alice has %s available\n", funds->available.to_string().c_str());
    return {};
  });
}

kudos::Status run(const char* conninfo) {
  const Connection connection(PQconnectdb(conninfo));
  if (PQstatus(connection.get()) != CONNECTION_OK)
    return kudos::fail(kudos::ErrorCode::database_unavailable, PQerrorMessage(connection.get()));
  auto session = kudos::Session::attach(connection.get());
  if (!session) return std::unexpected(session.error());
  const char* table = "CREATE TABLE IF NOT EXISTS streams (id text PRIMARY KEY, state text NOT NULL)";
  if (auto failed = kudos::check_result(PQexec(connection.get(), table)); !failed) return failed;

  if (auto begun = begin_stream(connection.get(), *session); !begun) return begun;
  if (auto shown = show_funds(*session); !shown) return shown;
  kudos::Batcher batcher({.conninfo = conninfo});
  say("extended", extend(batcher, 20));
  say("extended", extend(batcher, 30));
  // The true cost is above the last estimate, and two of our workers report it at once.
  std::vector<std::thread> reporters;
  for (int i = 0; i < 2; ++i) reporters.emplace_back([&] { say("charged", settle(batcher, 37)); });
  for (auto& reporter : reporters) reporter.join();
  return show_funds(*session);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: stream CONNINFO\n");
    return 2;
  }
  const auto done = run(argv[1]);
  if (!done) std::fprintf(stderr, "%s\n", done.error().to_string().c_str());
  return done ? 0 : 1;
}
