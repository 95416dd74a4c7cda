#include "cli/issue_command.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/dry_run.h"
#include "cli/hold_view.h"
#include "cli/terminal.h"
#include "cli/transact.h"
#include "store/queries.h"

namespace kudos::cli {
namespace {

constexpr const char* kPrincipal = "cli";

// What a command left, as its own transaction sees it.
struct Answer {
  Receipt receipt;
  std::optional<Outlook> outlook;   // of a dry run
  std::optional<HoldOutcome> hold;  // that the event's debit names
};

// The business id that the command names; empty: none.
std::string named_hold(const Command& command) {
  return std::visit(
      []<class Each>(const Each& each) -> std::string {
        if constexpr (requires { each.hold; }) return each.hold;
        return {};
      },
      command);
}

// A replay's receipt doesn't tell; the event does, whatever has become of the hold since.
Result<std::optional<HoldOutcome>> find_used_hold(db::Connection& connection, const Receipt& receipt) {
  if (!receipt.stored) return std::nullopt;
  KUDOS_ASSIGN(const auto row, store::read_event(connection, receipt.event_id));
  for (const Posting& posting : row.event.postings)
    if (posting.hold_id) return read_hold_outcome(connection, *posting.hold_id);
  return std::nullopt;
}

Status carry_out(Session& session, db::Connection& connection, const Command& command, bool dry_run, Answer& answer) {
  answer = {};
  KUDOS_ASSIGN(answer.receipt, emit(session, command));
  if (!named_hold(command).empty()) {
    KUDOS_ASSIGN(answer.hold, find_used_hold(connection, answer.receipt));
  }
  if (dry_run) {
    KUDOS_ASSIGN(answer.outlook, look_ahead(connection, answer.receipt));
  }
  return {};
}

void print_answer(const Answer& answer, const std::string& hold) {
  if (answer.outlook)
    print_outlook(*answer.outlook, false);
  else
    fmt::print("{}\n", describe(answer.receipt));
  if (hold.empty() || !answer.receipt.stored) return;
  if (answer.hold)
    fmt::print("{}\n", describe(*answer.hold));
  else
    fmt::print("hold {} was not used: it had ended, or there was nothing to debit\n", printable(hold));
}

void show(const Globals& globals, const Answer& answer, const std::string& hold) {
  if (!globals.json) return print_answer(answer, hold);
  auto object = answer.outlook ? to_json(*answer.outlook) : receipt_to_json(answer.receipt);
  if (!hold.empty()) add_json(object, answer.hold);
  print_json(object);
}

void declare_key(CLI::App& command, std::string& key) {
  command.add_option("--key", key, "Idempotency key: the same key never counts twice")
      ->option_text("KEY")
      ->check(check_filled);
}

}  // namespace

boost::json::object receipt_to_json(const Receipt& receipt) {
  boost::json::object object{
      {"event_id", nullptr}, {"seq", nullptr}, {"replayed", receipt.replayed}, {"stored", receipt.stored}};
  if (!receipt.stored) return object;
  object["event_id"] = receipt.event_id.to_string();
  object["seq"] = receipt.seq.value;
  return object;
}

std::string describe(const Receipt& receipt) {
  if (!receipt.stored) return "no event: a fake job leaves nothing";
  return "event " + receipt.event_id.to_string() + (receipt.replayed ? " (replayed: it was there already)" : "");
}

void ChangeOptions::declare(CLI::App& command) {
  declare_key(command, key);
  declare_keyless(command);
}

void ChangeOptions::declare_eventless(CLI::App& command) {
  declare_key(command, key);
  command.add_flag("--dry-run", dry_run, "Show what would be claimed and available, commit nothing");
}

void ChangeOptions::declare_keyless(CLI::App& command) {
  command.add_option("--metadata", metadata, "Flat JSON object of at most 2 KB, kept with the event")
      ->option_text("JSON")
      ->check(check_filled);
  command.add_flag("--dry-run", dry_run, "Show postings and resulting balances, commit nothing");
}

void declare_reason(CLI::App& command, std::string& reason) {
  command.add_option("--reason", reason, "Kept with the event, at most 200 bytes; it can't be erased")
      ->option_text("TEXT")
      ->check(check_filled);
}

void declare_type(CLI::App& command, std::string& type, const std::string& what) {
  command.add_option("--type", type, what + ": image, text, interrogation or your own, at most 20 characters")
      ->option_text("TYPE")
      ->check(check_filled);
}

CLI::Option* declare_hold(CLI::App& command, std::string& hold) {
  return command.add_option("--hold", hold, "A hold of the payer that this debit uses, if it is still active")
      ->option_text("ID")
      ->check(check_filled);
}

EventOptions ChangeOptions::event_options() const {
  EventOptions options;
  if (!key.empty()) options.key = {kPrincipal, key};
  options.metadata = metadata;
  return options;
}

Result<int> issue(const Globals& globals, const ChangeOptions& change, const Command& command) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema}));
  Answer answer;
  KUDOS_TRY(transact(session, change.dry_run,
                     [&] { return carry_out(session, connection, command, change.dry_run, answer); }));
  show(globals, answer, named_hold(command));
  return kDone;
}

}  // namespace kudos::cli
