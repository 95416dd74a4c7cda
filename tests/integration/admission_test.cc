// Holds, captures and transfers, one after the other: the rules of "Admission and holds" and the A scenarios.
#include "admission_test.h"

namespace kudos::testing {
namespace {

// Holds -------------------------------------------------------------------------------------------------------------

TEST_F(AdmissionTest, AHoldClaimsAndReleaseGivesBackOnce) {
  make_funded("alice", 100);
  const auto held = must(run(reserve("alice", 60, "h")));
  EXPECT_EQ(held.amount.to_string(), "60.00");
  EXPECT_EQ(available("alice"), "40.00");
  EXPECT_EQ(balance("alice"), "100.00");
  EXPECT_EQ(refusal(reserve("alice", 41, "h2")), ErrorCode::insufficient_funds);
  const auto released = must(run(Release{.hold = "h"}));
  EXPECT_EQ(released.amount.to_string(), "60.00");
  EXPECT_TRUE(released.stored);
  const auto again = must(run(Release{.hold = "h"}));  // A6
  EXPECT_EQ(again.amount.to_string(), "0.00");
  EXPECT_FALSE(again.stored);
  EXPECT_EQ(available("alice"), "100.00");
  EXPECT_EQ(hold_state("h"), "released");
  EXPECT_FALSE(must(run(Release{.hold = "never"})).stored);
}

TEST_F(AdmissionTest, AnActiveIdIsTheSameHoldOrAConflict) {
  make_funded("alice", 100);
  make_funded("bob", 100);
  const auto first = must(run(reserve("alice", 60, "h")));
  const auto second = must(run(reserve("alice", 60, "h")));
  EXPECT_EQ(second.hold, first.hold);
  EXPECT_TRUE(second.replayed);
  EXPECT_EQ(refusal(reserve("alice", 61, "h")), ErrorCode::hold_conflict);
  EXPECT_EQ(refusal(reserve("bob", 60, "h")), ErrorCode::hold_conflict);
  EXPECT_EQ(available("alice"), "40.00");
  EXPECT_EQ(available("bob"), "100.00");
}

// V2: a debit queued against a hold, and the id reserved again, both count.
TEST_F(AdmissionTest, AnIdThatComesBackGetsANewRowAndAFreshCheck) {
  make_funded("alice", 100);
  const auto first = must(run(reserve("alice", 60, "h")));
  must(run(capture("h", 30)));
  must(run(Release{.hold = "h"}));
  EXPECT_EQ(available("alice"), "70.00");
  EXPECT_EQ(refusal(reserve("alice", 71, "h")), ErrorCode::insufficient_funds);
  const auto second = must(run(reserve("alice", 70, "h")));
  EXPECT_NE(second.hold, first.hold);
  EXPECT_EQ(available("alice"), "0.00");
  fold_all();
  EXPECT_EQ(available("alice"), "0.00");
  EXPECT_EQ(hold_state("h"), "released,active");
  EXPECT_EQ(ask("SELECT string_agg(consumed_amount::text, ' ' ORDER BY id) FROM kudos_reservations WHERE "
                "reservation_id = 'h'"),
            "30.00 0.00");
}

TEST_F(AdmissionTest, ExtendChecksTheDifference) {
  make_funded("alice", 100);
  must(run(reserve("alice", 60, "h")));
  EXPECT_EQ(refusal(Extend{.hold = "h", .amount = kudos(101)}), ErrorCode::insufficient_funds);
  EXPECT_EQ(must(run(Extend{.hold = "h", .amount = kudos(100)})).amount.to_string(), "100.00");
  EXPECT_EQ(available("alice"), "0.00");
  EXPECT_EQ(refusal(Extend{.hold = "h", .amount = kudos(99)}), ErrorCode::hold_conflict);
  EXPECT_EQ(refusal(Extend{.hold = "none", .amount = kudos(1)}), ErrorCode::unknown_hold);
  EXPECT_EQ(refusal(Extend{.hold = "h"}), ErrorCode::invalid_request);
  must(run(Release{.hold = "h"}));
  EXPECT_EQ(refusal(Extend{.hold = "h", .amount = kudos(100)}), ErrorCode::hold_ended);
}

// Captures ----------------------------------------------------------------------------------------------------------

TEST_F(AdmissionTest, CapturesInPartsNeverBeyondTheHold) {
  make_funded("alice", 100);
  make_funded("bob", 0);
  must(run(reserve("alice", 60, "h")));
  auto part = capture("h", 25);
  part.payee = ext("bob");
  const auto receipt = must(run(part));
  EXPECT_EQ(available("alice"), "40.00") << "the rest of the hold and the queued debit are what the hold was";
  EXPECT_EQ(refusal(capture("h", 36)), ErrorCode::hold_exceeded);
  fold_all();
  EXPECT_EQ(available("alice"), "40.00");
  EXPECT_EQ(balance("alice"), "75.00");
  EXPECT_EQ(balance("bob"), "25.00");
  EXPECT_EQ(ask("SELECT remaining_amount FROM kudos_reservations"), "35.00");
  EXPECT_EQ(ask("SELECT detail FROM kudos_ledger WHERE user_id > 0 AND amount < 0 AND event_id = '" +
                receipt.event_id.to_string() + "'"),
            R"({"reservation_id": "h"})");
  must(run(capture("h", 35)));
  EXPECT_EQ(hold_state("h"), "consumed");
  EXPECT_EQ(refusal(capture("h", 1)), ErrorCode::hold_ended);
  EXPECT_EQ(available("alice"), "40.00");
  fold_all();
  EXPECT_EQ(available("alice"), "40.00");
  EXPECT_EQ(balance("alice"), "40.00");
}

TEST_F(AdmissionTest, AFinalCaptureReleasesTheRest) {
  make_funded("alice", 100);
  must(run(reserve("alice", 60, "h")));
  auto last = capture("h", 10);
  last.final = true;
  must(run(last));
  EXPECT_EQ(available("alice"), "90.00");
  EXPECT_EQ(hold_state("h"), "released");
  EXPECT_EQ(ask("SELECT reason FROM kudos_reservations"), "final capture");
  fold_all();
  EXPECT_EQ(balance("alice"), "90.00");
  EXPECT_EQ(available("alice"), "90.00");
}

TEST_F(AdmissionTest, OverTakesWhatExceedsTheHoldFromWhatIsAvailable) {
  make_funded("alice", 100);
  must(run(reserve("alice", 60, "h")));
  auto over = capture("h", 101);
  over.over = true;
  EXPECT_EQ(refusal(over), ErrorCode::insufficient_funds);
  EXPECT_EQ(available("alice"), "40.00") << "a refusal changes nothing";
  over.amount = kudos(90);
  must(run(over));
  EXPECT_EQ(available("alice"), "10.00");
  EXPECT_EQ(hold_state("h"), "consumed");
  EXPECT_EQ(refusal(reserve("alice", 11, "i")), ErrorCode::insufficient_funds);
  fold_all();
  EXPECT_EQ(available("alice"), "10.00");
  EXPECT_EQ(ask("SELECT captured_amount || ' ' || consumed_amount FROM kudos_reservations"), "90.00 60.00");
}

TEST_F(AdmissionTest, ADebtClassMayOweWhatExceedsItsHold) {
  make_funded("acme", 100, "postpaid");
  must(run(reserve("acme", 60, "h")));
  auto over = capture("h", 150);
  EXPECT_EQ(refusal(over), ErrorCode::hold_exceeded);
  over.over = true;
  must(run(over));
  EXPECT_EQ(available("acme"), "-50.00");
  EXPECT_EQ(refusal(reserve("acme", 1, "i")), ErrorCode::insufficient_funds);
  fold_all();
  EXPECT_EQ(balance("acme"), "-50.00");
  EXPECT_EQ(refusal(reserve("acme", 1, "i")), ErrorCode::insufficient_funds);
}

// A5 and the late capture.
TEST_F(AdmissionTest, ACaptureAfterTheEndIsRefusedUnlessLate) {
  make_funded("alice", 100);
  must(run(reserve("alice", 60, "h")));
  must(run(Release{.hold = "h"}));
  const auto refused = run(capture("h", 50));
  EXPECT_EQ(refusal(refused), ErrorCode::hold_ended);
  EXPECT_NE(refused.error().message.find("released"), std::string::npos);
  EXPECT_EQ(available("alice"), "100.00");
  auto late = keyed(capture("h", 50), "true cost");
  late.late = true;
  const auto charged = must(run(late));
  EXPECT_FALSE(charged.replayed);
  EXPECT_TRUE(must(run(late)).replayed);
  EXPECT_EQ(available("alice"), "50.00");
  late.options.key->key = "another";
  late.amount = kudos(51);
  EXPECT_EQ(refusal(late), ErrorCode::insufficient_funds);
  EXPECT_EQ(refusal(capture("never", 1)), ErrorCode::unknown_hold);
}

// Deadlines ---------------------------------------------------------------------------------------------------------

TEST_F(AdmissionTest, ADeadlineCountsUntilTheRowSaysSo) {
  make_funded("alice", 100);
  auto short_lived = reserve("alice", 60, "h");
  short_lived.lifetime = std::chrono::seconds(100);
  must(run(short_lived));
  auto connection = server().open();
  const auto keys = store::lock_keys("public");
  EXPECT_EQ(must(store::sweep_holds(connection, keys, 100)), 0);
  let_deadlines_pass();
  EXPECT_EQ(available("alice"), "40.00");
  const auto refused = run(capture("h", 10));
  EXPECT_EQ(refusal(refused), ErrorCode::hold_ended);
  EXPECT_NE(refused.error().message.find("expired"), std::string::npos);
  EXPECT_EQ(hold_state("h"), "active") << "a refusal changes nothing";
  EXPECT_EQ(must(store::sweep_holds(connection, keys, 100)), 1);  // A7
  EXPECT_EQ(must(store::sweep_holds(connection, keys, 100)), 0);
  EXPECT_EQ(hold_state("h"), "expired");
  EXPECT_EQ(available("alice"), "100.00");
}

TEST_F(AdmissionTest, WhoeverNeedsADueHoldEndsIt) {
  make_funded("alice", 100);
  for (const char* hold : {"h", "i"}) {
    auto short_lived = reserve("alice", 45, hold);
    short_lived.lifetime = std::chrono::seconds(100);
    must(run(short_lived));
  }
  let_deadlines_pass();
  EXPECT_EQ(refusal(reserve("alice", 56, "h")), ErrorCode::insufficient_funds) << "i still counts";
  must(run(reserve("alice", 55, "h")));
  EXPECT_EQ(hold_state("h"), "expired,active");
  auto late = capture("i", 45);
  late.late = true;
  must(run(late));
  EXPECT_EQ(hold_state("i"), "expired");
  EXPECT_EQ(available("alice"), "0.00");
}

TEST_F(AdmissionTest, ExtendMovesADeadlineOnlyLater) {
  make_funded("alice", 100);
  auto short_lived = reserve("alice", 60, "h");
  short_lived.lifetime = std::chrono::seconds(100);
  must(run(short_lived));
  const auto seconds_left = [] {
    return ask("SELECT round(extract(epoch FROM expires - clock_timestamp()) / 100) FROM kudos_reservations");
  };
  must(run(Extend{.hold = "h", .lifetime = std::chrono::seconds(10)}));
  EXPECT_EQ(seconds_left(), "1");
  must(run(Extend{.hold = "h", .lifetime = std::chrono::seconds(500)}));
  EXPECT_EQ(seconds_left(), "5");
}

// Debits that name a hold ---------------------------------------------------------------------------------------------

// A9: a settlement above its hold can't be spent twice, before and after its fold.
TEST_F(AdmissionTest, ASettlementAboveItsHoldCountsInFull) {
  make_funded("alice", 100);
  make_user("owner", "standard", true);
  const Uuid worker = make_worker("w", "owner");
  must(run(reserve("alice", 30, "h")));
  auto job = settle("alice", worker, 80);
  job.hold = "h";
  must(run(job));
  EXPECT_EQ(available("alice"), "20.00");
  EXPECT_EQ(refusal(reserve("alice", 21, "i")), ErrorCode::insufficient_funds);
  EXPECT_EQ(refusal(capture("h", 1)), ErrorCode::hold_ended);
  fold_all();
  EXPECT_EQ(available("alice"), "20.00");
  EXPECT_EQ(hold_state("h"), "consumed");
}

TEST_F(AdmissionTest, ADebitNamesOnlyAHoldOfItsOwnPayer) {
  make_funded("alice", 100);
  make_funded("bob", 100);
  make_user("owner", "standard", true);
  const Uuid worker = make_worker("w", "owner");
  must(run(reserve("bob", 30, "h")));
  auto job = settle("alice", worker, 10);
  job.hold = "h";
  EXPECT_EQ(refusal(job), ErrorCode::wrong_payer);
  job.hold = "unknown";
  EXPECT_EQ(refusal(job), ErrorCode::unknown_hold);
  must(run(Release{.hold = "h"}));
  job.hold = "h";
  must(run(job));  // the cost is a fact, whatever became of the hold
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_postings WHERE hold_id IS NOT NULL"), "0");
}

TEST_F(AdmissionTest, TaxAndInterrogationUseTheirUpfrontHolds) {
  make_funded("alice", 100);
  make_user("owner", "standard", true);
  const Uuid worker = make_worker("w", "owner", {}, "interrogation"), prompt = Uuid::v7(), form = Uuid::v7();
  must(run(reserve("alice", 10, "upfront:" + prompt.to_string())));
  must(run(reserve("alice", 5, "interrogation:" + form.to_string())));
  must(run(ActivationTax{.requester = ext("alice"), .tax = kudos(2), .prompt = prompt}));
  must(run(InterrogationSettlement{.requester = ext("alice"), .worker = worker, .cost = kudos(5), .form = form}));
  must(run(ActivationTax{.requester = ext("alice"), .tax = kudos(3), .prompt = Uuid::v7()}));
  EXPECT_EQ(available("alice"), "82.00");
  fold_all();
  EXPECT_EQ(available("alice"), "82.00");
  EXPECT_EQ(ask("SELECT string_agg(remaining_amount || ' ' || state, ', ' ORDER BY id) FROM kudos_reservations"),
            "8.00 active, 0.00 consumed");
}

// What is available
// -----------------------------------------------------------------------------------------------------

// A2: never decided by luck of lag.
TEST_F(AdmissionTest, QueuedCreditsDontCountQueuedDebitsDo) {
  make_funded("alice", 100);
  make_funded("bob", 0);
  emit_and_commit(top_up("alice", 100));
  EXPECT_EQ(refusal(transfer("alice", "bob", 150)), ErrorCode::insufficient_funds);
  EXPECT_EQ(funds("alice").effective.to_string(), "200.00");
  fold_all();
  must(run(transfer("alice", "bob", 150)));
  EXPECT_EQ(available("alice"), "50.00");
  EXPECT_EQ(refusal(Charge{.payer = ext("alice"), .amount = kudos(51), .check = true}), ErrorCode::insufficient_funds);
  must(run(Charge{.payer = ext("alice"), .amount = kudos(50), .check = true}));
  must(run(Charge{.payer = ext("alice"), .amount = kudos(7)}));  // a fact that became known late
  EXPECT_EQ(available("alice"), "-7.00");
  EXPECT_EQ(funds("alice").effective.to_string(), "0.00") << "not below the floor";
}

TEST_F(AdmissionTest, TheFloorInForceCounts) {
  make_funded("alice", 100, "registered");
  EXPECT_EQ(available("alice"), "75.00");
  set("alice", "floor_override = -20");
  EXPECT_EQ(available("alice"), "120.00");
}

// I5: a refusal consumes nothing.
TEST_F(AdmissionTest, ARefusedKeyIsJudgedAfresh) {
  make_funded("alice", 10);
  make_funded("bob", 0);
  const auto gift = keyed(transfer("alice", "bob", 50), "gift");
  EXPECT_EQ(refusal(gift), ErrorCode::insufficient_funds);
  emit_and_commit(top_up("alice", 100));
  fold_all();
  EXPECT_FALSE(must(run(gift)).replayed);
  EXPECT_TRUE(must(run(gift)).replayed);
}

// I2, on commands with and without events.
TEST_F(AdmissionTest, AKeyOfAnotherRequestIsAConflict) {
  make_funded("alice", 100);
  make_funded("bob", 0);
  must(run(keyed(transfer("alice", "bob", 5), "k")));
  EXPECT_EQ(refusal(keyed(transfer("alice", "bob", 6), "k")), ErrorCode::idempotency_conflict);
  const auto held = must(run(keyed(reserve("alice", 20, "h"), "k")));
  EXPECT_FALSE(held.replayed) << "the scope is the kind of command";
  EXPECT_EQ(refusal(keyed(reserve("alice", 21, "h"), "k")), ErrorCode::idempotency_conflict);
  EXPECT_EQ(refusal(keyed(reserve("alice", 20, "i"), "k")), ErrorCode::idempotency_conflict);
  must(run(keyed(Release{.hold = "h"}, "r")));
  const auto again = must(run(keyed(Release{.hold = "h"}, "r")));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.amount.to_string(), "20.00") << "the first result";
  const auto replay = must(run(keyed(reserve("alice", 20, "h"), "k")));
  EXPECT_TRUE(replay.replayed);
  EXPECT_EQ(replay.hold, held.hold);
  EXPECT_EQ(hold_state("h"), "released") << "a replay reserves nothing";
}

// Transfers -----------------------------------------------------------------------------------------------------------

TEST_F(AdmissionTest, TransfersAreRefusedInTheContractsOrder) {
  make_funded("alice", 100);
  make_funded("bob", 100);
  make_user("anonymous", "anonymous");
  EXPECT_EQ(refusal(transfer("anonymous", "nobody", 0)), ErrorCode::amount_not_positive);
  EXPECT_EQ(refusal(transfer("anonymous", "nobody", 1)), ErrorCode::anonymous_payer);
  EXPECT_EQ(refusal(transfer("alice", "nobody", 1)), ErrorCode::unknown_recipient);
  EXPECT_EQ(refusal(transfer("nobody", "alice", 1)), ErrorCode::unknown_user);
  EXPECT_EQ(refusal(transfer("alice", "anonymous", 1)), ErrorCode::anonymous_recipient);
  EXPECT_EQ(refusal(transfer("alice", "alice", 1)), ErrorCode::same_account);
  must(run(transfer("bob", "alice", 1)));
  const auto expect_after = [&](const char* user, const char* flag, ErrorCode code) {
    set(user, flag);
    EXPECT_EQ(refusal(transfer("alice", "bob", 1000)), code) << flag;
  };
  // From the last to the first: each hides the one before.
  EXPECT_EQ(refusal(transfer("alice", "bob", 1000)), ErrorCode::reverse_transfer);
  expect_after("bob", "deleted_at = now()", ErrorCode::deleted_recipient);
  expect_after("bob", "flagged = true", ErrorCode::flagged_recipient);
  expect_after("bob", "suspicious = true", ErrorCode::suspicious_recipient);
  expect_after("alice", "deleted_at = now()", ErrorCode::deleted_payer);
  expect_after("alice", "education = true", ErrorCode::education_payer);
  expect_after("alice", "flagged = true", ErrorCode::flagged_payer);
  expect_after("alice", "suspicious = true", ErrorCode::suspicious_payer);
}

TEST_F(AdmissionTest, ATransferMovesUnderItsOwnHold) {
  make_funded("alice", 100);
  make_funded("school", 0);
  set("school", "education = true");
  const auto receipt = must(run(transfer("alice", "school", 30)));
  EXPECT_EQ(available("alice"), "70.00");
  EXPECT_EQ(ask("SELECT reservation_id || ' ' || state FROM kudos_reservations"),
            "transfer:" + ask("SELECT id FROM users WHERE external_id = 'alice'") + ":" + receipt.event_id.to_string() +
                " active");
  fold_all();
  EXPECT_EQ(ask("SELECT state || ' ' || remaining_amount FROM kudos_reservations"), "released 0.00");
  EXPECT_EQ(available("alice"), "70.00");
  EXPECT_EQ(balance("school"), "30.00");
  EXPECT_EQ(ask("SELECT action || ' ' || value FROM user_stats s JOIN users u ON u.id = s.user_id WHERE external_id = "
                "'alice' AND action <> 'topped_up'"),
            "donated -30.00");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_transfers WHERE amount = 30"), "1");
}

TEST_F(AdmissionTest, TheGuardIsDurableAndCanBeTurnedOff) {
  make_funded("alice", 100);
  make_funded("bob", 100);
  must(run(transfer("alice", "bob", 1)));
  EXPECT_EQ(refusal(transfer("bob", "alice", 1)), ErrorCode::reverse_transfer);
  must(run(transfer("alice", "bob", 1)));  // the same way
  set_guard(0);
  must(run(transfer("bob", "alice", 1)));
  set_guard(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  must(run(transfer("alice", "bob", 1)));
}

// Batches -------------------------------------------------------------------------------------------------------------

TEST_F(AdmissionTest, CommandsOfABatchSeeEachOther) {
  make_funded("alice", 100);
  make_funded("bob", 0);
  std::vector<Command> commands = {keyed(transfer("alice", "bob", 60), "k"),
                                   keyed(transfer("alice", "bob", 60), "k"),  // I1 inside a batch
                                   keyed(transfer("alice", "bob", 61), "k"),
                                   transfer("alice", "bob", 50),
                                   transfer("bob", "alice", 1),
                                   reserve("alice", 40, "h"),
                                   reserve("alice", 40, "h"),
                                   reserve("bob", 40, "h"),
                                   capture("h", 15),
                                   capture("h", 26),
                                   Release{.hold = "h"},
                                   transfer("alice", "bob", 25),
                                   reserve("alice", 1, "i"),
                                   top_up("alice", 1000),
                                   reserve("alice", 1, "i")};
  auto client = begin();
  const auto receipts = must(emit(client.session, commands));
  commit(client);
  const auto code = [&](std::size_t i) {
    return receipts[i] ? "ok" : std::string(error_name(receipts[i].error().code));
  };
  std::string codes;
  for (std::size_t i = 0; i < receipts.size(); ++i) codes += (i ? " " : "") + code(i);
  EXPECT_EQ(codes,
            "ok ok idempotency_conflict insufficient_funds reverse_transfer ok ok hold_conflict ok hold_exceeded ok ok "
            "insufficient_funds ok insufficient_funds");
  EXPECT_FALSE(receipts[0]->replayed);
  EXPECT_TRUE(receipts[1]->replayed);
  EXPECT_EQ(receipts[1]->event_id, receipts[0]->event_id);
  EXPECT_EQ(receipts[10]->amount.to_string(), "25.00");
  EXPECT_EQ(available("alice"), "0.00");
  fold_all();
  EXPECT_EQ(balance("alice"), "1000.00");
  EXPECT_EQ(balance("bob"), "85.00");
}

// Isolation and savepoints --------------------------------------------------------------------------------------------

// V1
TEST_F(AdmissionTest, AnotherIsolationLevelIsRefused) {
  make_funded("alice", 100);
  make_funded("bob", 0);
  auto client = server().client();
  must(client.connection.run_script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"));
  EXPECT_EQ(refusal(emit(client.session, transfer("alice", "bob", 80))), ErrorCode::wrong_isolation_level);
  must(client.connection.execute(db::kCommit));
  EXPECT_EQ(pending(), "0");
}

// V3: a rolled-back savepoint drops the locks; the next call takes them anew.
TEST_F(AdmissionTest, LocksAreTakenAnewAfterASavepoint) {
  make_funded("alice", 100);
  make_funded("bob", 0);
  auto client = begin();
  must(client.connection.run_script("SAVEPOINT s"));
  must(emit(client.session, transfer("alice", "bob", 80)));
  must(client.connection.run_script("ROLLBACK TO s"));
  must(emit(client.session, transfer("alice", "bob", 70)));
  auto other = begin();
  must(other.connection.run_script("SET lock_timeout = '200ms'"));
  const auto waiting = emit(other.session, transfer("alice", "bob", 80));
  EXPECT_EQ(waiting.error().sqlstate, "55P03") << "waits for the payer";
  other.connection.roll_back();
  commit(client);
  EXPECT_EQ(refusal(transfer("alice", "bob", 80)), ErrorCode::insufficient_funds);
}

}  // namespace
}  // namespace kudos::testing
