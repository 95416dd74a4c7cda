// up: a private PostgreSQL (or a given one), the schema, a projector; with --demo a live marketplace.
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "cli/status_board.h"
#include "cli/terminal.h"
#include "db/private_server.h"
#include "ledger/drain.h"
#include "ledger/migrations.h"
#include "ledger/projector_loop.h"
#include "sim/demo_traffic.h"
#include "store/control.h"
#include "store/health.h"

namespace kudos::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kRedraw{1};
constexpr std::chrono::seconds kLastFoldPatience{10};
constexpr std::chrono::seconds kFailingPatience{60};

struct Options {
  bool demo = false;
  std::string duration;
  int rate = 300;
};

void note(const std::string& line) { fmt::print(stderr, "{}\n", line); }

// The database and, when it is ours, the server behind it.
struct Database {
  std::string conninfo;
  std::optional<db::PrivateServer> server;
};

Result<Database> open_database(const Globals& globals) {
  if (auto url = database_url(globals); !url.empty()) return Database{std::move(url), std::nullopt};
  const std::string directory = data_directory(globals);
  note("starting a private PostgreSQL in " + directory);
  KUDOS_ASSIGN(auto server, db::PrivateServer::start({.data_dir = directory}));
  std::string conninfo = server.conninfo();
  return Database{std::move(conninfo), std::move(server)};
}

// An empty ledger that we made ourselves has no other writers: it needs no shadow phase.
Status prepare(const Globals& globals, const Database& database) {
  KUDOS_ASSIGN(auto connection, db::Connection::open(database.conninfo, {.schema = globals.schema}));
  KUDOS_ASSIGN(const auto report, ledger::migrate(connection));
  for (const std::string& name : report.applied) note("applied migration " + name);
  KUDOS_ASSIGN(const auto control, store::read_control(connection));
  if (control.mode == Mode::ledger) return {};
  KUDOS_ASSIGN(const auto health, store::read_health(connection));
  if (!database.server || health.last_fold > 0 || health.pending_events > 0) {
    note("the ledger is in shadow mode; switch it over with `kudos mode ledger`");
    return {};
  }
  KUDOS_TRY(store::switch_to_ledger(connection, store::lock_keys(globals.schema), std::chrono::seconds(30)));
  note("new ledger without other writers: switched to ledger mode");
  return {};
}

struct Running {
  Database& database;
  ledger::ProjectorLoop& projector;
  sim::DemoTraffic* traffic;
};

// Why `up` must end although nobody asked for it. A given database may come back, and the projector with it; our own
// server doesn't, and a projector that can't work on a healthy one needs a person.
class Supervisor {
 public:
  explicit Supervisor(const Running& running) : running_(running) {}

  Status check() {
    const auto& server = running_.database.server;
    if (!server) return {};
    if (!server->running())
      return fail(ErrorCode::database_unavailable, "the private PostgreSQL has ended",
                  "Its log is " + server->log_file().string() + "; `kudos up` starts it again.");
    const auto stats = running_.projector.stats();
    const auto now = Clock::now();
    if (stats.last_error.empty()) healthy_ = now;
    if (now - healthy_ < kFailingPatience) return {};
    return fail(ErrorCode::database_error, "the projector fails since a minute: " + stats.last_error,
                "Accepted events are kept and wait in the queue.");
  }

 private:
  const Running& running_;
  Clock::time_point healthy_ = Clock::now();
};

// Until a signal, the end of the given time, the end of whoever reads the screen, or a failure.
Status watch(const Globals& globals, const Running& running, StopSignals& signals,
             std::optional<std::chrono::milliseconds> duration) {
  const auto start = Clock::now();
  StatusBoard board(globals, running.database.conninfo);
  Supervisor supervisor(running);
  const auto remaining = [&] {
    if (!duration) return std::chrono::milliseconds(kRedraw);
    const auto left = *duration - std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
    return std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(kRedraw));
  };
  while (!signals.wait_for(remaining()) && remaining().count() > 0) {
    KUDOS_TRY(supervisor.check());
    if (running.traffic == nullptr) continue;
    if (reader_gone(stdout)) return {};
    board.show(running.traffic->accepted(), running.projector.stats().events);
  }
  return {};
}

// What isn't folded in time waits for the next start: no failure.
Status fold_the_rest(const Globals& globals, const Database& database, const ledger::ProjectorOptions& settings) {
  KUDOS_ASSIGN(auto connection, db::Connection::open(database.conninfo, {.schema = globals.schema}));
  KUDOS_ASSIGN(auto projector, ledger::Projector::create(std::move(connection), settings));
  const auto drained = ledger::drain(projector, kLastFoldPatience, {});
  if (drained) return {};
  if (drained.error().code != ErrorCode::timed_out) return std::unexpected(drained.error());
  note("events are still queued: the next start folds them");
  return {};
}

void announce(const Globals& globals, const Database& database) {
  // Never the URL: it may hold a password.
  note(database.server ? "ready: " + database.conninfo : std::string("ready: on the given database"));
  if (database.server && globals.data_dir.empty() && has_postgres_environment())
    note("PGHOST or the like is set, which the other commands follow: give them --data-dir " + data_directory(globals));
  note("stop with Ctrl-C");
}

Status run(const Globals& globals, const Options& options, Database& database, const ledger::ProjectorOptions& settings,
           StopSignals& signals) {
  std::optional<std::chrono::milliseconds> duration;
  if (!options.duration.empty()) {
    KUDOS_ASSIGN(duration, parse_duration(options.duration));
  }
  ledger::ProjectorLoop projector(
      {.conninfo = database.conninfo, .connection = {.schema = globals.schema}, .projector = settings, .log = note});
  sim::DemoTraffic traffic({.conninfo = database.conninfo,
                            .schema = globals.schema,
                            .jobs_per_second = options.rate,
                            .on_commit = [&] { projector.wake(); },
                            .log = note});
  projector.start();
  if (options.demo) KUDOS_TRY(traffic.start());
  announce(globals, database);
  const Status watched = watch(globals, {database, projector, options.demo ? &traffic : nullptr}, signals, duration);
  traffic.stop();
  projector.stop();
  return watched;
}

Result<int> up(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const auto settings, ledger::ProjectorOptions::from_environment());
  StopSignals signals;
  KUDOS_ASSIGN(Database database, open_database(globals));
  KUDOS_TRY(prepare(globals, database));
  KUDOS_TRY(run(globals, options, database, settings, signals));
  if (options.demo) KUDOS_TRY(fold_the_rest(globals, database, settings));
  if (database.server) KUDOS_TRY(database.server->stop());
  note("stopped; everything accepted is kept");
  return kDone;
}

}  // namespace

void add_up(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("up", "Run everything: a private PostgreSQL and a projector");
  command->add_flag("--demo", options->demo, "Settle a live stream of jobs of a small simulated marketplace");
  command->add_option("--for", options->duration, "Stop after this time, e.g. 20s")
      ->option_text("TIME")
      ->check(check_duration);
  command->add_option("--rate", options->rate, "Jobs a second of the demo, 1 to 100000")
      ->option_text("N=300")
      ->check(CLI::Range(1, 100000));
  command->footer(
      "The data stays in --data-dir; other commands find the running server there by themselves.\n"
      "With --database-url or KUDOS_DATABASE_URL no private PostgreSQL is started.\n\n"
      "Examples:\n  kudos up --demo --for 20s\n  kudos up --data-dir ./data");
  command->callback([&, options] { run = [&, options] { return up(globals, *options); }; });
}

}  // namespace kudos::cli
