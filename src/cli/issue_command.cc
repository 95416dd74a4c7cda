#include "cli/issue_command.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/dry_run.h"

namespace kudos::cli {
namespace {

constexpr const char* kPrincipal = "cli";

void show(const Globals& globals, const Receipt& receipt) {
  if (globals.json) return print_json(receipt_to_json(receipt));
  fmt::print("{}\n", describe(receipt));
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
  command.add_option("--key", key, "Idempotency key: the same key never counts twice")
      ->option_text("KEY")
      ->check(check_filled);
  declare_keyless(command);
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

EventOptions ChangeOptions::event_options() const {
  EventOptions options;
  if (!key.empty()) options.key = {kPrincipal, key};
  options.metadata = metadata;
  return options;
}

Result<int> issue(const Globals& globals, const ChangeOptions& change, const Command& command) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema}));
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_ASSIGN(const Receipt receipt, emit(session, command));
  if (change.dry_run) {
    KUDOS_ASSIGN(const auto outlook, look_ahead(connection, receipt));
    connection.roll_back();
    print_outlook(outlook, globals.json);
    return kDone;
  }
  KUDOS_TRY(connection.execute(db::kCommit));
  show(globals, receipt);
  return kDone;
}

}  // namespace kudos::cli
