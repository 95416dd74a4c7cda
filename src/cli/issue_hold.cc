#include "cli/issue_hold.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/dry_run.h"
#include "cli/hold_view.h"
#include "cli/transact.h"

namespace kudos::cli {
namespace {

struct Answer {
  Receipt receipt;
  std::optional<HoldOutcome> hold;
};

Status carry_out(Session& session, db::Connection& connection, const Command& command, Answer& answer) {
  KUDOS_ASSIGN(answer.receipt, emit(session, command));
  KUDOS_ASSIGN(answer.hold, read_hold_outcome(connection, answer.receipt.hold));
  return {};
}

void show(const Globals& globals, bool dry_run, const Answer& answer) {
  if (globals.json) {
    boost::json::object object{{"replayed", answer.receipt.replayed}, {"amount", answer.receipt.amount.to_string()}};
    if (dry_run) object["dry_run"] = true;
    add_json(object, answer.hold);
    return print_json(object);
  }
  if (dry_run) print_dry_run_notice();
  fmt::print("{}{}\n", describe(*answer.hold), answer.receipt.replayed ? " (replayed: it was there already)" : "");
}

}  // namespace

Result<int> issue_hold(const Globals& globals, const ChangeOptions& change, const Command& command) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema}));
  Answer answer;
  KUDOS_TRY(transact(session, change.dry_run, [&] { return carry_out(session, connection, command, answer); }));
  show(globals, change.dry_run, answer);
  return kDone;
}

CLI::Option* declare_expires(CLI::App& command, std::string& expires) {
  return command.add_option("--expires", expires, "It ends by itself after this time, such as 90s, 5m, 2h or 7d")
      ->option_text("TIME")
      ->check(check_lifetime);
}

Result<std::optional<std::chrono::seconds>> lifetime_of(const std::string& expires) {
  if (expires.empty()) return std::nullopt;
  return parse_lifetime(expires);
}

}  // namespace kudos::cli
