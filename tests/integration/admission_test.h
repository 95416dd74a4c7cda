// What the tests of admission share.
#pragma once

#include "kudos/batcher.h"
#include "kudos/transaction.h"
#include "ledger_test.h"
#include "store/holds.h"

namespace kudos::testing {

inline UserRef ext(const std::string& name) { return UserRef::external(name); }
inline Amount kudos(std::int64_t whole) { return Amount::whole(whole); }

inline Reserve reserve(const std::string& payer, std::int64_t amount, const std::string& hold) {
  return {.payer = ext(payer), .amount = kudos(amount), .hold = hold};
}
inline Capture capture(const std::string& hold, std::int64_t amount) { return {.hold = hold, .amount = kudos(amount)}; }
inline Transfer transfer(const std::string& payer, const std::string& recipient, std::int64_t amount) {
  return {.payer = ext(payer), .recipient = ext(recipient), .amount = kudos(amount)};
}
template <class Each>
Each keyed(Each command, const std::string& key) {
  command.options.key = {"test", key};
  return command;
}

class AdmissionTest : public LedgerTest {
 protected:
  // A user with a folded balance.
  static void make_funded(const std::string& name, std::int64_t amount, const std::string& account_class = "standard") {
    make_user(name, account_class);
    if (amount == 0) return;
    emit_and_commit(top_up(name, amount));
    fold_all();
  }

  // In a transaction of its own, which a refusal rolls back; retried as a service would.
  static Result<Receipt> run(const Command& command) {
    auto client = server().client();
    Result<Receipt> receipt = fail(ErrorCode::invalid_request, "not run");
    const auto done = run_transaction(client.session, [&]() -> Status {
      receipt = emit(client.session, command);
      if (!receipt && receipt.error().recovery != Recovery::none) return std::unexpected(receipt.error());
      return {};
    });
    if (!done) return std::unexpected(done.error());
    return receipt;
  }
  static ErrorCode refusal(const Result<Receipt>& receipt) {
    if (!receipt) return receipt.error().code;
    ADD_FAILURE() << "was accepted";
    return ErrorCode::invalid_request;
  }
  static ErrorCode refusal(const Command& command) { return refusal(run(command)); }

  static Funds funds(const std::string& user) {
    auto client = begin();
    const auto found = must(read_funds(client.session, ext(user)));
    commit(client);
    return found;
  }
  static std::string available(const std::string& user) { return funds(user).available.to_string(); }
  static std::string hold_state(const std::string& hold) {
    return ask("SELECT string_agg(state::text, ',' ORDER BY id) FROM kudos_reservations WHERE reservation_id = '" +
               hold + "'");
  }
  static void set(const std::string& user, const std::string& assignment) {
    server().run("UPDATE users SET " + assignment + " WHERE external_id = '" + user + "'");
  }
  // As if their time had passed.
  static void let_deadlines_pass() {
    server().run("UPDATE kudos_reservations SET expires = clock_timestamp() WHERE expires IS NOT NULL");
  }
  static void set_guard(int seconds) {
    server().run("UPDATE kudos_ledger_control SET transfer_guard_seconds = " + std::to_string(seconds));
  }
};

}  // namespace kudos::testing
