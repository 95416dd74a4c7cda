// The base of the tests that run one list of cases through C++ and through SQL.
#pragma once

#include <libpq-fe.h>

#include "core/request.h"
#include "db/errors.h"
#include "ledger_test.h"

namespace kudos::testing {

inline const Uuid kImageWorker = Uuid::v5({}, "image worker"), kTextWorker = Uuid::v5({}, "text worker"),
                  kTrustedWorker = Uuid::v5({}, "trusted worker"), kBatchWorker = Uuid::v5({}, "batch worker"),
                  kNobody = Uuid::v5({}, "no worker"), kJob = Uuid::v5({}, "job");

inline std::string quoted(const Uuid& id) { return "'" + id.to_string() + "'"; }
inline UserRef ext(const std::string& name) { return UserRef::external(name); }
inline Amount amount(const char* text) { return must(Amount::parse(text)); }

inline Settlement job_of(const std::string& requester, const Uuid& worker, const char* cost, const char* things) {
  Settlement job;
  job.requester = ext(requester);
  job.worker = worker;
  job.cost = amount(cost);
  job.things = amount(things);
  return job;
}

class SurfacesTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    for (const char* name : {"alice", "owner", "multiplied", "deleted"}) make_user(name);
    make_user("postpaid", "postpaid");
    make_user("anonymous", "anonymous");
    make_user("trusted", "standard", true);
    server().run("UPDATE users SET usage_multiplier = 1.25 WHERE external_id = 'multiplied'");
    server().run("UPDATE users SET deleted_at = now() WHERE external_id = 'deleted'");
    const Uuid team = make_team("team", "owner");
    make_worker("image worker", "owner", team);
    make_worker("text worker", "owner", team, "text");
    make_worker("batch worker", "owner", team, "batch");
    make_worker("trusted worker", "trusted", team);
    caller_ = server().open();
  }
  void TearDown() override {
    caller_.reset();
    LedgerTest::TearDown();
  }

  struct Answer {
    std::string event_id, replayed, error;
  };
  static Answer call(const std::string& sql, const std::string& key) {
    const std::string arguments = key.empty() ? ")" : ", key => '" + key + "', principal => 'p')";
    return run("SELECT event_id, replayed FROM " + sql + arguments);
  }
  static Answer run(const std::string& sql) {
    PGresult* result = PQexec(caller_->raw(), sql.c_str());
    Answer answer;
    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1)
      answer = {PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1), {}};
    else if (const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE); state != nullptr)
      answer.error =
          std::string_view(state).starts_with("KD")
              ? std::string(error_name(
                    db::server_error(state, PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY), "", "").code))
              : PQerrorMessage(caller_->raw());
    PQclear(result);
    return answer;
  }
  static void execute(const std::string& sql) { must(caller_->run_script(sql)); }
  static std::string ask(const std::string& sql) {
    const Answer answer = run("SELECT (" + sql + ")::text, ''");
    EXPECT_EQ(answer.error, "") << sql;
    return answer.event_id;
  }

  static Command keyed(Command command, const std::string& key) {
    std::visit([&](auto& each) { each.options.key = {"p", key}; }, command);
    return command;
  }

  // Everything of the facts but what identifies the one event.
  static std::string facts(const std::string& id) {
    return ask("SELECT coalesce(job_id::text, '') || ' ' || coalesce(wp_type, '') || ' ' || posting_count FROM "
               "kudos_events WHERE event_id = '" +
               id + "'") +
           "\n" +
           ask("SELECT string_agg(row(p.line, p.entry_type, p.user_id, p.escrow, p.amount, p.detail, "
               "h.reservation_id)::text, "
               "E'\\n' "
               "ORDER BY p.line) "
               "FROM kudos_postings p JOIN kudos_events e ON e.seq = p.event_seq "
               "LEFT JOIN kudos_reservations h ON h.id = p.hold_id WHERE event_id = '" +
               id + "'") +
           "\n" +
           ask("SELECT string_agg(row(s.line, s.entry_type, s.unit, s.target, s.user_id, s.worker_user_id, "
               "s.worker_id, s.team_id, s.amount, "
               "s.stat_action, s.record, s.detail)::text, E'\\n' ORDER BY s.line) "
               "FROM kudos_stat_postings s JOIN kudos_events e ON e.seq = s.event_seq WHERE event_id = '" +
               id + "'");
  }

  // One session for all SQL of a test: its plans are kept.
  inline static std::optional<db::Connection> caller_;
};

}  // namespace kudos::testing
