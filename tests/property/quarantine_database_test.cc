// The same as quarantine_property_test.cc through a real database, a bounded number of times: a foreign writer's events
// in random mixtures and batches. The projector never stalls on any of them.
#include <cstdlib>

#include "integration/ledger_test.h"
#include "ledger/drain.h"
#include "spoilt_events.h"
#include "store/event_writer.h"

namespace kudos::testing {
namespace {

constexpr const char* kSums = R"(
SELECT coalesce(string_agg(key || '=' || value, ';' ORDER BY key COLLATE "C"), '') FROM (
    SELECT 'user/' || id || '/kudos' AS key, kudos AS value FROM users
    UNION ALL SELECT 'user/' || id || '/escrow', evaluating_kudos FROM users
    UNION ALL SELECT 'stat/' || user_id || '/' || action, value FROM user_stats
    UNION ALL SELECT 'record/' || user_id || '/' || record_type || '/' || record, value FROM user_records
    UNION ALL SELECT 'worker_stat/' || worker_id || '/' || action, value FROM worker_stats
    UNION ALL SELECT 'worker/' || id || '/kudos', kudos FROM workers
    UNION ALL SELECT 'worker/' || id || '/contributions', contributions FROM workers
    UNION ALL SELECT 'worker/' || id || '/fulfilments', fulfilments FROM workers
    UNION ALL SELECT 'team/' || id || '/kudos', kudos FROM teams
    UNION ALL SELECT 'team/' || id || '/contributions', contributions FROM teams
    UNION ALL SELECT 'team/' || id || '/fulfilments', fulfilments FROM teams) sums
WHERE value <> 0)";

class QuarantineDatabase : public LedgerTest {
 protected:
  void SetUp() override {}  // each round of the property makes its own database

  static void fresh_world() {
    server().fresh_database();
    for (int i = 1; i <= kUsers; ++i) make_user("user" + std::to_string(i), "postpaid");
    for (int i = 0; i < kProducers; ++i)
      server().run("INSERT INTO teams (id) VALUES ('" + team_id(i).to_string() +
                   "'); INSERT INTO workers (id) VALUES ('" + worker_id(i).to_string() + "')");
  }

  static void store(std::vector<Case>& cases) {
    auto client = begin();
    const auto types = must(store::load_enum_types(client.connection));
    const auto seqs = must(store::draw_seqs(client.connection, static_cast<std::int32_t>(cases.size())));
    store::EventWriter writer(types);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      cases[i].event.id = Uuid::v7();
      cases[i].event.seq = seqs[i];
      writer.add(cases[i].event);
    }
    writer.queue(client.connection);
    must(client.connection.flush());
    commit(client);
  }

  static std::string text(const Sums& sums) {
    std::string text;
    for (const auto& [key, value] : sums) text += (text.empty() ? "" : ";") + key + "=" + value.to_string();
    return text;
  }
  static std::string expected_reasons(const std::vector<Case>& cases) {
    std::string text;
    for (const Case& each : cases)
      if (each.reason)
        text += (text.empty() ? "" : " ") + std::to_string(each.event.seq.value) + std::string(label(*each.reason));
    return text;
  }

  // One round: everything folds, the counters are those of the good events, the marks those of the spoilt ones.
  static void round() {
    fresh_world();
    auto cases = any_cases(80);
    store(cases);
    auto worker = projector(*rc::gen::inRange(1, 200));
    const auto report = must(ledger::drain(worker, std::chrono::seconds(20), {}));
    RC_ASSERT(report.folded_events == static_cast<std::int64_t>(cases.size()));
    RC_ASSERT(ask(kSums) == text(expected_sums(cases)));
    RC_ASSERT(ask("SELECT coalesce(string_agg(seq || quarantine_reason::text, ' ' ORDER BY seq), '') FROM kudos_events "
                  "WHERE quarantine_reason IS NOT NULL") == expected_reasons(cases));
    RC_ASSERT(ask("SELECT count(*) FROM kudos_stat_events WHERE applied = quarantined") == "0");
  }
};

TEST_F(QuarantineDatabase, AnyMixtureFolds) {
  ::setenv("RC_PARAMS", "max_success=15 noshrink=1", 0);
  if (!rc::check("any mixture of valid and spoilt events folds", [] { round(); }))
    ADD_FAILURE() << "the seed is printed above";
}

}  // namespace
}  // namespace kudos::testing
