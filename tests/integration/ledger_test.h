// The base of the integration tests: one private PostgreSQL for the program, an empty ledger in ledger mode for each
// test, and named connections to play dialogues with.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "kudos/accounts.h"
#include "kudos/session.h"
#include "ledger/projector.h"
#include "sim/scratch_ledger.h"

namespace kudos::testing {

// The value of a result that must be there; a failure is reported with the error's text and ends the program, since the
// rest of the test would be about nothing.
template <class T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().to_string();
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

class LedgerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server(); }
  void SetUp() override { server().fresh_database(); }

  static sim::ScratchLedger& server() {
    static sim::ScratchLedger ledger;
    return ledger;
  }

  // A session with a transaction begun.
  static sim::Client begin() {
    auto client = server().client();
    must(client.connection.execute(db::kBegin));
    return client;
  }
  static void commit(sim::Client& client) { must(client.connection.execute(db::kCommit)); }

  static UserId make_user(const std::string& name, const std::string& account_class = "standard",
                          bool trusted = false) {
    auto client = begin();
    const NewUser user{.external_id = name, .account_class = account_class, .trusted = trusted};
    const auto ids = must(ensure_users(client.session, std::span(&user, 1)));
    commit(client);
    return ids.front();
  }

  static Uuid make_worker(const std::string& name, const std::string& owner, std::optional<Uuid> team = {},
                          const std::string& type = "image") {
    auto client = begin();
    const NewWorker worker{Uuid::v5({}, name), name, UserRef::external(owner), team, type};
    must(ensure_workers(client.session, std::span(&worker, 1)));
    commit(client);
    return worker.id;
  }

  static Uuid make_team(const std::string& name, const std::string& owner) {
    auto client = begin();
    const NewTeam team{Uuid::v5({}, "team " + name), name, UserRef::external(owner)};
    must(ensure_teams(client.session, std::span(&team, 1)));
    commit(client);
    return team.id;
  }

  static Receipt emit_and_commit(const Command& command) {
    auto client = begin();
    const auto receipt = must(emit(client.session, command));
    commit(client);
    return receipt;
  }

  static ledger::Projector projector(std::int32_t batch = 1000) {
    return must(ledger::Projector::create(server().open(), {.batch_postings = batch}));
  }

  // Folds until a cycle finds nothing; the number of events folded.
  static std::int64_t fold_all(ledger::Projector& projector) {
    std::int64_t events = 0;
    for (;;) {
      const auto report = must(projector.run_once());
      if (report.events == 0) return events;
      events += report.events;
    }
  }
  static std::int64_t fold_all() {
    auto own = projector();
    return fold_all(own);
  }

  static std::string ask(const std::string& sql) { return server().ask(sql); }
  static std::string balance(const std::string& name) {
    return ask("SELECT kudos FROM users WHERE external_id = '" + name + "'");
  }
  static std::string pending() { return ask("SELECT count(*) FROM kudos_events WHERE fold_id IS NULL"); }

  // Invariants that hold after every test (rules 4 and 10): no balance differs from the sum of its postings, no event
  // is in two folds, all currency sums to zero.
  void TearDown() override {
    EXPECT_EQ(ask("SELECT coalesce(sum(amount), 0) = 0 FROM kudos_postings"), "t");
    EXPECT_EQ(ask(R"(SELECT count(*) FROM users u WHERE account_class <> 'system' AND kudos <>
                     (SELECT coalesce(sum(p.amount), 0) FROM kudos_postings p JOIN kudos_events e ON e.seq = p.event_seq
                      WHERE p.user_id = u.id AND NOT p.escrow AND (e.fold_id IS NOT NULL OR e.inline)))"),
              expected_drift_);
    EXPECT_EQ(ask("SELECT count(*) FROM kudos_folds f WHERE events + floor_adjustments <> "
                  "(SELECT count(*) FROM kudos_events e WHERE e.fold_id = f.id)"),
              "0");
  }

  std::string expected_drift_ = "0";
};

inline TopUp top_up(const std::string& user, std::int64_t amount, const std::string& key = {}) {
  TopUp command{UserRef::external(user), Amount::whole(amount), {}};
  if (!key.empty()) command.options.key = {"test", key};
  return command;
}

inline Settlement settle(const std::string& requester, const Uuid& worker, std::int64_t cost) {
  Settlement job;
  job.requester = UserRef::external(requester);
  job.worker = worker;
  job.cost = Amount::whole(cost);
  job.things = Amount::whole(2'000'000);
  return job;
}

}  // namespace kudos::testing
