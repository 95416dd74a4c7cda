// Admission under load: many connections, few payers, a projector and a sweeper meanwhile, and an auditor afterwards.
// Also the life of a streamed request, cut at every point.
#include <atomic>
#include <random>

#include "admission_test.h"
#include "ledger/projector_loop.h"
#include "sim/admission_audit.h"

namespace kudos::testing {
namespace {

class HammerTest : public AdmissionTest {
 protected:
  static std::string user(unsigned i) { return "user " + std::to_string(i); }

  static void expect_clean_audit() {
    fold_all();
    auto connection = server().open();
    for (const std::string& line : must(sim::audit_admission(connection))) ADD_FAILURE() << line;
  }

  // What a caller may be told; everything else (a deadlock, an error of the database) is a failure.
  static bool is_expected(const Error& error) {
    switch (error.code) {
      case ErrorCode::insufficient_funds:
      case ErrorCode::hold_conflict:
      case ErrorCode::hold_ended:
      case ErrorCode::hold_exceeded:
      case ErrorCode::unknown_hold:
      case ErrorCode::reverse_transfer:
        return true;
      default:
        return false;
    }
  }
};

class Mischief {
 public:
  explicit Mischief(unsigned seed) : random_(seed) {}

  Command next() {
    const std::string payer = "user " + std::to_string(draw(6)), hold = "hold " + std::to_string(draw(40));
    const std::int64_t amount = 1 + draw(120);
    switch (draw(7)) {
      case 0:
      case 1: {
        auto command = reserve(payer, amount, hold);
        if (draw(3) == 0) command.lifetime = std::chrono::seconds(100);
        return command;
      }
      case 2:
      case 3: {
        auto command = capture(hold, 1 + draw(60));
        command.final = draw(3) == 0;
        command.over = draw(4) == 0;
        command.late = draw(4) == 0;
        return command;
      }
      case 4:
        return Release{.hold = hold};
      case 5:
        return transfer(payer, "user " + std::to_string(6 + draw(3)), amount);
      default:
        return Charge{.payer = ext(payer), .amount = kudos(amount), .check = true};
    }
  }
  unsigned draw(unsigned n) { return random_() % n; }

 private:
  std::mt19937 random_;
};

TEST_F(HammerTest, NoSpendIsCoveredByFundsThatAnotherHad) {
  for (unsigned i = 0; i < 9; ++i) make_funded(user(i), i < 6 ? 2000 : 0);
  ledger::ProjectorLoop projector({server().conninfo(), {}, {}, {}});
  projector.start();
  Batcher batcher({.conninfo = server().conninfo()});
  std::atomic<bool> stop{false};
  std::atomic<long> accepted{0}, refused{0};
  std::vector<std::thread> threads;
  const auto account = [&](const Result<Receipt>& receipt) {
    if (receipt) {
      ++accepted;
    } else {
      ++refused;
      EXPECT_TRUE(is_expected(receipt.error())) << receipt.error().to_string();
    }
  };
  for (unsigned i = 0; i < 64; ++i)
    threads.emplace_back([&, i] {
      Mischief mischief(i);
      auto client = server().client();
      for (int command = 0; command < 15; ++command) {
        // Half through group commit, half in transactions of their own; money comes in, too.
        if (mischief.draw(20) == 0) {
          account(batcher.run(top_up(user(mischief.draw(6)), 50)));
        } else if (i % 2 == 0) {
          account(batcher.run(mischief.next()));
        } else {
          const Command next = mischief.next();
          Result<Receipt> receipt = fail(ErrorCode::timed_out, "not run");
          must(run_transaction(client.session, [&]() -> Status {
            receipt = emit(client.session, next);
            if (!receipt && receipt.error().recovery != Recovery::none) return std::unexpected(receipt.error());
            return {};
          }));
          account(receipt);
        }
      }
    });
  threads.emplace_back([&] {
    auto connection = server().open();
    while (!stop) {
      let_deadlines_pass();
      must(store::sweep_holds(connection, store::lock_keys("public"), 100));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  for (unsigned i = 0; i < 64; ++i) threads[i].join();
  stop = true;
  threads.back().join();
  projector.stop();
  EXPECT_EQ(batcher.stats().deadlocks, 0);
  EXPECT_GT(accepted, 200);
  EXPECT_GT(refused, 50);
  EXPECT_NE(ask("SELECT count(*) FROM kudos_reservations WHERE state = 'expired'"), "0");
  expect_clean_audit();
}

// C1: A→B, B→A and around a triangle, with the guard off and on.
class TransferStorm : public HammerTest, public ::testing::WithParamInterface<int> {};

TEST_P(TransferStorm, NothingIsLostDoubledOrDeadlocked) {
  set_guard(GetParam());
  for (unsigned i = 0; i < 3; ++i) make_funded(user(i), 1000);
  ledger::ProjectorLoop projector({server().conninfo(), {}, {}, {}});
  projector.start();
  std::atomic<long> accepted{0}, reversed{0};
  RetryCounters counters;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 32; ++i)
    threads.emplace_back([&, i] {
      auto client = server().client();
      Mischief mischief(i);
      for (int command = 0; command < 15; ++command) {
        const unsigned from = mischief.draw(3);
        const auto gift = transfer(user(from), user((from + 1 + mischief.draw(2)) % 3), 1 + mischief.draw(30));
        Result<Receipt> receipt = fail(ErrorCode::timed_out, "not run");
        must(run_transaction(
            client.session,
            [&]() -> Status {
              receipt = emit(client.session, gift);
              if (!receipt && receipt.error().recovery != Recovery::none) return std::unexpected(receipt.error());
              return {};
            },
            {}, &counters));
        if (receipt)
          ++accepted;
        else if (receipt.error().code == ErrorCode::reverse_transfer)
          ++reversed;
        else
          EXPECT_EQ(receipt.error().code, ErrorCode::insufficient_funds) << receipt.error().to_string();
      }
    });
  for (auto& thread : threads) thread.join();
  projector.stop();
  EXPECT_EQ(counters.deadlocks + counters.given_up, 0);
  EXPECT_GT(accepted, 20);
  EXPECT_EQ(reversed > 0, GetParam() > 0);
  expect_clean_audit();
  EXPECT_EQ(ask("SELECT sum(kudos) FROM users WHERE id > 0"), "3000.00");
  EXPECT_EQ(ask("SELECT count(*) FROM kudos_transfers"), std::to_string(accepted.load()));
  // Within the guard time, between the same two, all went one way.
  if (GetParam() > 0)
    EXPECT_EQ(ask("SELECT count(*) FROM kudos_transfers a JOIN kudos_transfers b ON b.payer_id = a.recipient_id AND "
                  "b.recipient_id = a.payer_id AND b.created BETWEEN a.created AND a.created + interval '60 s'"),
              "0");
}
INSTANTIATE_TEST_SUITE_P(Guard, TransferStorm, ::testing::Values(0, 60));

// A7: everything is stopped when the deadline passes; what starts afterwards ends the hold, once.
TEST_F(HammerTest, AProjectorThatStartsLaterEndsHoldsAtTheirDeadline) {
  make_funded("alice", 100);
  for (const char* hold : {"h", "i"}) {
    auto short_lived = reserve("alice", 30, hold);
    short_lived.lifetime = std::chrono::seconds(100);
    must(run(short_lived));
  }
  must(run(reserve("alice", 30, "stays")));
  let_deadlines_pass();
  EXPECT_EQ(available("alice"), "10.00");
  ledger::ProjectorLoop projector({server().conninfo(), {}, {}, {}});
  projector.start();
  for (int i = 0; i < 400 && projector.stats().expired_holds < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  projector.stop();
  EXPECT_EQ(projector.stats().expired_holds, 2);
  EXPECT_EQ(hold_state("h") + hold_state("i") + hold_state("stays"), "expiredexpiredactive");
  EXPECT_EQ(available("alice"), "70.00");
}

// C3: one hot recipient is nobody's lock.
TEST_F(HammerTest, AHotRecipientQueuesNobody) {
  make_funded("hot", 0);
  for (unsigned i = 0; i < 8; ++i) make_funded(user(i), 10);
  std::vector<sim::Client> open;
  for (unsigned i = 0; i < 8; ++i) {
    open.push_back(begin());
    must(open.back().connection.run_script("SET lock_timeout = '5s'"));
    must(emit(open.back().session, transfer(user(i), "hot", 10)));  // all uncommitted at once
  }
  for (auto& client : open) commit(client);
  fold_all();
  EXPECT_EQ(balance("hot"), "80.00");
}

// The life of a streamed request: an estimate is reserved, extended twice while tokens flow, and captured when the true
// cost is known, late and above the estimate. The service dies at every point, with its transaction open or just
// committed; the true cost arrives by another way (a billing job, say), twice. It is charged once, nothing is stranded.
TEST_F(HammerTest, AStreamedRequestIsChargedOnceWhereverItDies) {
  for (int dies_after = 0; dies_after <= 4; ++dies_after) {
    for (const bool committed : {false, true}) {
      const std::string id = std::to_string(dies_after) + (committed ? "c" : "o"), payer = "payer " + id;
      SCOPED_TRACE(id);
      make_funded(payer, 100);
      auto estimate = reserve(payer, 10, "stream " + id);
      estimate.lifetime = std::chrono::minutes(10);
      auto cost = keyed(capture("stream " + id, 37), "cost of " + id);
      cost.final = cost.over = cost.late = true;
      const std::vector<Command> life = {estimate, Extend{.hold = "stream " + id, .amount = kudos(20)},
                                         Extend{.hold = "stream " + id, .amount = kudos(30)}, cost};
      for (int step = 0; step < static_cast<int>(life.size()) && step <= dies_after; ++step) {
        auto client = begin();
        must(emit(client.session, life[static_cast<std::size_t>(step)]));
        if (step < dies_after || committed) commit(client);  // else the connection goes away with its transaction
      }
      // The deadline passes; whether the sweeper or the late capture comes first must not matter.
      let_deadlines_pass();
      auto connection = server().open();
      if (dies_after % 2 == 0) must(store::sweep_holds(connection, store::lock_keys("public"), 100));
      // The billing job knows the payer only from the hold; a request that never got one cost nothing.
      for (int attempt = 0; attempt < 2; ++attempt) {
        const auto billed = run(cost);
        if (dies_after == 0 && !committed)
          EXPECT_EQ(refusal(billed), ErrorCode::unknown_hold);
        else
          EXPECT_TRUE(billed.has_value()) << billed.error().to_string();
      }
      must(store::sweep_holds(connection, store::lock_keys("public"), 100));
      fold_all();
      EXPECT_EQ(balance(payer), dies_after == 0 && !committed ? "100.00" : "63.00");
      EXPECT_EQ(available(payer), balance(payer)) << "nothing is stranded";
      EXPECT_EQ(ask("SELECT count(*) FROM kudos_reservations WHERE state = 'active'"), "0");
    }
  }
}

}  // namespace
}  // namespace kudos::testing
