// release: ends holds, all of them or none.
#include <boost/json.hpp>
#include <fmt/core.h>
#include <map>

#include "base/try.h"
#include "cli/command.h"
#include "cli/dry_run.h"
#include "cli/hold_view.h"
#include "cli/issue_command.h"
#include "cli/terminal.h"
#include "cli/transact.h"

namespace kudos::cli {
namespace {

struct Options {
  std::vector<std::string> holds;
  ChangeOptions change;
};

struct Released {
  std::string id;
  Receipt receipt;
  std::optional<HoldOutcome> hold;  // nothing: nothing was active under the id
};

std::vector<Command> commands_of(const Options& options) {
  std::vector<Command> commands;
  for (const std::string& hold : options.holds) commands.push_back(Release{hold, options.change.event_options()});
  return commands;
}

Status carry_out(Session& session, db::Connection& connection, const Options& options, std::vector<Released>& done) {
  done.clear();
  KUDOS_ASSIGN(auto receipts, emit(session, commands_of(options)));
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    KUDOS_ASSIGN(const Receipt receipt, std::move(receipts[i]));
    done.push_back({options.holds[i], receipt, std::nullopt});
    if (receipt.hold == 0) continue;
    KUDOS_ASSIGN(done.back().hold, read_hold_outcome(connection, receipt.hold));
  }
  return {};
}

Total sum_of(const std::vector<Released>& done) {
  Total sum;
  for (const Released& each : done) sum += each.receipt.amount;
  return sum;
}

boost::json::object to_json(const Released& released) {
  boost::json::object object{{"reservation_id", released.id},
                             {"amount", released.receipt.amount.to_string()},
                             {"replayed", released.receipt.replayed}};
  add_json(object, released.hold);
  return object;
}

void print_as_json(bool dry_run, const std::vector<Released>& done) {
  boost::json::array holds;
  for (const Released& each : done) holds.push_back(to_json(each));
  boost::json::object object{{"released", sum_of(done).to_string()}, {"holds", holds}};
  if (dry_run) object["dry_run"] = true;
  print_json(object);
}

std::string line_of(const Released& released) {
  const std::string replayed = released.receipt.replayed ? " (replayed)" : "";
  if (!released.hold) return "hold " + printable(released.id) + " is not active: nothing was given back" + replayed;
  return "hold " + printable(released.id) + " gave back " + released.receipt.amount.to_string() + replayed;
}

void print_as_text(const std::vector<Released>& done) {
  std::map<UserId, Total> available;
  for (const Released& each : done) {
    fmt::print("{}\n", line_of(each));
    if (each.hold) available[each.hold->row.hold.payer] = each.hold->available;
  }
  if (done.size() > 1) fmt::print("{} given back in all\n", sum_of(done).to_string());
  for (const auto& [user, amount] : available) fmt::print("user {} has {} available\n", user.value, amount.to_string());
}

Result<int> release(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema}));
  std::vector<Released> done;
  KUDOS_TRY(transact(session, options.change.dry_run, [&] { return carry_out(session, connection, options, done); }));
  if (globals.json) {
    print_as_json(options.change.dry_run, done);
    return kDone;
  }
  if (options.change.dry_run) print_dry_run_notice();
  print_as_text(done);
  return kDone;
}

// A key answers for one request: with another list of ids it would be neither a replay nor a conflict.
void require_one_for_key(const Options& options) {
  if (options.holds.size() > 1 && !options.change.key.empty())
    throw CLI::ValidationError("--key", "a key belongs to one release; without one, releasing again changes nothing");
}

}  // namespace

void add_release(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("release", "End holds and give back what they still claim");
  command->add_option("hold", options->holds, "The holds' ids; all are released or none")
      ->option_text("ID...")
      ->required()
      ->check(check_filled);
  options->change.declare_eventless(*command);
  command->footer(
      "An id under which nothing is active gives back 0 and is no failure. --key takes a single id.\n\n"
      "Examples:\n  kudos release job-7\n  kudos release job-7 job-8 job-9 --json\n  kudos release job-7 --dry-run");
  command->callback([&, options] {
    require_one_for_key(*options);
    run = [&, options] { return release(globals, *options); };
  });
}

}  // namespace kudos::cli
