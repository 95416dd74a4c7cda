// The shared list of cases: every producer through C++ and through SQL. Both must make the same event id and the same
// request digest from a key (so that each replays the other's event), store the same facts, and refuse under the same
// name.
#include "surfaces_test.h"

namespace kudos::testing {
namespace {

struct Case {
  const char* what;
  Command command;
  std::string sql;  // the call, without its closing parenthesis
};

std::vector<Case> settlement_cases() {
  std::vector<Case> cases;
  const auto add = [&](const char* what, const Settlement& job, const std::string& arguments) {
    cases.push_back({what, job, "kudos_settle(" + arguments});
  };
  auto job = job_of("alice", kImageWorker, "10.01", "2500000");
  add("untrusted owner, odd cent, team", job, "'ext:alice', " + quoted(kImageWorker) + ", 10.01, things => 2500000");
  job = job_of("alice", kTrustedWorker, "10", "1005000.00");
  job.reward = amount("7.50");
  job.job_id = kJob;
  add("burn, job id, half a hundredth of a thing", job,
      "'ext:alice', " + quoted(kTrustedWorker) + ", 10, 7.50, 1005000, " + quoted(kJob));
  job.reward = amount("12");
  job.job_id.reset();
  add("mint", job, "'ext:alice', " + quoted(kTrustedWorker) + ", 10, reward => 12, things => 1005000");
  job.outcome = JobOutcome::cancelled;
  job.reward = amount("3");
  add("cancelled", job, "'ext:alice', " + quoted(kTrustedWorker) + ", 10, 3, 1005000, outcome => 'cancelled'");
  job.outcome = JobOutcome::censored;
  add("censored", job, "'ext:alice', " + quoted(kTrustedWorker) + ", 10, 3, 1005000, outcome => 'censored'");
  job = job_of("multiplied", kTextWorker, "0.03", "333");
  add("text worker without its team, multiplied usage", job,
      "'ext:multiplied', " + quoted(kTextWorker) + ", 0.03, things => 333");
  job = job_of("anonymous", kBatchWorker, "1", "5.55");
  add("anonymous requester, a type of the host", job,
      "'ext:anonymous', " + quoted(kBatchWorker) + ", 1, things => 5.55");
  job.wp_type = "über-type";
  add("a type of its own", job,
      "'ext:anonymous', " + quoted(kBatchWorker) + ", 1, things => 5.55, wp_type => 'über-type'");
  job = job_of("alice", kTrustedWorker, "0", "0");
  add("nothing paid", job, "'ext:alice', " + quoted(kTrustedWorker) + ", 0");
  job = job_of("alice", kTrustedWorker, "999999999999999999.99", "999999999999999999.99");
  add("the largest amounts", job,
      "'ext:alice', " + quoted(kTrustedWorker) + ", 999999999999999999.99, things => 999999999999999999.99");
  return cases;
}

std::vector<Case> other_cases() {
  const std::string image = quoted(kImageWorker), trusted = quoted(kTrustedWorker);
  return {
      {"top-up", TopUp{ext("alice"), amount("9007199254740993.01"), {}},
       "kudos_topup('ext:alice', 9007199254740993.01"},
      {"award", Award{ext("alice"), amount("5"), {}, {}}, "kudos_award('ext:alice', 5"},
      {"award with a reason", Award{ext("alice"), amount("5.5"), "for \"Zoë\" \\o/", {}},
       "kudos_award('ext:alice', 5.5, 'for \"Zoë\" \\o/'"},
      {"opening", Opening{ext("alice"), amount("100"), {}}, "kudos_opening('ext:alice', 100"},
      {"opening in debt", Opening{ext("postpaid"), amount("-100"), {}}, "kudos_opening('ext:postpaid', -100"},
      {"adjustment", AdminAdjustment{ext("alice"), amount("1"), "bug 7", {}}, "kudos_adjust('ext:alice', 1, 'bug 7'"},
      {"negative adjustment", AdminAdjustment{ext("alice"), amount("-1.25"), {}, {}},
       "kudos_adjust('ext:alice', -1.25"},
      {"style", StyleReward{ext("alice"), amount("2"), {}, {}}, "kudos_style('ext:alice', 2"},
      {"text style", StyleReward{ext("alice"), amount("2"), "text", {}}, "kudos_style('ext:alice', 2, 'text'"},
      {"charge to the sink", Charge{ext("alice"), amount("3"), {}, {}, {}}, "kudos_charge('ext:alice', 3"},
      {"charge to a user", Charge{ext("alice"), amount("3"), ext("trusted"), "invoice", {}},
       "kudos_charge('ext:alice', 3, 'ext:trusted', 'invoice'"},
      {"uptime into escrow", UptimeReward{kImageWorker, amount("50"), false, {}}, "kudos_uptime(" + image + ", 50"},
      {"uptime that bypasses evaluation", UptimeReward{kImageWorker, amount("50"), true, {}},
       "kudos_uptime(" + image + ", 50, true"},
      {"uptime of a trusted owner", UptimeReward{kTrustedWorker, amount("50"), false, {}},
       "kudos_uptime(" + trusted + ", 50"},
      {"interrogation",
       InterrogationSettlement{ext("alice"), kTrustedWorker, amount("1"), {}, amount("1"), kJob, false, {}},
       "kudos_interrogation('ext:alice', " + trusted + ", 1, " + quoted(kJob)},
      {"interrogation cancelled",
       InterrogationSettlement{ext("alice"), kImageWorker, amount("1"), amount("0.05"), amount("3"), kJob, true, {}},
       "kudos_interrogation('ext:alice', " + image + ", 1, " + quoted(kJob) + ", 0.05, 3, true"},
      {"tax", ActivationTax{ext("alice"), amount("1"), kJob, {}, {}}, "kudos_tax('ext:alice', 1, " + quoted(kJob)},
      {"tax of the anonymous", ActivationTax{ext("anonymous"), amount("1"), kJob, "text", {}},
       "kudos_tax('ext:anonymous', 1, " + quoted(kJob) + ", 'text'"},
  };
}

std::vector<Case> refusal_cases() {
  const std::string image = quoted(kImageWorker);
  const auto settle_with = [&](auto change, std::string sql) {
    auto job = job_of("alice", kImageWorker, "1", "1");
    change(job);
    return Case{"", job, std::move(sql)};
  };
  return {
      {"unknown user", TopUp{ext("nobody"), amount("1"), {}}, "kudos_topup('ext:nobody', 1"},
      {"unknown number", TopUp{UserRef::number({4711}), amount("1"), {}}, "kudos_topup('4711', 1"},
      {"treasury", TopUp{UserRef::number(kTreasury), amount("1"), {}}, "kudos_topup('-1', 1"},
      {"sink", Charge{UserRef::number(kSink), amount("1"), {}, {}, {}}, "kudos_charge('-2', 1"},
      {"deleted", Award{ext("deleted"), amount("1"), {}, {}}, "kudos_award('ext:deleted', 1"},
      {"zero", TopUp{ext("alice"), {}, {}}, "kudos_topup('ext:alice', 0"},
      {"negative", Award{ext("alice"), amount("-1"), {}, {}}, "kudos_award('ext:alice', -1"},
      {"empty adjustment", AdminAdjustment{ext("alice"), {}, {}, {}}, "kudos_adjust('ext:alice', 0"},
      {"opening in debt of a class that cannot", Opening{ext("alice"), amount("-1"), {}},
       "kudos_opening('ext:alice', -1"},
      {"long reason", Award{ext("alice"), amount("1"), std::string(201, 'x'), {}},
       "kudos_award('ext:alice', 1, repeat('x', 201)"},
      {"control character", AdminAdjustment{ext("alice"), amount("1"), "a\nb", {}},
       "kudos_adjust('ext:alice', 1, E'a\\nb'"},
      {"payer is payee", Charge{ext("alice"), amount("1"), ext("alice"), {}, {}},
       "kudos_charge('ext:alice', 1, 'ext:alice'"},
      {"unknown payee", Charge{ext("alice"), amount("1"), ext("nobody"), {}, {}},
       "kudos_charge('ext:alice', 1, 'ext:nobody'"},
      {"uptime of nobody", UptimeReward{kNobody, amount("1"), false, {}}, "kudos_uptime(" + quoted(kNobody) + ", 1"},
      settle_with([](auto& job) { job.worker = kNobody; }, "kudos_settle('ext:alice', " + quoted(kNobody) + ", 1"),
      settle_with([](auto& job) { job.cost = amount("-1"); }, "kudos_settle('ext:alice', " + image + ", -1"),
      settle_with([](auto& job) { job.reward = amount("-1"); }, "kudos_settle('ext:alice', " + image + ", 1, -1"),
      settle_with([](auto& job) { job.things = amount("-1"); },
                  "kudos_settle('ext:alice', " + image + ", 1, things => -1"),
      settle_with([](auto& job) { job.requester = ext("nobody"); }, "kudos_settle('ext:nobody', " + image + ", 1"),
      settle_with([](auto& job) { job.wp_type = std::string(21, 'x'); },
                  "kudos_settle('ext:alice', " + image + ", 1, wp_type => repeat('x', 21)"),
  };
}

class ProducersTest : public SurfacesTest {
 protected:
  static void expect_same(const std::vector<Case>& cases) {
    for (const Case& each : cases) {
      SCOPED_TRACE(each.what);
      const std::string key = std::string("key of ") + each.what;
      const Receipt stored = emit_and_commit(keyed(each.command, key));
      const Answer replay = call(each.sql, key);
      EXPECT_EQ(replay.error, "");
      EXPECT_EQ(replay.replayed, "t") << "SQL finds what C++ stored";
      EXPECT_EQ(replay.event_id, stored.event_id.to_string());
      const Answer own = call(each.sql, key + " 2");
      EXPECT_EQ(own.replayed, "f") << own.error;
      const Receipt back = emit_and_commit(keyed(each.command, key + " 2"));
      EXPECT_TRUE(back.replayed) << "C++ finds what SQL stored";
      EXPECT_EQ(back.event_id.to_string(), own.event_id);
      EXPECT_EQ(facts(own.event_id), facts(stored.event_id.to_string()));
      const Answer unkeyed = call(each.sql, "");
      EXPECT_EQ(facts(unkeyed.event_id), facts(stored.event_id.to_string())) << unkeyed.error;
    }
    fold_all();
    EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE quarantine_reason IS NOT NULL"), "0");
  }
};

TEST_F(ProducersTest, SettlementsAreTheSame) { expect_same(settlement_cases()); }
TEST_F(ProducersTest, OtherProducersAreTheSame) { expect_same(other_cases()); }

TEST_F(ProducersTest, RefusalsHaveTheSameNames) {
  for (const Case& each : refusal_cases()) {
    SCOPED_TRACE(each.sql);
    auto client = begin();
    const auto receipt = emit(client.session, each.command);
    commit(client);
    ASSERT_FALSE(receipt.has_value());
    EXPECT_EQ(call(each.sql, "").error, error_name(receipt.error().code));
  }
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events"), "0");
}

TEST_F(ProducersTest, AConflictHasTheSameName) {
  emit_and_commit(keyed(top_up("alice", 5), "k"));
  EXPECT_EQ(call("kudos_topup('ext:alice', 6", "k").error, "idempotency_conflict");
  EXPECT_EQ(call("kudos_topup('ext:owner', 5", "k").error, "idempotency_conflict");
}

// Rounding agrees on many values.
TEST_F(ProducersTest, RoundingIsTheSame) {
  std::string expected;
  for (int hundredths = -405; hundredths <= 405; ++hundredths)
    expected += (expected.empty() ? "" : " ") + must(Amount::from_hundredths(hundredths).scaled(1, 2)).to_string();
  EXPECT_EQ(ask("SELECT string_agg(kudos_round(h / 200.0)::numeric(20,2)::text, ' ' ORDER BY h) FROM "
                "generate_series(-405, 405) h"),
            expected);
  EXPECT_EQ(ask("SELECT kudos_things(999999999999999999.99, 'image')"), "1000000000000.00");
  EXPECT_EQ(ask("SELECT kudos_things(5000.00, 'image')"), "0.00");
  EXPECT_EQ(ask("SELECT kudos_things(15000.00, 'image')"), "0.02");
}

TEST_F(ProducersTest, IdsFromKeysAreVersion5) {
  EXPECT_EQ(ask("SELECT encode(kudos_sha1('abc'), 'hex')"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(ask("SELECT encode(kudos_sha1(convert_to(repeat('a', 1000), 'UTF8')), 'hex')"),
            "291e9a6c66994949b57ba5e650361e98fc36b1ba");
  for (const std::size_t length : {0, 1, 38, 39, 40, 47, 48, 55, 56, 100}) {
    const std::string name(length, 'x');
    EXPECT_EQ(ask("SELECT kudos_uuid_v5('6ba7b810-9dad-11d1-80b4-00c04fd430c8', '" + name + "')"),
              Uuid::v5(must(Uuid::parse("6ba7b810-9dad-11d1-80b4-00c04fd430c8")), name).to_string());
  }
  EXPECT_EQ(ask("SELECT substr(kudos_uuid_v7()::text, 15, 1)"), "7");
}

}  // namespace
}  // namespace kudos::testing
