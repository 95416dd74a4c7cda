// Producers in the caller's transaction: what they store, keys, refusals.
#include <future>

#include "ledger_test.h"

namespace kudos::testing {
namespace {

class EmissionTest : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    make_user("alice");
    make_user("owner");
    make_user("trusted", "standard", true);
  }
  // "user amount" of an event's currency, in order of lines; escrow marked.
  static std::string currency(const Uuid& event) {
    return ask(
        R"(SELECT string_agg(coalesce(u.external_id, u.id::text) || CASE WHEN l.escrow THEN '*' ELSE '' END || ' ' || l.amount, ', ' ORDER BY l.id)
                  FROM kudos_ledger l JOIN users u ON u.id = l.user_id WHERE event_id = ')" +
        event.to_string() + "'");
  }
  static std::string statistics(const Uuid& event) {
    return ask(
        R"(SELECT string_agg(coalesce(u.external_id, 'worker') || ' ' || s.stat_action || ' ' || s.record || ' ' || s.amount || ' ' || s.unit, ', ' ORDER BY s.id)
                  FROM kudos_stat_events s LEFT JOIN users u ON u.id = s.user_id WHERE event_id = ')" +
        event.to_string() + "'");
  }
  static ErrorCode refused(const Command& command) {
    auto client = begin();
    const auto receipt = emit(client.session, command);
    EXPECT_FALSE(receipt.has_value());
    commit(client);  // a refusal leaves the transaction usable
    EXPECT_EQ(ask("SELECT count(*) FROM kudos_events"), "0");
    return receipt ? ErrorCode{} : receipt.error().code;
  }
};

TEST_F(EmissionTest, TopUpAndAward) {
  EXPECT_EQ(currency(emit_and_commit(top_up("alice", 100)).event_id), "alice 100.00, -1 -100.00");
  const auto award = emit_and_commit(Award{UserRef::external("alice"), *Amount::parse("0.01"), {}, {}});
  EXPECT_EQ(currency(award.event_id), "alice 0.01, -1 -0.01");
  EXPECT_EQ(statistics(award.event_id), "alice awarded user_kudos 0.01 kudos");
}

TEST_F(EmissionTest, SettlementWithATrustedOwner) {
  const Uuid worker = make_worker("w", "trusted", make_team("t", "trusted"));
  auto job = settle("alice", worker, 10);
  job.reward = Amount::whole(7);
  const Uuid event = emit_and_commit(job).event_id;
  EXPECT_EQ(currency(event), "alice -10.00, trusted 7.00, -2 3.00");
  EXPECT_EQ(statistics(event),
            "trusted accumulated user_kudos 7.00 kudos, trusted FULFILLMENT image 1.00 count, "
            "trusted CONTRIBUTION image 2.00 things, trusted activity user_activity 1.00 count, "
            "worker generated worker_kudos 7.00 kudos, worker contribution contributions 2.00 things, "
            "worker fulfilment fulfilments 1.00 count, alice accumulated user_kudos -10.00 kudos, "
            "alice REQUEST image 1.00 count, alice USAGE image 2.00 things, alice activity user_activity 1.00 count");
  fold_all();
  EXPECT_EQ(ask("SELECT kudos || ' ' || contributions || ' ' || fulfilments FROM teams"), "7.00 2.00 1.00");
  EXPECT_EQ(ask("SELECT kudos || ' ' || contributions || ' ' || fulfilments FROM workers"), "7.00 2.00 1.00");
}

// Half into escrow, rounded half to even, and the parts sum to the whole.
TEST_F(EmissionTest, SettlementWithAnUntrustedOwner) {
  const Uuid worker = make_worker("w", "owner");
  auto job = settle("alice", worker, 0);
  job.cost = *Amount::parse("10.01");
  EXPECT_EQ(currency(emit_and_commit(job).event_id), "alice -10.01, owner 5.01, owner* 5.00");
  job.cost = *Amount::parse("10.03");
  EXPECT_EQ(currency(emit_and_commit(job).event_id), "alice -10.03, owner 5.01, owner* 5.02");
}

TEST_F(EmissionTest, TheRewardBeyondTheCostIsMinted) {
  auto job = settle("alice", make_worker("w", "trusted"), 10);
  job.reward = Amount::whole(12);
  EXPECT_EQ(currency(emit_and_commit(job).event_id), "alice -10.00, trusted 12.00, -1 -2.00");
}

TEST_F(EmissionTest, CensoredJobsCostNothingAndFakeOnesLeaveNothing) {
  auto job = settle("alice", make_worker("w", "trusted"), 10);
  job.outcome = JobOutcome::censored;
  EXPECT_EQ(currency(emit_and_commit(job).event_id), "trusted 10.00, -1 -10.00");
  job.outcome = JobOutcome::fake;
  const auto receipt = emit_and_commit(job);
  EXPECT_FALSE(receipt.stored);
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events"), "1");
}

TEST_F(EmissionTest, ActivationTaxIsBurned) {
  const Uuid prompt = Uuid::v7();
  const Uuid event =
      emit_and_commit(ActivationTax{UserRef::external("alice"), Amount::whole(3), prompt, "text", {}}).event_id;
  EXPECT_EQ(currency(event), "alice -3.00, -2 3.00");
  EXPECT_EQ(statistics(event),
            "alice accumulated user_kudos -3.00 kudos, alice REQUEST text 1.00 count, "
            "alice USAGE text 0.00 things, alice activity user_activity 1.00 count");
  make_user("anonymous", "anonymous");
  const Uuid anonymous =
      emit_and_commit(ActivationTax{UserRef::external("anonymous"), Amount::whole(3), prompt, "text", {}}).event_id;
  EXPECT_EQ(statistics(anonymous).find("activity"), std::string::npos);
}

TEST_F(EmissionTest, UsageIsMultiplied) {
  server().run("UPDATE users SET usage_multiplier = 1.5 WHERE external_id = 'alice'");
  const Uuid event = emit_and_commit(settle("alice", make_worker("w", "trusted"), 1)).event_id;
  EXPECT_NE(statistics(event).find("alice USAGE image 3.00 things"), std::string::npos);
}

// M3: exact at the edges of the range.
TEST_F(EmissionTest, TheLargestAmountsFoldExactly) {
  for (int i = 0; i < 3; ++i)
    emit_and_commit(TopUp{UserRef::external("alice"), *Amount::parse("999999999999999999.99"), {}});
  fold_all();
  EXPECT_EQ(balance("alice"), "2999999999999999999.97");
}

TEST_F(EmissionTest, RefusalsAreNamedAndStoreNothing) {
  const Uuid worker = make_worker("w", "trusted");
  EXPECT_EQ(refused(top_up("nobody", 1)), ErrorCode::unknown_user);
  EXPECT_EQ(refused(top_up("alice", 0)), ErrorCode::amount_not_positive);
  EXPECT_EQ(refused(top_up("alice", -5)), ErrorCode::amount_not_positive);
  EXPECT_EQ(refused(TopUp{UserRef::number(kTreasury), Amount::whole(1), {}}), ErrorCode::system_account);
  EXPECT_EQ(refused(settle("alice", Uuid::v7(), 1)), ErrorCode::unknown_worker);
  EXPECT_EQ(refused(settle("alice", worker, -1)), ErrorCode::amount_not_positive);
  auto job = settle("alice", worker, 1);
  job.wp_type = std::string(21, 'x');
  EXPECT_EQ(refused(job), ErrorCode::invalid_request);
  job.wp_type = "a\nb";
  EXPECT_EQ(refused(job), ErrorCode::invalid_request);
  auto noted = top_up("alice", 1);
  for (const char* metadata :
       {"[]", "1", "{\"a\":{}}", "{\"a\":[1]}", "{", "{\"a\":1,\"a\":2}", "{\"a\":\"\\u0000\"}", "{} x"}) {
    noted.options.metadata = metadata;
    EXPECT_EQ(refused(noted), ErrorCode::invalid_metadata) << metadata;
  }
  noted.options.metadata = "{\"a\":\"" + std::string(2048, 'x') + "\"}";
  EXPECT_EQ(refused(noted), ErrorCode::invalid_metadata);
  server().run("UPDATE users SET deleted_at = now() WHERE external_id = 'alice'");
  EXPECT_EQ(refused(top_up("alice", 1)), ErrorCode::account_deleted);
}

TEST_F(EmissionTest, ARefusedCommandDoesntTouchItsNeighbours) {
  auto client = begin();
  const Command commands[] = {top_up("alice", 1), top_up("nobody", 1), top_up("owner", 2)};
  const auto receipts = must(emit(client.session, commands));
  commit(client);
  EXPECT_TRUE(receipts[0].has_value());
  EXPECT_EQ(receipts[1].error().code, ErrorCode::unknown_user);
  EXPECT_TRUE(receipts[2].has_value());
  fold_all();
  EXPECT_EQ(balance("alice") + " " + balance("owner"), "1.00 2.00");
}

TEST_F(EmissionTest, NothingRemainsAfterTheCallersRollback) {
  auto client = begin();
  must(emit(client.session, top_up("alice", 100)));
  must(client.connection.execute(db::kRollback));
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events") + ask("SELECT count(*) FROM kudos_postings"), "00");
}

TEST_F(EmissionTest, MetadataIsKeptApartAndHashedWithItsSalt) {
  auto command = top_up("alice", 1);
  command.options.metadata = R"({"b": "x", "a": 1})";
  emit_and_commit(command);
  EXPECT_EQ(ask(R"(SELECT metadata_hash = sha256(salt || convert_to(data::text, 'UTF8')) AND length(salt) = 16
                   FROM kudos_events JOIN kudos_event_metadata ON event_seq = seq)"),
            "t");
}

// V1.
TEST_F(EmissionTest, OtherIsolationLevelsAreRefused) {
  for (const char* level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    auto client = server().client();
    must(client.connection.run_script(std::string("BEGIN ISOLATION LEVEL ") + level));
    EXPECT_EQ(emit(client.session, top_up("alice", 1)).error().code, ErrorCode::wrong_isolation_level);
    must(client.connection.run_script("COMMIT"));
  }
  auto client = server().client();
  EXPECT_EQ(emit(client.session, top_up("alice", 1)).error().code, ErrorCode::not_in_transaction);
}

TEST_F(EmissionTest, ShadowModeIsRefusedByName) {
  server().run("UPDATE kudos_ledger_control SET mode = 'shadow'");
  EXPECT_EQ(refused(top_up("alice", 1)), ErrorCode::shadow_mode_unsupported);
}

TEST_F(EmissionTest, TheSameKeyReturnsTheFirstResult) {
  const Receipt first = emit_and_commit(top_up("alice", 5, "k"));
  EXPECT_FALSE(first.replayed);
  const Receipt again = emit_and_commit(top_up("alice", 5, "k"));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.event_id, first.event_id);
  EXPECT_EQ(again.seq, first.seq);
  // Naming the user by number is the same request.
  auto by_number = top_up("alice", 5, "k");
  by_number.user = UserRef::number({std::stoi(ask("SELECT id FROM users WHERE external_id = 'alice'"))});
  EXPECT_TRUE(emit_and_commit(by_number).replayed);
  // Another kind of command and another principal have scopes of their own.
  EXPECT_FALSE(
      emit_and_commit(Award{UserRef::external("alice"), Amount::whole(5), {}, {IdempotencyKey{"test", "k"}, {}}})
          .replayed);
  auto other = top_up("alice", 5, "k");
  other.options.key->principal = "someone else";
  EXPECT_FALSE(emit_and_commit(other).replayed);
  fold_all();
  EXPECT_EQ(balance("alice"), "15.00");
}

// I2.
TEST_F(EmissionTest, TheSameKeyForAnotherRequestIsAConflict) {
  emit_and_commit(top_up("alice", 5, "k"));
  for (const Command& command : {Command(top_up("alice", 6, "k")), Command(top_up("owner", 5, "k"))}) {
    auto client = begin();
    EXPECT_EQ(emit(client.session, command).error().code, ErrorCode::idempotency_conflict);
    commit(client);
  }
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_events"), "1");
}

TEST_F(EmissionTest, KeysTwiceInsideOneBatch) {
  auto client = begin();
  const Command commands[] = {top_up("alice", 5, "k"), top_up("alice", 5, "k"), top_up("alice", 7, "k")};
  const auto receipts = must(emit(client.session, commands));
  commit(client);
  EXPECT_FALSE(must(receipts[0]).replayed);
  EXPECT_TRUE(must(receipts[1]).replayed);
  EXPECT_EQ(must(receipts[1]).event_id, must(receipts[0]).event_id);
  EXPECT_EQ(receipts[2].error().code, ErrorCode::idempotency_conflict);
  fold_all();
  EXPECT_EQ(balance("alice"), "5.00");
}

// The first result stands even where the same command would be refused today.
TEST_F(EmissionTest, AReplayOutlivesTheWorker) {
  const Uuid worker = make_worker("w", "trusted");
  auto job = settle("alice", worker, 3);
  job.options.key = {"test", "job-1"};
  emit_and_commit(job);
  server().run("DELETE FROM workers");
  EXPECT_TRUE(emit_and_commit(job).replayed);
}

// I1: 50 identical requests at once.
TEST_F(EmissionTest, FiftyAtOnceUnderOneKeyAreOneEvent) {
  std::vector<std::future<Receipt>> callers;
  for (int i = 0; i < 50; ++i)
    callers.push_back(std::async(std::launch::async, [] { return emit_and_commit(top_up("alice", 5, "k")); }));
  int replayed = 0;
  std::set<Uuid> ids;
  for (auto& caller : callers) {
    const Receipt receipt = caller.get();
    replayed += receipt.replayed ? 1 : 0;
    ids.insert(receipt.event_id);
  }
  EXPECT_EQ(replayed, 49);
  EXPECT_EQ(ids.size(), 1u);
  fold_all();
  EXPECT_EQ(balance("alice"), "5.00");
}

// The twin waits for the first to end, and then does what that end asks for.
TEST_F(EmissionTest, ATwinWaitsForTheFirst) {
  for (const bool first_commits : {true, false}) {
    const std::string key = first_commits ? "committed" : "rolled back";
    auto first = begin();
    must(emit(first.session, top_up("alice", 5, key)));
    auto second = std::async(std::launch::async, [&] { return emit_and_commit(top_up("alice", 5, key)); });
    EXPECT_EQ(second.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout) << "it must wait";
    must(first.connection.execute(first_commits ? db::kCommit : db::kRollback));
    EXPECT_EQ(second.get().replayed, first_commits);
  }
  // And a twin with another request learns of the conflict after waiting.
  auto first = begin();
  must(emit(first.session, top_up("alice", 5, "c")));
  auto second = std::async(std::launch::async, [] {
    auto client = begin();
    auto receipt = emit(client.session, top_up("alice", 6, "c"));
    commit(client);
    return receipt;
  });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  commit(first);
  EXPECT_EQ(second.get().error().code, ErrorCode::idempotency_conflict);
  fold_all();
  EXPECT_EQ(balance("alice"), "15.00");
}

// V12: two batches with the same keys in different order.
TEST_F(EmissionTest, BatchesWithTheSameKeysInAnyOrderDontDeadlock) {
  for (int round = 0; round < 10; ++round) {
    const auto batch = [&](bool reversed) {
      std::vector<Command> commands;
      for (int i = 0; i < 100; ++i)
        commands.emplace_back(top_up("alice", 1, std::to_string(round) + "/" + std::to_string(reversed ? 99 - i : i)));
      auto client = begin();
      int stored = 0;
      for (const auto& receipt : must(emit(client.session, commands))) stored += must(receipt).replayed ? 0 : 1;
      commit(client);
      return stored;
    };
    auto other = std::async(std::launch::async, batch, true);
    const int mine = batch(false);
    EXPECT_EQ(mine + other.get(), 100);
  }
  fold_all();
  EXPECT_EQ(balance("alice"), "1000.00");
}

}  // namespace
}  // namespace kudos::testing
