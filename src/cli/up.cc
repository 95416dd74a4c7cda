// up: a private PostgreSQL (or a given one), the schema, a projector; with --demo a live marketplace.
#include <fmt/core.h>

#include <boost/json.hpp>

#include "base/try.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "cli/status_view.h"
#include "cli/terminal.h"
#include "db/private_server.h"
#include "ledger/drain.h"
#include "ledger/migrations.h"
#include "ledger/projector_loop.h"
#include "sim/demo_traffic.h"
#include "store/control.h"

namespace kudos::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kRedraw{1};
constexpr std::chrono::seconds kLastFoldPatience{10};
constexpr std::int32_t kLeaders = 5;

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
  if (!globals.database_url.empty()) return Database{globals.database_url, std::nullopt};
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
  if (control.mode == Mode::ledger || !database.server) return {};
  KUDOS_ASSIGN(const auto health, store::read_health(connection));
  if (health.last_fold > 0 || health.pending_events > 0) return {};
  KUDOS_TRY(store::switch_to_ledger(connection, store::lock_keys(globals.schema), std::chrono::seconds(30)));
  note("new ledger without other writers: switched to ledger mode");
  return {};
}

// Draws the status; rates are of the time since the last call.
class StatusBoard {
 public:
  StatusBoard(const Globals& globals, std::string conninfo) : globals_(globals), conninfo_(std::move(conninfo)) {}

  void show(std::int64_t accepted, std::int64_t folded) {
    const auto now = Clock::now();
    const double seconds = std::max(1e-3, std::chrono::duration<double>(now - last_).count());
    const Rates rates{static_cast<double>(accepted - accepted_) / seconds,
                      static_cast<double>(folded - folded_) / seconds};
    last_ = now;
    accepted_ = accepted;
    folded_ = folded;
    if (const Status drawn = draw(rates); !drawn) {
      connection_.reset();
      screen_.draw("no answer from the database: " + drawn.error().message);
    }
  }
  void close() { screen_.close(); }

 private:
  Status draw(const Rates& rates) {
    if (!connection_) {
      KUDOS_ASSIGN(auto connection, db::Connection::open(conninfo_, {.schema = globals_.schema}));
      connection_.emplace(std::move(connection));
    }
    KUDOS_ASSIGN(const auto health, store::read_health(*connection_));
    KUDOS_ASSIGN(const auto leaders, read_leaders(*connection_, kLeaders));
    if (globals_.json) print(health, rates);
    else screen_.draw(describe(health, &rates) + "\n" + describe(leaders));
    return {};
  }

  static void print(const store::Health& health, const Rates& rates) {
    auto object = to_json(health);
    object["accepted_per_second"] = rates.accepted_per_second;
    object["folded_per_second"] = rates.folded_per_second;
    print_json(object);
    std::fflush(stdout);
  }

  const Globals& globals_;
  std::string conninfo_;
  std::optional<db::Connection> connection_;
  LiveScreen screen_;
  Clock::time_point last_ = Clock::now();
  std::int64_t accepted_ = 0, folded_ = 0;
};

struct Running {
  Database& database;
  ledger::ProjectorLoop& projector;
  sim::DemoTraffic* traffic;
};

// Until a signal, the end of the given time, or the end of the private server.
Status watch(const Globals& globals, const Running& running, StopSignals& signals,
             std::optional<std::chrono::milliseconds> duration) {
  const auto start = Clock::now();
  StatusBoard board(globals, running.database.conninfo);
  const auto remaining = [&] {
    if (!duration) return std::chrono::milliseconds(kRedraw);
    const auto left = *duration - std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
    return std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(kRedraw));
  };
  while (!signals.wait_for(remaining()) && remaining().count() > 0) {
    if (running.database.server && !running.database.server->running())
      return fail(ErrorCode::server_start_failed, "the private PostgreSQL has ended",
                  "Its log is " + running.database.server->log_file().string() + ".");
    if (running.traffic != nullptr) board.show(running.traffic->accepted(), running.projector.stats().events);
  }
  return {};
}

Status fold_the_rest(const Globals& globals, const Database& database, const ledger::ProjectorOptions& settings) {
  KUDOS_ASSIGN(auto connection, db::Connection::open(database.conninfo, {.schema = globals.schema}));
  KUDOS_ASSIGN(auto projector, ledger::Projector::create(std::move(connection), settings));
  KUDOS_TRY(ledger::drain(projector, kLastFoldPatience, {}));
  return {};
}

Result<int> up(const Globals& globals, const Options& options) {
  std::optional<std::chrono::milliseconds> duration;
  if (!options.duration.empty()) {
    KUDOS_ASSIGN(duration, parse_duration(options.duration));
  }
  KUDOS_ASSIGN(const auto settings, ledger::ProjectorOptions::from_environment());
  StopSignals signals;
  KUDOS_ASSIGN(Database database, open_database(globals));
  KUDOS_TRY(prepare(globals, database));
  ledger::ProjectorLoop projector({.conninfo = database.conninfo, .connection = {.schema = globals.schema},
                                   .projector = settings, .log = note});
  sim::DemoTraffic traffic({.conninfo = database.conninfo, .schema = globals.schema, .jobs_per_second = options.rate,
                            .on_commit = [&] { projector.wake(); }, .log = note});
  projector.start();
  if (options.demo) KUDOS_TRY(traffic.start());
  note("ready: " + database.conninfo + "\nstop with Ctrl-C");
  const Status watched = watch(globals, {database, projector, options.demo ? &traffic : nullptr}, signals, duration);
  traffic.stop();
  projector.stop();
  KUDOS_TRY(watched);
  if (options.demo) KUDOS_TRY(fold_the_rest(globals, database, settings));
  note("stopped; everything accepted is kept");
  return kDone;
}

}  // namespace

void add_up(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("up", "Run everything: a private PostgreSQL and a projector");
  command->add_flag("--demo", options->demo, "Settle a live stream of jobs of a small simulated marketplace");
  command->add_option("--for", options->duration, "Stop after this time, e.g. 20s");
  command->add_option("--rate", options->rate, "Jobs a second of the demo")->capture_default_str()->check(CLI::Range(1, 100000));
  command->footer("The data stays in --data-dir; other commands find the running server there by themselves.\n"
                  "With --database-url no private PostgreSQL is started.\n\n"
                  "Examples:\n  kudos up --demo --for 20s\n  kudos up --data-dir ./data");
  command->callback([&, options] { run = [&, options] { return up(globals, *options); }; });
}

}  // namespace kudos::cli
