// What admission refuses, through C++ and through SQL: the same name, and nothing is changed. The verdict stands last;
// where several would apply, the table gives the one that is said.
#include "surfaces_test.h"

namespace kudos::testing {
namespace {

using std::chrono::seconds;

struct Case {
  std::string setup;
  Command command;
  std::string sql;  // without its closing parenthesis
  ErrorCode name;
};

Transfer transfer(const std::string& payer, const std::string& recipient, const char* value = "1") {
  return {ext(payer), ext(recipient), amount(value), {}};
}
Case transfer_case(const std::string& payer, const std::string& recipient, ErrorCode name, const char* value = "1",
                   const std::string& setup = {}) {
  return {setup, transfer(payer, recipient, value),
          "kudos_transfer('ext:" + payer + "', 'ext:" + recipient + "', " + value, name};
}
Reserve reserve(const std::string& payer, const char* value, std::string hold, std::optional<seconds> lifetime = {}) {
  return {ext(payer), amount(value), std::move(hold), lifetime, {}};
}
Case reserve_case(const std::string& payer, const char* value, const std::string& hold, ErrorCode name,
                  const std::string& setup = {}) {
  return {setup, reserve(payer, value, hold), "kudos_reserve('ext:" + payer + "', " + value + ", '" + hold + "'", name};
}

// Holds of alice's: 'h' of 100 is active, those under their states' names have ended, the deadline of 'due' has passed.
// 'other' is trusted's. alice has 1000 and no more than 600 available.
constexpr const char* kHolds = R"(
SELECT kudos_reserve('ext:alice', 100, 'h'), kudos_reserve('ext:alice', 100, 'released'), kudos_release('released'),
       kudos_reserve('ext:alice', 100, 'consumed'), kudos_capture('consumed', 100),
       kudos_reserve('ext:alice', 100, 'expired', '1 hour'), kudos_reserve('ext:alice', 100, 'due', '1 hour'),
       kudos_reserve('ext:trusted', 100, 'other', '1 hour'), kudos_reserve('ext:alice', 100, 'part');
UPDATE kudos_reservations SET expires = clock_timestamp() - interval '1 s' WHERE reservation_id IN ('due', 'other');
UPDATE kudos_reservations SET state = 'expired', ended = now(), reason = 'deadline' WHERE reservation_id = 'expired';
SELECT kudos_capture('part', 99.99);)";

std::vector<Case> transfer_cases() {
  using enum ErrorCode;
  const std::string both_ways = "SELECT kudos_transfer('ext:trusted', 'ext:alice', 1); ";
  return {
      transfer_case("alice", "trusted", amount_not_positive, "0"),
      transfer_case("anonymous", "nobody", amount_not_positive, "-0.01"),
      transfer_case("nobody", "trusted", unknown_user),
      transfer_case("anonymous", "nobody", anonymous_payer),
      transfer_case("suspicious", "nobody", unknown_recipient),
      transfer_case("suspicious", "anonymous", anonymous_recipient),
      transfer_case("suspicious", "suspicious", same_account),
      transfer_case("suspicious", "flagged", suspicious_payer),
      transfer_case("flagged", "suspicious", flagged_payer),
      transfer_case("school", "suspicious", education_payer),
      transfer_case("deleted", "suspicious", deleted_payer),
      transfer_case("alice", "suspicious", suspicious_recipient),
      transfer_case("alice", "flagged", flagged_recipient),
      transfer_case("alice", "deleted", deleted_recipient),
      transfer_case("alice", "trusted", reverse_transfer, "100000", both_ways),
      transfer_case("alice", "owner", insufficient_funds, "600.01"),
      {"", Transfer{UserRef::number(kTreasury), ext("alice"), amount("1"), {}}, "kudos_transfer('-1', 'ext:alice', 1",
       system_account},
      {"", Transfer{ext("alice"), UserRef::number(kSink), amount("1"), {}}, "kudos_transfer('ext:alice', '-2', 1",
       system_account},
      {"", Transfer{ext("anonymous"), UserRef::number(kSink), amount("1"), {}},
       "kudos_transfer('ext:anonymous', '-2', 1", anonymous_payer},
  };
}

std::vector<Case> hold_cases() {
  using enum ErrorCode;
  const auto lifetime = [](std::int64_t length) {
    return Case{"", reserve("alice", "1", "new", seconds(length)),
                "kudos_reserve('ext:alice', 1, 'new', make_interval(secs => " + std::to_string(length) + ")",
                invalid_request};
  };
  const auto extend = [](const std::string& hold, const char* value, ErrorCode name) {
    return Case{"", Extend{hold, amount(value), {}, {}}, "kudos_extend('" + hold + "', " + value, name};
  };
  return {
      reserve_case("alice", "0", "new", amount_not_positive),
      reserve_case("nobody", "-1", "new", amount_not_positive),
      reserve_case("nobody", "1", "", invalid_request),
      reserve_case("nobody", "1", "transfer:1:x", invalid_request),
      reserve_case("nobody", "1", std::string(201, 'x'), invalid_request),
      reserve_case("nobody", "1", "a\nb", invalid_request),
      lifetime(0),
      lifetime(-1),
      lifetime(3660 * 86400 + 1),
      reserve_case("nobody", "1", "new", unknown_user),
      {"", Reserve{UserRef::number(kSink), amount("1"), "new", {}, {}}, "kudos_reserve('-2', 1, 'new'", system_account},
      reserve_case("deleted", "1", "h", account_deleted),
      reserve_case("alice", "100.01", "h", hold_conflict),
      reserve_case("trusted", "100", "h", hold_conflict),
      reserve_case("alice", "100", "other", hold_conflict),
      reserve_case("alice", "600.01", "new", insufficient_funds),
      reserve_case("alice", "700.01", "due", insufficient_funds),
      reserve_case("alice", "600.01", "new", insufficient_funds, "SELECT kudos_topup('ext:alice', 500); "),
      reserve_case("alice", "593.01", "new", insufficient_funds, "SELECT kudos_charge('ext:alice', 7); "),
      extend("transfer:1:x", "1", invalid_request),
      extend("", "1", invalid_request),
      extend("h", "0", amount_not_positive),
      {"", Extend{"h", {}, {}, {}}, "kudos_extend('h'", invalid_request},
      {"", Extend{"h", {}, seconds(0), {}}, "kudos_extend('h', lifetime => '0 s'", invalid_request},
      extend("nothing", "1", unknown_hold),
      extend("released", "200", hold_ended),
      extend("consumed", "200", hold_ended),
      extend("expired", "200", hold_ended),
      extend("due", "200", hold_ended),
      extend("h", "99.99", hold_conflict),
      extend("h", "700.01", insufficient_funds),
      {"", Release{"", {}}, "kudos_release(''", invalid_request},
      {"", Release{"transfer:1:x", {}}, "kudos_release('transfer:1:x'", invalid_request},
  };
}

Case capture_case(const std::string& hold, const char* value, ErrorCode name, const std::string& options = {},
                  std::optional<UserRef> payee = {}, const std::string& reason = {}) {
  Capture capture;
  capture.hold = hold;
  capture.amount = amount(value);
  capture.final = options.contains('f');
  capture.over = options.contains('o');
  capture.late = options.contains('l');
  capture.payee = payee;
  capture.reason = reason;
  std::string sql = "kudos_capture('" + hold + "', " + value;
  if (capture.final) sql += ", final => true";
  if (capture.over) sql += ", over => true";
  if (capture.late) sql += ", late => true";
  if (payee) sql += ", payee => '" + payee->to_string() + "'";
  if (!reason.empty()) sql += ", reason => '" + reason + "'";
  return {"", capture, sql, name};
}

std::vector<Case> capture_cases() {
  using enum ErrorCode;
  return {
      capture_case("nothing", "0", amount_not_positive),
      capture_case("", "1", invalid_request),
      capture_case("transfer:1:x", "1", invalid_request),
      capture_case("h", "1000", invalid_request, "", {}, std::string(201, 'x')),
      capture_case("nothing", "1", unknown_hold, "ol"),
      capture_case("released", "1", unknown_user, "", ext("nobody")),
      capture_case("released", "1", system_account, "", UserRef::number(kTreasury)),
      capture_case("released", "1", account_deleted, "", ext("deleted")),
      capture_case("released", "1", invalid_request, "", ext("alice")),
      capture_case("released", "1", hold_ended),
      capture_case("consumed", "0.01", hold_ended, "o"),
      capture_case("expired", "1", hold_ended, "fo"),
      capture_case("due", "1", hold_ended, "f"),
      capture_case("h", "100.01", hold_exceeded),
      capture_case("h", "100.01", hold_exceeded, "f"),
      capture_case("h", "100.01", hold_exceeded, "l"),
      capture_case("part", "0.02", hold_exceeded),
      capture_case("h", "700.01", insufficient_funds, "o"),
      capture_case("h", "700.01", insufficient_funds, "fol"),
      capture_case("released", "600.01", insufficient_funds, "l"),
      capture_case("released", "600.01", insufficient_funds, "ol"),
      capture_case("due", "700.01", insufficient_funds, "l"),
  };
}

std::vector<Case> debit_cases() {
  using enum ErrorCode;
  const auto charge = [](const std::string& payer, const char* value, const std::string& hold, bool check,
                         ErrorCode name) {
    Charge command;
    command.payer = ext(payer);
    command.amount = amount(value);
    command.hold = hold;
    command.check = check;
    return Case{"", command,
                "kudos_charge('ext:" + payer + "', " + value + ", hold => '" + hold + "'" +
                    (check ? ", check_funds => true" : ""),
                name};
  };
  const auto settle = [](const std::string& requester, const Uuid& worker, const std::string& hold, ErrorCode name) {
    auto job = job_of(requester, worker, "1", "0");
    job.hold = hold;
    return Case{"", job, "kudos_settle('ext:" + requester + "', " + quoted(worker) + ", 1, hold => '" + hold + "'",
                name};
  };
  const std::string job = kJob.to_string();
  return {
      charge("alice", "600.01", "", true, insufficient_funds),
      charge("alice", "0", "", true, amount_not_positive),
      charge("alice", "1", "h", true, invalid_request),
      charge("nobody", "1", "transfer:1:x", false, invalid_request),
      charge("nobody", "1", "h", false, unknown_user),
      charge("alice", "1", "nothing", false, unknown_hold),
      charge("trusted", "1", "h", false, wrong_payer),
      charge("alice", "1", "other", false, wrong_payer),
      settle("alice", kImageWorker, "transfer:1:x", invalid_request),
      settle("alice", kNobody, "nothing", unknown_worker),
      settle("alice", kImageWorker, "nothing", unknown_hold),
      settle("trusted", kImageWorker, "h", wrong_payer),
      {"SELECT kudos_reserve('ext:alice', 1, 'upfront:" + job + "'); ",
       ActivationTax{ext("trusted"), amount("1"), kJob, {}, {}}, "kudos_tax('ext:trusted', 1, '" + job + "'",
       wrong_payer},
      {"SELECT kudos_reserve('ext:alice', 1, 'interrogation:" + job + "'); ",
       InterrogationSettlement{ext("trusted"), kTrustedWorker, amount("1"), {}, amount("1"), kJob, false, {}},
       "kudos_interrogation('ext:trusted', " + quoted(kTrustedWorker) + ", 1, '" + job + "'", wrong_payer},
  };
}

class RefusalSurfacesTest : public SurfacesTest {
 protected:
  void SetUp() override {
    SurfacesTest::SetUp();
    for (const char* name : {"suspicious", "flagged", "school"}) make_user(name);
    execute(R"(
UPDATE users SET suspicious = true WHERE external_id = 'suspicious';
UPDATE users SET flagged = true WHERE external_id = 'flagged';
UPDATE users SET education = true WHERE external_id = 'school';
SELECT kudos_topup('ext:alice', 1100), kudos_topup('ext:trusted', 1000);)");
    fold_all();
    execute(kHolds);
    // The capture of 'consumed' (100) is in the balance, that of 'part' and the holds 'h', 'due' and 'part' are claims:
    // 1100 − 100 − 100 − 100 − 100 = 700; a hold of 100 more leaves 600.
    execute("SELECT kudos_reserve('ext:alice', 100, 'rest')");
    ASSERT_EQ(ask("SELECT kudos_available('ext:alice')"), "600.00");
    client_.emplace(server().client());
  }
  void TearDown() override {
    client_.reset();
    SurfacesTest::TearDown();
  }

  // All that a refusal must leave alone.
  static std::string state() {
    return ask("SELECT string_agg(h::text, ' ' ORDER BY id) FROM kudos_reservations h") +
           ask("SELECT count(*) FROM kudos_events") + " " + ask("SELECT count(*) FROM kudos_hold_requests") + " " +
           ask("SELECT count(*) FROM kudos_transfers");
  }

  static std::string refusal_of(const Command& command) {
    must(client_->connection.execute(db::kBegin));
    const auto receipt = emit(client_->session, command);
    commit(*client_);
    return receipt ? "accepted" : std::string(error_name(receipt.error().code));
  }
  static std::string refusal_of(const Command& command, const std::string& sql) {
    const char* first = std::holds_alternative<Reserve>(command) || std::holds_alternative<Extend>(command) ||
                                std::holds_alternative<Release>(command)
                            ? "hold_id"
                            : "event_id";
    const Answer answer = run(std::string("SELECT ") + first + ", replayed FROM " + sql + ")");
    return answer.error.empty() ? "accepted" : answer.error;
  }

  // A set-up stays: cases that have one stand behind those that it would change.
  static void expect_refused(const std::vector<Case>& cases) {
    for (const Case& each : cases) {
      SCOPED_TRACE(each.sql);
      if (!each.setup.empty()) execute(each.setup);
      const std::string before = state();
      EXPECT_EQ(refusal_of(each.command), error_name(each.name)) << "C++";
      EXPECT_EQ(refusal_of(each.command, each.sql), error_name(each.name)) << "SQL";
      EXPECT_EQ(state(), before);
    }
  }

  inline static std::optional<sim::Client> client_;
};

TEST_F(RefusalSurfacesTest, Transfers) { expect_refused(transfer_cases()); }
TEST_F(RefusalSurfacesTest, ReserveExtendRelease) { expect_refused(hold_cases()); }
TEST_F(RefusalSurfacesTest, Captures) { expect_refused(capture_cases()); }
TEST_F(RefusalSurfacesTest, DebitsThatNameHolds) { expect_refused(debit_cases()); }

// What is refused in the tables for one hundredth too much is accepted without it.
TEST_F(RefusalSurfacesTest, TheLimitsAreExact) {
  for (const std::string call :
       {"kudos_capture('h', 700, over => true)", "kudos_capture('due', 700, late => true)",
        "kudos_capture('released', 600, late => true)", "kudos_extend('h', 700)",
        "kudos_reserve('ext:alice', 700, 'due')", "kudos_reserve('ext:alice', 600, 'new')",
        "kudos_charge('ext:alice', 600, check_funds => true)", "kudos_transfer('ext:alice', 'ext:owner', 600)"}) {
    execute("BEGIN; SELECT " + call);
    EXPECT_EQ(ask("SELECT kudos_available('ext:alice')"), "0.00") << call;
    execute("ROLLBACK");
  }
}

TEST_F(RefusalSurfacesTest, TheReverseGuardLooksBackForItsTimeOnly) {
  const Command back = transfer("alice", "trusted");
  const std::string sql = "kudos_transfer('ext:alice', 'ext:trusted', 1";
  const std::string given =
      "INSERT INTO kudos_transfers SELECT 1, clock_timestamp() - interval '61 s', p.id, r.id, 1 FROM users p, users r "
      "WHERE p.external_id = 'trusted' AND r.external_id = 'alice'";
  execute(given);
  EXPECT_EQ(refusal_of(back), "accepted");
  EXPECT_EQ(refusal_of(back, sql), "accepted");
  execute("UPDATE kudos_ledger_control SET transfer_guard_seconds = 600");
  EXPECT_EQ(refusal_of(back), "reverse_transfer");
  EXPECT_EQ(refusal_of(back, sql), "reverse_transfer");
  execute("UPDATE kudos_ledger_control SET transfer_guard_seconds = 0");
  EXPECT_EQ(refusal_of(back), "accepted");
  EXPECT_EQ(refusal_of(back, sql), "accepted");
}

// A key that one way has used for something else is a conflict on the other.
TEST_F(RefusalSurfacesTest, ConflictsHaveTheSameName) {
  Capture capture;
  capture.hold = "h";
  capture.amount = amount("1");
  struct Pair {
    Command first;
    std::string other;
  };
  const Pair pairs[] = {
      {reserve("alice", "5", "new"), "kudos_reserve('ext:alice', 6, 'new'"},
      {reserve("alice", "5", "new", seconds(5)), "kudos_reserve('ext:alice', 5, 'new', '6 s'"},
      {Extend{"h", amount("100"), {}, {}}, "kudos_extend('h', 101"},
      {Release{"rest", {}}, "kudos_release('h'"},
      {capture, "kudos_capture('h', 1, over => true"},
      {capture, "kudos_capture('h', 1, final => true"},
      {transfer("alice", "trusted"), "kudos_transfer('ext:alice', 'ext:owner', 1"},
      {Charge{ext("alice"), amount("1"), {}, {}, {}}, "kudos_charge('ext:alice', 1, check_funds => true"},
      {Charge{ext("alice"), amount("1"), {}, {}, {}}, "kudos_charge('ext:alice', 1, hold => 'h'"},
  };
  int number = 0;
  for (const auto& [first, other] : pairs) {
    const std::string key = "k" + std::to_string(++number);
    emit_and_commit(keyed(first, key));
    const std::string before = state();
    EXPECT_EQ(refusal_of(first, other + ", key => '" + key + "', principal => 'p'"), "idempotency_conflict") << other;
    EXPECT_EQ(state(), before);
  }
  EXPECT_EQ(refusal_of(keyed(reserve("alice", "5", "new"), "")), "invalid_request");
  EXPECT_EQ(refusal_of(reserve("alice", "5", "new"), "kudos_reserve('ext:alice', 5, 'new', key => ''"),
            "invalid_request");
}

// I5: a refusal uses up no key.
TEST_F(RefusalSurfacesTest, TheSameKeyIsJudgedAfreshAfterARefusal) {
  const std::string sql = "kudos_reserve('ext:alice', 601, 'new', key => 'k', principal => 'p'";
  const Command command = keyed(reserve("alice", "601", "new"), "k");
  EXPECT_EQ(refusal_of(command), "insufficient_funds");
  EXPECT_EQ(refusal_of(command, sql), "insufficient_funds");
  execute("SELECT kudos_release('rest')");
  EXPECT_EQ(refusal_of(command, sql), "accepted");
  EXPECT_TRUE(emit_and_commit(command).replayed);
}

// What C++ can't even say: SQL's own forms of amounts and times (M4).
TEST_F(RefusalSurfacesTest, FormsOfAmountsAndTimes) {
  struct Form {
    const char *value, *name;
  };
  const Form forms[] = {{"NULL", "invalid_amount"},       {"'NaN'", "invalid_amount"},
                        {"'Infinity'", "invalid_amount"}, {"1.001", "amount_too_precise"},
                        {"1.000", "amount_too_precise"},  {"1000000000000000000", "amount_out_of_range"},
                        {"-5", "amount_not_positive"}};
  for (const auto& [value, name] : forms)
    for (const std::string call :
         {"kudos_reserve('ext:alice', $, 'new'", "kudos_capture('h', $", "kudos_transfer('ext:alice', 'ext:owner', $",
          "kudos_charge('ext:alice', $, check_funds => true"}) {
      auto sql = call;
      sql.replace(sql.find('$'), 1, value);
      EXPECT_EQ(run("SELECT 1, 2 FROM " + sql + ")").error, name) << sql;
    }
  EXPECT_EQ(run("SELECT 1, 2 FROM kudos_extend('h', 'NaN')").error, "invalid_amount");
  EXPECT_EQ(run("SELECT 1, 2 FROM kudos_extend('h', lifetime => '1.5 s')").error, "invalid_request");
  EXPECT_EQ(run("SELECT 1, 2 FROM kudos_reserve('ext:alice', 1, NULL)").error, "invalid_request");
  EXPECT_EQ(run("SELECT 1, 2 FROM kudos_reserve('alice', 1, 'new')").error, "invalid_request");
  EXPECT_EQ(run("SELECT 1, 2 FROM kudos_transfer('ext:alice', 'trusted', 1)").error, "invalid_request");
  EXPECT_EQ(run("SELECT 1, 2 FROM kudos_capture('h', 1, metadata => '[]')").error, "invalid_metadata");
}

}  // namespace
}  // namespace kudos::testing
