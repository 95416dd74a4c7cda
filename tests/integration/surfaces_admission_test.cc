// The shared list of cases for admission: what holds, captures, transfers and debits that name holds leave behind,
// through C++ and through SQL. A key that was used on one way is replayed by the other.
#include "core/decide.h"
#include "surfaces_test.h"

namespace kudos::testing {
namespace {

using std::chrono::seconds;

// "$H" stands for the hold's id, "$U" for the job's: each run has its own.
struct Case {
  const char* what;
  std::string setup;
  Command command;
  std::string sql;         // the call, without its closing parenthesis
  std::string hold_after;  // of each row under the id: state, captured/original, why it ended
};

Capture capture_of(const char* value) {
  Capture capture;
  capture.hold = "$H";
  capture.amount = amount(value);
  return capture;
}

Charge charge_with(const std::string& hold, const char* value) {
  Charge charge;
  charge.payer = ext("alice");
  charge.amount = amount(value);
  charge.hold = hold;
  return charge;
}

Command with(Command command, auto change) {
  std::visit(
      [&](auto& each) {
        if constexpr (requires { change(each); }) change(each);
      },
      command);
  return command;
}

const std::string kReserved = "SELECT kudos_reserve('ext:alice', 100, '$H'); ";
const std::string kWithDeadline = "SELECT kudos_reserve('ext:alice', 100, '$H', '1 hour'); ";
const std::string kDue = kWithDeadline +
                         "UPDATE kudos_reservations SET expires = clock_timestamp() - interval '1 s' "
                         "WHERE reservation_id = '$H'; ";
const std::string kReleased = kReserved + "SELECT kudos_release('$H'); ";
// What was taken before leaves nothing to reserve from, but for a moment.
const std::string kOwing =
    "UPDATE users SET floor_override = -1000000 WHERE external_id = 'owing'; "
    "SELECT kudos_reserve('ext:owing', 100, '$H'); "
    "UPDATE users SET floor_override = NULL WHERE external_id = 'owing'; ";

std::vector<Case> hold_cases() {
  const auto reserve = [](std::optional<seconds> lifetime = {}) {
    return Reserve{ext("alice"), amount("100"), "$H", lifetime, {}};
  };
  const auto extend = [](std::optional<Amount> value, std::optional<seconds> lifetime) {
    return Extend{"$H", value, lifetime, {}};
  };
  const std::string sql_reserve = "kudos_reserve('ext:alice', 100, '$H'";
  return {
      {"reserve", "", reserve(), sql_reserve, "active 0.00/100.00 -"},
      {"reserve for a time", "", reserve(seconds(90)), sql_reserve + ", '1 minute 30 seconds'", "active 0.00/100.00 -"},
      {"reserve an active id", kReserved, reserve(), sql_reserve, "active 0.00/100.00 -"},
      {"reserve again after the end", kReleased, reserve(), sql_reserve,
       "released 0.00/100.00 released, active 0.00/100.00 -"},
      {"reserve over one whose deadline passed", kDue, reserve(), sql_reserve,
       "expired 0.00/100.00 deadline, active 0.00/100.00 -"},
      {"extend the amount", kReserved, extend(amount("150.25"), {}), "kudos_extend('$H', 150.25",
       "active 0.00/150.25 -"},
      {"extend the time", kWithDeadline, extend({}, seconds(86400)), "kudos_extend('$H', lifetime => '1 day'",
       "active 0.00/100.00 -"},
      {"extend to an earlier time", kWithDeadline, extend({}, seconds(60)), "kudos_extend('$H', lifetime => '1 minute'",
       "active 0.00/100.00 -"},
      {"extend both, of one without deadline", kReserved, extend(amount("100"), seconds(60)),
       "kudos_extend('$H', 100, '60 s'", "active 0.00/100.00 -"},
      {"extend after a capture", kReserved + "SELECT kudos_capture('$H', 30)", extend(amount("120"), {}),
       "kudos_extend('$H', 120", "active 30.00/120.00 -"},
      {"release", kReserved, Release{"$H", {}}, "kudos_release('$H'", "released 0.00/100.00 released"},
      {"release what is left", kReserved + "SELECT kudos_capture('$H', 30.01)", Release{"$H", {}}, "kudos_release('$H'",
       "released 30.01/100.00 released"},
      {"release past the deadline", kDue, Release{"$H", {}}, "kudos_release('$H'", "released 0.00/100.00 released"},
      {"release twice", kReleased, Release{"$H", {}}, "kudos_release('$H'", "released 0.00/100.00 released"},
      {"release what never was", "", Release{"$H", {}}, "kudos_release('$H'", ""},
  };
}

std::vector<Case> capture_cases() {
  const auto final = [](auto& each) -> decltype(void(each.final)) { each.final = true; };
  const auto over = [](auto& each) -> decltype(void(each.over)) { each.over = true; };
  const auto late = [](auto& each) -> decltype(void(each.late)) { each.late = true; };
  const auto explained = [](auto& each) -> decltype(void(each.late)) {
    each.payee = ext("trusted");
    each.reason = "night's \"work\"";
  };
  const Command part = capture_of("40.5");
  return {
      {"a part", kReserved, part, "kudos_capture('$H', 40.5", "active 40.50/100.00 -"},
      {"a second part", kReserved + "SELECT kudos_capture('$H', 40)", part, "kudos_capture('$H', 40.5",
       "active 80.50/100.00 -"},
      {"all", kReserved, capture_of("100"), "kudos_capture('$H', 100", "consumed 100.00/100.00 captured"},
      {"a part and the end", kReserved, with(part, final), "kudos_capture('$H', 40.5, true",
       "released 40.50/100.00 final capture"},
      {"all and the end", kReserved, with(capture_of("100"), final), "kudos_capture('$H', 100, final => true",
       "consumed 100.00/100.00 captured"},
      {"more, from what is available", kReserved, with(capture_of("130"), over),
       "kudos_capture('$H', 130, over => true", "consumed 130.00/100.00 captured"},
      {"less, with over", kReserved, with(part, over), "kudos_capture('$H', 40.5, over => true",
       "active 40.50/100.00 -"},
      {"more, of one who may owe", kOwing, with(capture_of("5000"), over), "kudos_capture('$H', 5000, over => true",
       "consumed 5000.00/100.00 captured"},
      {"for somebody, with a reason", kReserved, with(part, explained),
       "kudos_capture('$H', 40.5, payee => 'ext:trusted', reason => 'night''s \"work\"'", "active 40.50/100.00 -"},
      {"late, of an active one", kReserved, with(part, late), "kudos_capture('$H', 40.5, late => true",
       "active 40.50/100.00 -"},
      {"late, of a released one", kReleased, with(part, late), "kudos_capture('$H', 40.5, late => true",
       "released 0.00/100.00 released"},
      {"late, past the deadline", kDue, with(capture_of("250"), late), "kudos_capture('$H', 250, late => true",
       "expired 0.00/100.00 deadline"},
      {"late, of one who may owe", kOwing + "SELECT kudos_release('$H')", with(with(capture_of("5000"), late), over),
       "kudos_capture('$H', 5000, late => true, over => true", "released 0.00/100.00 released"},
  };
}

std::vector<Case> debit_cases() {
  const auto checked = [](auto& each) -> decltype(void(each.check)) { each.check = true; };
  auto job = job_of("alice", kImageWorker, "60", "2500000");
  job.hold = "$H";
  auto censored = job;
  censored.outcome = JobOutcome::censored;
  const std::string settle = "kudos_settle('ext:alice', " + quoted(kImageWorker) + ", 60, things => 2500000";
  const InterrogationSettlement question{ext("alice"), kTrustedWorker, amount("1"), {}, amount("1"), {}, false, {}};
  const std::string ask_question = "kudos_interrogation('ext:alice', " + quoted(kTrustedWorker) + ", 1, '$U'";
  const ActivationTax tax{ext("alice"), amount("1"), {}, {}, {}};
  const std::string upfront = "SELECT kudos_reserve('ext:alice', 1, 'upfront:$U'); ";
  const std::string form = "SELECT kudos_reserve('ext:alice', 3, 'interrogation:$U'); ";
  return {
      {"charge", kReserved, charge_with("$H", "60"), "kudos_charge('ext:alice', 60, hold => '$H'",
       "active 60.00/100.00 -"},
      {"charge above the hold", kReserved, charge_with("$H", "160"), "kudos_charge('ext:alice', 160, hold => '$H'",
       "consumed 160.00/100.00 captured"},
      {"charge on an ended hold", kReleased, charge_with("$H", "60"), "kudos_charge('ext:alice', 60, hold => '$H'",
       "released 0.00/100.00 released"},
      {"charge past the deadline", kDue, charge_with("$H", "60"), "kudos_charge('ext:alice', 60, hold => '$H'",
       "active 60.00/100.00 -"},
      {"charge that is checked", "", with(charge_with("", "60"), checked),
       "kudos_charge('ext:alice', 60, check_funds => true", ""},
      {"charge that is not", "", charge_with("", "60"), "kudos_charge('ext:alice', 60, hold => '', check_funds => NULL",
       ""},
      {"settlement", kReserved, job, settle + ", hold => '$H'", "active 60.00/100.00 -"},
      {"censored settlement", kReserved, censored, settle + ", outcome => 'censored', hold => '$H'",
       "active 0.00/100.00 -"},
      {"settlement on an ended hold", kReleased, job, settle + ", hold => '$H'", "released 0.00/100.00 released"},
      {"tax", upfront, tax, "kudos_tax('ext:alice', 1, '$U'", "consumed 1.00/1.00 captured"},
      {"tax without hold", "", tax, "kudos_tax('ext:alice', 1, '$U'", ""},
      {"tax whose hold has ended", upfront + "SELECT kudos_release('upfront:$U')", tax,
       "kudos_tax('ext:alice', 1, '$U'", "released 0.00/1.00 released"},
      {"interrogation", form, question, ask_question, "active 1.00/3.00 -"},
      {"interrogation without hold", "", question, ask_question, ""},
      {"transfer", "", Transfer{ext("alice"), ext("trusted"), amount("5"), {}},
       "kudos_transfer('ext:alice', 'ext:trusted', 5", "active 5.00/5.00 -"},
      {"transfer to a school", "", Transfer{ext("alice"), ext("school"), amount("0.01"), {}},
       "kudos_transfer('ext:alice', 'ext:school', 0.01", "active 0.01/0.01 -"},
  };
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// One run of a case under ids of its own.
struct Trial {
  explicit Trial(const std::string& tag) : hold("hold of " + tag), job(Uuid::v5({}, tag)) {}
  std::string hold;
  Uuid job;
  std::string event = {};

  std::string fill(const std::string& text) const {
    return replaced(replaced(text, "$H", hold), "$U", job.to_string());
  }
  Command fill(Command command) const {
    std::visit(
        [&](auto& each) {
          if constexpr (requires { each.hold; })
            if (each.hold == "$H") each.hold = hold;
          if constexpr (requires { each.prompt; }) each.prompt = job;
          if constexpr (requires { each.form; }) each.form = job;
        },
        command);
    return command;
  }
};

class AdmissionSurfacesTest : public SurfacesTest {
 protected:
  void SetUp() override {
    SurfacesTest::SetUp();
    make_user("school");
    make_user("owing", "postpaid");
    execute(
        "UPDATE users SET education = true WHERE external_id = 'school'; SELECT kudos_topup('ext:alice', 1000000); "
        "SELECT kudos_topup('ext:owing', 1000)");
    fold_all();
  }

  // The rows under the run's ids, and an event's own.
  static std::string holds_of(const Trial& run) {
    return "(reservation_id IN ('" + run.hold + "', 'upfront:" + run.job.to_string() +
           "', 'interrogation:" + run.job.to_string() + "')" +
           (run.event.empty() ? "" : " OR owner_event_id = '" + run.event + "'") + ")";
  }
  static std::string states(const Trial& run) {
    return ask(
        "SELECT string_agg(state || ' ' || captured_amount || '/' || original_amount || ' ' || coalesce(reason, '-'), "
        "', ' ORDER BY id) FROM kudos_reservations WHERE " +
        holds_of(run));
  }
  // Everything stored but what identifies the run. Deadlines in steps of 20 s, so that a slow machine makes no
  // difference.
  static std::string trace(const Trial& run) {
    std::string text =
        ask("SELECT string_agg(row(reservation_id, user_id, original_amount, captured_amount, consumed_amount, state, "
            "reason, ended IS NOT NULL, floor((extract(epoch FROM expires - created) + 5) / 20), "
            "owner_event_id)::text, E'\\n' "
            "ORDER BY id) FROM kudos_reservations WHERE " +
            holds_of(run));
    if (!run.event.empty())
      text += "\n" + facts(run.event) + "\n" +
              ask("SELECT string_agg(row(t.payer_id, t.recipient_id, t.amount)::text, E'\\n') FROM kudos_transfers t "
                  "JOIN kudos_events e ON e.seq = t.event_seq WHERE e.event_id = '" +
                  run.event + "'");
    text = replaced(replaced(text, run.hold, "$H"), run.job.to_string(), "$U");
    return run.event.empty() ? text : replaced(text, run.event, "$E");
  }

  static Answer call(const Case& each, const Trial& run, const std::string& key) {
    const std::string columns =
        leaves_no_event(each.command) ? "coalesce(hold_id, 0) || ' ' || amount || ' ' || stored" : "event_id";
    return SurfacesTest::run("SELECT " + columns + ", replayed FROM " + run.fill(each.sql) +
                             (key.empty() ? ")" : ", key => '" + key + "', principal => 'p')"));
  }
  static std::string shown(const Case& each, const Receipt& receipt) {
    if (!leaves_no_event(each.command)) return receipt.event_id.to_string();
    return std::to_string(receipt.hold) + " " + receipt.amount.to_string() + (receipt.stored ? " true" : " false");
  }
  static Receipt emit_keyed(const Case& each, const Trial& run, const std::string& key) {
    return emit_and_commit(keyed(run.fill(each.command), key));
  }
  static Trial prepared(const Case& each, const std::string& tag) {
    Trial run(std::string(each.what) + tag);
    if (!each.setup.empty()) execute(run.fill(each.setup));
    return run;
  }

  static void expect_same(const std::vector<Case>& cases) {
    std::vector<std::vector<Trial>> all;
    for (const Case& each : cases) {
      SCOPED_TRACE(each.what);
      const std::string key = std::string("key of ") + each.what;
      Trial cpp = prepared(each, " 1"), sql = prepared(each, " 2"), unkeyed = prepared(each, " 3");
      const Receipt stored = emit_keyed(each, cpp, key);
      const Answer replay = call(each, cpp, key);
      EXPECT_EQ(replay.error, "");
      EXPECT_EQ(replay.replayed, "t") << "SQL finds what C++ stored";
      EXPECT_EQ(replay.event_id, shown(each, stored));
      const Answer own = call(each, sql, key + " 2");
      EXPECT_EQ(own.replayed, stored.replayed ? "t" : "f") << own.error;
      const Receipt back = emit_keyed(each, sql, key + " 2");
      EXPECT_TRUE(back.replayed) << "C++ finds what SQL stored";
      EXPECT_EQ(shown(each, back), own.event_id);
      const Answer plain = call(each, unkeyed, "");
      EXPECT_EQ(plain.error, "");
      if (!leaves_no_event(each.command)) {
        cpp.event = stored.event_id.to_string();
        sql.event = own.event_id;
        unkeyed.event = plain.event_id;
      }
      EXPECT_EQ(states(cpp), each.hold_after);
      EXPECT_EQ(trace(sql), trace(cpp));
      EXPECT_EQ(trace(unkeyed), trace(cpp));
      all.push_back({cpp, sql, unkeyed});
    }
    fold_all();
    for (const auto& runs : all)
      for (const Trial& run : runs) EXPECT_EQ(trace(run), trace(runs.front())) << "after the fold: " << run.hold;
    EXPECT_EQ(ask("SELECT count(*) FROM kudos_events WHERE quarantine_reason IS NOT NULL"), "0");
  }

  // The only term that both ways compute: what is promised.
  static std::string available(const std::string& name) {
    auto client = begin();
    const auto funds = must(read_funds(client.session, ext(name)));
    commit(client);
    EXPECT_EQ(ask("SELECT kudos_available('ext:" + name + "')"), funds.available.to_string());
    return funds.available.to_string();
  }
};

TEST_F(AdmissionSurfacesTest, HoldsAreTheSame) { expect_same(hold_cases()); }
TEST_F(AdmissionSurfacesTest, CapturesAreTheSame) { expect_same(capture_cases()); }
TEST_F(AdmissionSurfacesTest, DebitsAndTransfersAreTheSame) { expect_same(debit_cases()); }

// Each term once, by hand. A hold counts with what remains or with the queued debits that name it, whichever is more.
TEST_F(AdmissionSurfacesTest, AvailableIsTheSame) {
  make_user("payer");
  execute("SELECT kudos_topup('ext:payer', 1000)");
  EXPECT_EQ(available("payer"), "0.00") << "queued income counts for nothing";
  fold_all();
  EXPECT_EQ(available("payer"), "1000.00");
  execute("SELECT kudos_reserve('ext:payer', 100, 'a'), kudos_reserve('ext:payer', 50, 'b')");
  EXPECT_EQ(available("payer"), "850.00");
  execute("SELECT kudos_capture('a', 30)");
  EXPECT_EQ(available("payer"), "850.00") << "the debit is within its hold";
  execute("SELECT kudos_charge('ext:payer', 120, hold => 'a')");
  EXPECT_EQ(available("payer"), "800.00") << "A9: 150 queued on a hold of 100";
  execute("SELECT kudos_charge('ext:payer', 7)");
  EXPECT_EQ(available("payer"), "793.00") << "a debit that names no hold";
  execute("SELECT kudos_capture('b', 20), kudos_release('b'), kudos_reserve('ext:payer', 50, 'b')");
  EXPECT_EQ(available("payer"), "773.00") << "V2: the old debit and the new hold both count";
  execute("SELECT kudos_transfer('ext:payer', 'ext:alice', 3)");
  EXPECT_EQ(available("payer"), "770.00");
  execute("UPDATE users SET floor_override = 70 WHERE external_id = 'payer'");
  EXPECT_EQ(available("payer"), "700.00");
  fold_all();
  EXPECT_EQ(balance("payer"), "820.00");
  EXPECT_EQ(available("payer"), "700.00") << "820 less the floor and the hold of 50";
}

// Unapplied work is looked for in the gaps, too: a lower number that commits late.
TEST_F(AdmissionSurfacesTest, AvailableCountsDebitsInGaps) {
  auto slow = server().open();
  must(slow.run_script("BEGIN; SELECT kudos_charge('ext:alice', 40)"));
  execute("SELECT kudos_charge('ext:alice', 2)");
  fold_all();
  EXPECT_EQ(available("alice"), "999998.00");
  must(slow.run_script("COMMIT"));
  EXPECT_EQ(available("alice"), "999958.00");
  fold_all();
  EXPECT_EQ(available("alice"), "999958.00");
}

}  // namespace
}  // namespace kudos::testing
