// quarantine list, show, accept, repair: what operators do with statistics that were set aside.
#include "ledger/quarantine.h"

#include <pwd.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/dry_run.h"
#include "cli/event_view.h"
#include "cli/issue_command.h"
#include "cli/quarantine_view.h"

namespace kudos::cli {
namespace {

struct Options {
  bool all = false;
  std::int32_t limit = 100;
  std::string event;
  ledger::Reviewer reviewer;
  bool dry_run = false;
};

std::string system_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : "uid " + std::to_string(::geteuid());
}

Result<int> list(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  // One more than is shown tells whether there are more.
  KUDOS_ASSIGN(auto events, store::list_quarantined(connection, options.all, options.limit + 1));
  const bool more = events.size() > static_cast<std::size_t>(options.limit);
  if (more) events.pop_back();
  if (globals.json) {
    boost::json::array array;
    for (const auto& event : events) array.push_back(to_json(event));
    print_json(array);
  } else if (events.empty()) {
    fmt::print("{}\n", options.all ? "nothing was ever set aside" : "nothing is open; --all shows what was reviewed");
  } else {
    fmt::print("{}{}", describe(events), more ? "… there are more: --limit\n" : "");
  }
  return kDone;
}

Result<int> show(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const Uuid id, Uuid::parse(options.event));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto found, store::read_quarantined(connection, id));
  KUDOS_ASSIGN(const auto row, store::read_event(connection, id));
  KUDOS_ASSIGN(const auto mending, ledger::preview_repair(connection, id));
  if (globals.json) {
    auto object = to_json(found);
    object["event"] = to_json(row);
    add_lines(object, mending);
    print_json(object);
    return kDone;
  }
  fmt::print("{}\n", describe(row));
  for (const auto& review : found.reviews) fmt::print("{}", describe(review));
  if (found.find(store::Review::Action::repaired) == nullptr)
    fmt::print("{}a repair now would do this:\n{}", found.reviews.empty() ? "" : "\n",
               describe_lines(row.event, mending));
  return kDone;
}

// Begins a transaction of its own, runs `change` in it, and commits unless it is a dry run.
template <class Change>
auto in_transaction(db::Connection& connection, const Globals& globals, bool dry_run, Change change)
    -> decltype(change(std::declval<Session&>())) {
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema}));
  KUDOS_TRY(connection.execute(db::kBegin));
  auto done = change(session);
  if (!done || dry_run)
    connection.roll_back();
  else
    KUDOS_TRY(connection.execute(db::kCommit));
  return done;
}

Result<int> accept(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const Uuid id, Uuid::parse(options.event));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto done, in_transaction(connection, globals, false, [&](Session& session) {
                 return ledger::accept_quarantined(session, id, options.reviewer);
               }));
  if (!globals.json) {
    fmt::print("{}{}", done.replayed ? "it was accepted before: " : "", describe(done.review));
    return kDone;
  }
  print_json({{"event_id", id.to_string()},
              {"by", done.review.reviewer},
              {"at", done.review.at.to_string()},
              {"note", done.review.note},
              {"replayed", done.replayed}});
  return kDone;
}

void show_repair(const Globals& globals, const Options& options, const ledger::Repair& repair,
                 const store::EventRow& set_aside, const store::EventRow& stored) {
  if (globals.json) {
    boost::json::object object = receipt_to_json(repair.receipt);
    object["dry_run"] = options.dry_run;
    object["repaired_event_id"] = set_aside.event.id.to_string();
    object["event"] = to_json(stored);
    if (!repair.receipt.replayed) add_lines(object, repair.mending);
    return print_json(object);
  }
  if (options.dry_run) print_dry_run_notice();
  if (!repair.receipt.replayed) fmt::print("{}\n", describe_lines(set_aside.event, repair.mending));
  fmt::print("{}\n", options.dry_run ? describe(stored) : describe(repair.receipt));
}

Result<int> repair(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const Uuid id, Uuid::parse(options.event));
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto set_aside, store::read_event(connection, id));
  store::EventRow stored;
  KUDOS_ASSIGN(const auto done,
               in_transaction(connection, globals, options.dry_run, [&](Session& session) -> Result<ledger::Repair> {
                 KUDOS_ASSIGN(auto made, ledger::repair_quarantined(session, id, options.reviewer));
                 KUDOS_ASSIGN(stored, store::read_event(connection, made.receipt.event_id));
                 return made;
               }));
  show_repair(globals, options, done, set_aside, stored);
  return kDone;
}

using Shared = std::shared_ptr<Options>;

CLI::App* add_one(CLI::App& group, const Shared& options, const char* name, const char* what) {
  auto* command = group.add_subcommand(name, what);
  command->add_option("event", options->event, "The event's id")->option_text("UUID")->required();
  return command;
}

void declare_reviewer(CLI::App& command, ledger::Reviewer& reviewer) {
  command.add_option("--by", reviewer.name, "Who decides; default: the system user " + system_user())
      ->option_text("WHO")
      ->check(check_filled);
}

void add_list(CLI::App& group, const Globals& globals, Run& run, const Shared& options) {
  auto* command = group.add_subcommand("list", "Events that were set aside and that nobody has reviewed");
  command->add_flag("--all", options->all, "Also those that were accepted or repaired");
  command->add_option("--limit", options->limit, "At most so many, the oldest first")
      ->option_text("N=100")
      ->check(CLI::Range(1, 100'000));
  command->footer("Examples:\n  kudos quarantine list\n  kudos quarantine list --all --json");
  command->callback([&, options] { run = [&, options] { return list(globals, *options); }; });
}

void add_show(CLI::App& group, const Globals& globals, Run& run, const Shared& options) {
  auto* command = add_one(group, options, "show", "One of them: its lines, its reviews, what a repair would do");
  command->footer("Example:\n  kudos quarantine show 0199e6c2-3a4b-7c5d-8e6f-0123456789ab");
  command->callback([&, options] { run = [&, options] { return show(globals, *options); }; });
}

void add_accept(CLI::App& group, const Globals& globals, Run& run, const Shared& options) {
  auto* command = add_one(group, options, "accept", "Leave its statistics out for good, and record why");
  declare_reviewer(*command, options->reviewer);
  command->add_option("--note", options->reviewer.note, "Why; required")
      ->option_text("TEXT")
      ->required()
      ->check(check_filled);
  command->footer(
      "Example:\n  kudos quarantine accept 0199e6c2-3a4b-7c5d-8e6f-0123456789ab --note 'a load test, case 12'");
  command->callback([&, options] { run = [&, options] { return accept(globals, *options); }; });
}

void add_repair(CLI::App& group, const Globals& globals, Run& run, const Shared& options) {
  auto* command = add_one(group, options, "repair", "Emit a new event with those of its statistics that can fold");
  declare_reviewer(*command, options->reviewer);
  command->add_option("--note", options->reviewer.note, "Why")->option_text("TEXT")->check(check_filled);
  command->add_flag("--dry-run", options->dry_run, "Show what would be emitted, commit nothing");
  command->footer(
      "An event is repaired once; again is a replay. What can't be mended is named and stays out: where a user is\n"
      "missing, create it first.\n\nExamples:\n"
      "  kudos quarantine repair 0199e6c2-3a4b-7c5d-8e6f-0123456789ab --dry-run\n"
      "  kudos quarantine repair 0199e6c2-3a4b-7c5d-8e6f-0123456789ab --by alice --note 'user was imported late'");
  command->callback([&, options] { run = [&, options] { return repair(globals, *options); }; });
}

}  // namespace

void add_quarantine(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  options->reviewer.name = system_user();
  auto* group = app.add_subcommand("quarantine", "Statistics that can never fold: look, accept, repair");
  group->require_subcommand(1);
  add_list(*group, globals, run, options);
  add_show(*group, globals, run, options);
  add_accept(*group, globals, run, options);
  add_repair(*group, globals, run, options);
  group->footer("Examples:\n  kudos quarantine list\n  kudos quarantine repair UUID --dry-run");
}

}  // namespace kudos::cli
