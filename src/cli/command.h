// What every command shares: the global options, how it reaches the database, how it answers.
//
// A command is one file with one `add_…` function: it declares its options on `app` and sets `run` when it was chosen.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/fwd.hpp>
#include <functional>
#include <string>

#include "cli/arguments.h"
#include "db/connection.h"
#include "kudos/commands.h"
#include "kudos/error.h"
#include "kudos/session.h"

namespace kudos::cli {

// Exit statuses (docs/reference/cli.md).
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  // refused or failed: the error's stable name is printed
inline constexpr int kUsage = 2;

struct Globals {
  bool json = false;
  std::string database_url;
  std::string data_dir;
  std::string schema = "public";
};

// Set by the chosen command; returns the exit status or the error to report.
using Run = std::function<Result<int>()>;

// Where the database is: --database-url, KUDOS_DATABASE_URL, the usual PG* variables, else the private server that runs
// in the data directory.
Result<std::string> find_database(const Globals& globals);
// The part of it that is a URL: --database-url or KUDOS_DATABASE_URL; empty when neither is given or --data-dir is.
std::string database_url(const Globals& globals);
// PGHOST and the like are set, which libpq reads by itself once it is asked to connect without a URL.
bool has_postgres_environment();
std::string data_directory(const Globals& globals);

// A connection to it, with the schema checked.
Result<db::Connection> connect(const Globals& globals);

// Prints the error on stderr, as JSON with --json.
void report(const Globals& globals, const Error& error);
// One line of JSON on stdout.
void print_json(const boost::json::value& value);

void add_up(CLI::App& app, const Globals& globals, Run& run);
void add_migrate(CLI::App& app, const Globals& globals, Run& run);
void add_projector(CLI::App& app, const Globals& globals, Run& run);
void add_status(CLI::App& app, const Globals& globals, Run& run);
void add_drain(CLI::App& app, const Globals& globals, Run& run);
void add_mode(CLI::App& app, const Globals& globals, Run& run);
void add_replay(CLI::App& app, const Globals& globals, Run& run);
void add_user(CLI::App& app, const Globals& globals, Run& run);
void add_balance(CLI::App& app, const Globals& globals, Run& run);
void add_user_erase(CLI::App& user, const Globals& globals, Run& run);  // below `user`
void add_worker(CLI::App& app, const Globals& globals, Run& run);
void add_team(CLI::App& app, const Globals& globals, Run& run);
void add_changes(CLI::App& app, const Globals& globals, Run& run);  // topup, award, adjust, opening, style
void add_charge(CLI::App& app, const Globals& globals, Run& run);
void add_reserve(CLI::App& app, const Globals& globals, Run& run);
void add_extend(CLI::App& app, const Globals& globals, Run& run);
void add_capture(CLI::App& app, const Globals& globals, Run& run);
void add_release(CLI::App& app, const Globals& globals, Run& run);
void add_transfer(CLI::App& app, const Globals& globals, Run& run);
void add_holds(CLI::App& app, const Globals& globals, Run& run);
void add_settings(CLI::App& app, const Globals& globals, Run& run);
void add_settle(CLI::App& app, const Globals& globals, Run& run);
void add_uptime(CLI::App& app, const Globals& globals, Run& run);
void add_grant(CLI::App& app, const Globals& globals, Run& run);
void add_import(CLI::App& app, const Globals& globals, Run& run);
void add_wait(CLI::App& app, const Globals& globals, Run& run);
void add_quarantine(CLI::App& app, const Globals& globals, Run& run);
void add_event(CLI::App& app, const Globals& globals, Run& run);
void add_top(CLI::App& app, const Globals& globals, Run& run);

}  // namespace kudos::cli
