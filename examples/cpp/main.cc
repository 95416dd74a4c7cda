// A service that finishes jobs on its own libpq connection: the row of the job and the facts of its settlement commit
// together or not at all.
//
//   settle CONNINFO        e.g. settle "host=/var/lib/kudos/socket user=kudos dbname=kudos"
//
// It makes what it needs (users alice and bob, bob's machine, a table `jobs`), finishes one job and commits, finishes
// another and rolls back, and settles three at once. After each it asks the database what remains.
#include <cstdio>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kudos/accounts.h"
#include "kudos/session.h"

namespace {

using Connection = std::unique_ptr<PGconn, decltype([](PGconn* connection) { PQfinish(connection); })>;
using Rows = std::unique_ptr<PGresult, decltype([](PGresult* rows) { PQclear(rows); })>;

struct Job {
  kudos::Uuid id;
  std::string requester;
  kudos::Uuid worker;
  kudos::Amount cost;
};

// ---- The service's own SQL ----

// One statement of ours. After an error PostgreSQL has aborted the transaction.
kudos::Result<Rows> query(PGconn* connection, const char* sql, const std::vector<std::string>& values = {}) {
  std::vector<const char*> texts;
  for (const std::string& value : values) texts.push_back(value.c_str());
  Rows rows(PQexecParams(connection, sql, static_cast<int>(texts.size()), nullptr, texts.data(), nullptr, nullptr, 0));
  const auto status = PQresultStatus(rows.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return rows;
  return kudos::fail(kudos::ErrorCode::database_error, PQerrorMessage(connection));
}

// COMMIT has three ends: done; refused, and all is rolled back; or the connection went away and nobody knows.
kudos::Status commit(PGconn* connection) {
  const Rows end(PQexec(connection, "COMMIT"));
  // An aborted transaction answers COMMIT with ROLLBACK, which libpq doesn't count as an error.
  if (PQresultStatus(end.get()) == PGRES_COMMAND_OK && std::string_view(PQcmdStatus(end.get())) == "COMMIT") return {};
  kudos::Error error;
  error.code = kudos::ErrorCode::database_error;
  error.message = PQerrorMessage(connection);
  if (PQstatus(connection) != CONNECTION_OK) {
    error.code = kudos::ErrorCode::commit_in_doubt;
    error.hint = "Connect anew and run it again: the key makes that safe.";
    error.recovery = kudos::Recovery::in_doubt;
  }
  return std::unexpected(error);
}

void roll_back(PGconn* connection) { Rows(PQexec(connection, "ROLLBACK")); }

// ---- A job and its settlement ----

kudos::Settlement settlement_of(const Job& job) {
  kudos::Settlement settlement;
  settlement.requester = kudos::UserRef::external(job.requester);
  settlement.worker = job.worker;
  settlement.cost = job.cost;
  settlement.things = kudos::Amount::whole(2'000'000);  // pixelsteps
  settlement.job_id = job.id;
  settlement.options.key = {"example", "job-" + job.id.to_string()};
  return settlement;
}

// Our row and its facts, in the transaction that is open.
kudos::Result<kudos::Receipt> finish(PGconn* connection, kudos::Session& session, const Job& job) {
  const auto inserted = query(connection,
                              "INSERT INTO jobs (id, requester, worker, cost, state) "
                              "VALUES ($1, $2, $3, $4, 'done') ON CONFLICT (id) DO NOTHING",
                              {job.id.to_string(), job.requester, job.worker.to_string(), job.cost.to_string()});
  if (!inserted) return std::unexpected(inserted.error());
  return kudos::emit(session, settlement_of(job));
}

kudos::Result<kudos::Receipt> finish_once(PGconn* connection, kudos::Session& session, const Job& job) {
  if (auto begun = query(connection, "BEGIN ISOLATION LEVEL READ COMMITTED"); !begun)
    return std::unexpected(begun.error());
  auto receipt = finish(connection, session, job);
  if (!receipt) {
    roll_back(connection);
    return receipt;
  }
  if (auto committed = commit(connection); !committed) return std::unexpected(committed.error());
  return receipt;
}

// The whole transaction again where that helps: a deadlock, a lock timeout. A refusal would only be refused again.
kudos::Result<kudos::Receipt> finish_and_commit(PGconn* connection, kudos::Session& session, const Job& job) {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    auto receipt = finish_once(connection, session, job);
    if (receipt || receipt.error().recovery != kudos::Recovery::retry || attempt == kAttempts) return receipt;
  }
}

// Many jobs in the same two round trips. Each has its own result; a refused one doesn't touch its neighbours.
kudos::Status settle_all(PGconn* connection, kudos::Session& session, const std::vector<Job>& jobs) {
  std::vector<kudos::Command> commands;
  for (const Job& job : jobs) commands.push_back(settlement_of(job));

  if (auto begun = query(connection, "BEGIN ISOLATION LEVEL READ COMMITTED"); !begun)
    return std::unexpected(begun.error());
  const auto receipts = kudos::emit(session, commands);
  if (!receipts) {
    roll_back(connection);
    return std::unexpected(receipts.error());
  }
  for (const auto& receipt : *receipts) std::printf("  %s\n", receipt ? "stored" : receipt.error().to_string().c_str());
  return commit(connection);
}

// ---- The three acts ----

// A failure here needs no rollback: the program ends, and its connection with it.
kudos::Status prepare(PGconn* connection, kudos::Session& session, const kudos::Uuid& machine) {
  if (auto begun = query(connection, "BEGIN ISOLATION LEVEL READ COMMITTED"); !begun)
    return std::unexpected(begun.error());
  std::vector<kudos::NewUser> users(2);
  users[0].external_id = "alice";
  users[1].external_id = "bob";
  std::vector<kudos::NewWorker> workers(1);
  workers[0].id = machine;
  workers[0].name = "bob's machine";
  workers[0].owner = kudos::UserRef::external("bob");
  workers[0].worker_type = "image";
  // What exists already stays as it is.
  if (auto made = kudos::ensure_users(session, users); !made) return std::unexpected(made.error());
  if (auto made = kudos::ensure_workers(session, workers); !made) return made;
  if (auto made = query(connection,
                        "CREATE TABLE IF NOT EXISTS jobs (id uuid PRIMARY KEY, requester text NOT NULL, "
                        "worker uuid NOT NULL, cost numeric(20,2) NOT NULL, state text NOT NULL)");
      !made)
    return std::unexpected(made.error());
  return commit(connection);
}

kudos::Status show_what_remains(PGconn* connection, const kudos::Uuid& job) {
  const auto rows = query(connection,
                          "SELECT (SELECT count(*) FROM jobs WHERE id = $1), "
                          "(SELECT count(*) FROM kudos_events WHERE job_id = $1)",
                          {job.to_string()});
  if (!rows) return std::unexpected(rows.error());
  std::printf("  remains: %s row in jobs, %s event\n", PQgetvalue(rows->get(), 0, 0), PQgetvalue(rows->get(), 0, 1));
  return {};
}

kudos::Status commit_one(PGconn* connection, kudos::Session& session, const Job& job) {
  const auto receipt = finish_and_commit(connection, session, job);
  if (!receipt) return std::unexpected(receipt.error());
  std::printf("committed: job %s is event %s\n", job.id.to_string().c_str(), receipt->event_id.to_string().c_str());
  if (auto shown = show_what_remains(connection, job.id); !shown) return shown;

  // As a service does that never heard how its COMMIT ended.
  const auto again = finish_and_commit(connection, session, job);
  if (!again) return std::unexpected(again.error());
  std::printf("again with the same key: %s\n", again->replayed ? "replayed" : "stored twice");
  return show_what_remains(connection, job.id);
}

kudos::Status roll_one_back(PGconn* connection, kudos::Session& session, const Job& job) {
  if (auto begun = query(connection, "BEGIN ISOLATION LEVEL READ COMMITTED"); !begun)
    return std::unexpected(begun.error());
  const auto receipt = finish(connection, session, job);
  roll_back(connection);
  if (!receipt) return std::unexpected(receipt.error());
  std::printf("rolled back: job %s was event %s\n", job.id.to_string().c_str(), receipt->event_id.to_string().c_str());
  return show_what_remains(connection, job.id);
}

kudos::Status run(const char* conninfo) {
  const Connection connection(PQconnectdb(conninfo));
  if (PQstatus(connection.get()) != CONNECTION_OK)
    return kudos::fail(kudos::ErrorCode::database_unavailable, PQerrorMessage(connection.get()));
  PQsetNoticeProcessor(connection.get(), [](void*, const char*) {}, nullptr);
  auto session = kudos::Session::attach(connection.get());
  if (!session) return std::unexpected(session.error());

  const auto machine = kudos::Uuid::v5({}, "bob's machine");
  const auto job = [](const kudos::Uuid& worker) {
    return Job{kudos::Uuid::v7(), "alice", worker, kudos::Amount::whole(12)};
  };
  if (auto done = prepare(connection.get(), *session, machine); !done) return done;
  if (auto done = commit_one(connection.get(), *session, job(machine)); !done) return done;
  if (auto done = roll_one_back(connection.get(), *session, job(machine)); !done) return done;
  std::printf("three at once:\n");
  return settle_all(connection.get(), *session, {job(machine), job(kudos::Uuid::v7()), job(machine)});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: settle CONNINFO\n");
    return 2;
  }
  const auto done = run(argv[1]);
  if (done) return 0;
  std::fprintf(stderr, "settle: %s\n", done.error().to_string().c_str());
  return 1;
}
