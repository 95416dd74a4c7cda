// replay: settles a recording of real jobs, folding along.
#include <fmt/core.h>

#include <boost/json.hpp>
#include <thread>

#include "base/try.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/status_view.h"
#include "cli/terminal.h"
#include "ledger/drain.h"
#include "ledger/projector_loop.h"
#include "sim/trace_settler.h"
#include "store/control.h"

namespace kudos::cli {
namespace {

constexpr std::size_t kJobsPerTransaction = 250;
constexpr int kAttempts = 6;
constexpr std::int32_t kLeaders = 5;
constexpr std::chrono::minutes kFoldPatience{60};

struct Options {
  std::string file;
  std::string format;
  std::string opening_award = "1000000.00";
  std::int64_t one_in = 1;
  bool skip_bad = false;
};

struct Totals {
  std::int64_t jobs = 0;
  std::int64_t stored = 0;
  std::int64_t replayed = 0;
  std::int64_t skipped_rows = 0;
  double seconds = 0;
};

// Emits batches, each in a transaction of its own. Every job has a key, so a batch whose fate is unknown is simply sent
// again: what was stored is replayed.
class Feeder {
 public:
  Feeder(const Globals& globals, std::string conninfo, sim::TraceSettler settler)
      : globals_(globals), conninfo_(std::move(conninfo)), settler_(std::move(settler)) {}

  Result<sim::SettleCounts> feed(std::span<const sim::TraceJob> jobs) {
    for (int attempt = 1;; ++attempt) {
      auto counts = try_feed(jobs);
      if (counts || counts.error().recovery == Recovery::none || attempt == kAttempts) return counts;
      fmt::print(stderr, "replay: {}; trying again\n", counts.error().message);
      std::this_thread::sleep_for(std::chrono::milliseconds(100) * (1 << attempt));
    }
  }

 private:
  Status open() {
    if (session_ && !connection_->is_broken()) return {};
    session_.reset();
    KUDOS_ASSIGN(auto connection, db::Connection::open(conninfo_, {.schema = globals_.schema}));
    connection_.emplace(std::move(connection));
    KUDOS_ASSIGN(auto session, Session::attach(connection_->raw(), {.schema = globals_.schema}));
    session_.emplace(std::move(session));
    return {};
  }

  Result<sim::SettleCounts> try_feed(std::span<const sim::TraceJob> jobs) {
    KUDOS_TRY(open());
    auto counts = transact(jobs);
    if (!counts) connection_->roll_back();
    else settler_.committed();
    return counts;
  }

  Result<sim::SettleCounts> transact(std::span<const sim::TraceJob> jobs) {
    KUDOS_TRY(connection_->execute(db::kBegin));
    KUDOS_ASSIGN(const auto counts, settler_.settle(*session_, jobs));
    KUDOS_TRY(connection_->execute(db::kCommit));
    return counts;
  }

  const Globals& globals_;
  std::string conninfo_;
  sim::TraceSettler settler_;
  std::optional<db::Connection> connection_;
  std::optional<Session> session_;
};

// The next batch; shorter at the end of the file. Bad rows are counted and skipped when the caller wants that.
Result<std::vector<sim::TraceJob>> next_batch(sim::TraceReader& reader, bool skip_bad, Totals& totals) {
  std::vector<sim::TraceJob> jobs;
  while (jobs.size() < kJobsPerTransaction) {
    auto job = reader.next();
    if (!job && job.error().code == ErrorCode::bad_row && skip_bad) {
      totals.skipped_rows += 1;
      continue;
    }
    if (!job) return std::unexpected(std::move(job).error());
    if (!*job) break;
    jobs.push_back(std::move(**job));
  }
  return jobs;
}

Status feed_all(sim::TraceReader& reader, const Options& options, Feeder& feeder, ledger::ProjectorLoop& projector,
                Totals& totals) {
  Progress bar("replay", reader.bytes_total());
  for (;;) {
    KUDOS_ASSIGN(const auto jobs, next_batch(reader, options.skip_bad, totals));
    if (jobs.empty()) return {};
    KUDOS_ASSIGN(const auto counts, feeder.feed(jobs));
    projector.wake();
    totals.jobs += static_cast<std::int64_t>(jobs.size());
    totals.stored += counts.stored;
    totals.replayed += counts.replayed;
    bar.update(reader.bytes_read(), fmt::format("{} jobs", human_count(totals.jobs)));
  }
}

Status fold_the_rest(const Globals& globals, const ledger::ProjectorOptions& settings) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const std::int64_t pending, store::count_pending(connection));
  KUDOS_ASSIGN(auto projector, ledger::Projector::create(std::move(connection), settings));
  Progress bar("fold", pending);
  KUDOS_TRY(ledger::drain(projector, kFoldPatience, [&](const auto& now) { bar.update(now.folded_events); }));
  return {};
}

boost::json::array names_and_kudos(const std::vector<store::Leader>& leaders) {
  boost::json::array rows;
  for (const auto& leader : leaders)
    rows.push_back({{"id", leader.id}, {"name", leader.name}, {"kudos", leader.kudos.to_string()}});
  return rows;
}

Result<int> print_summary(const Globals& globals, const Totals& totals) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto archive, store::read_archive_totals(connection));
  KUDOS_ASSIGN(const auto health, store::read_health(connection));
  KUDOS_ASSIGN(const auto leaders, read_leaders(connection, kLeaders));
  const double rate = static_cast<double>(totals.jobs) / totals.seconds;
  if (globals.json) {
    print_json({{"jobs", totals.jobs}, {"stored", totals.stored}, {"replayed", totals.replayed},
                {"skipped_rows", totals.skipped_rows}, {"seconds", totals.seconds}, {"jobs_per_second", rate},
                {"events", archive.events}, {"postings", archive.currency_postings + archive.statistic_postings},
                {"currency_sum", archive.currency_sum.to_string()}, {"pending_rows", health.pending_rows},
                {"top_users", names_and_kudos(leaders.users)}, {"top_workers", names_and_kudos(leaders.workers)},
                {"top_teams", names_and_kudos(leaders.teams)}});
    return kDone;
  }
  fmt::print("{} jobs in {}, folding included: {} jobs/s\n", human_count(totals.jobs), human_duration(totals.seconds),
             human_count(static_cast<std::int64_t>(rate)));
  fmt::print("{} events stored, {} were there already\n", human_count(totals.stored), human_count(totals.replayed));
  if (totals.skipped_rows > 0) fmt::print("{} bad rows skipped\n", human_count(totals.skipped_rows));
  fmt::print("\nthe ledger now\n  events           {}\n  postings         {}\n  sum of currency  {}\n  pending rows     {}\n\n{}",
             human_count(archive.events), human_count(archive.currency_postings + archive.statistic_postings),
             archive.currency_sum.to_string(), human_count(health.pending_rows), describe(leaders));
  return kDone;
}

Status require_ledger_mode(const Globals& globals) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto control, store::read_control(connection));
  if (control.mode == Mode::ledger) return {};
  return fail(ErrorCode::shadow_mode_unsupported, "the ledger is in shadow mode, in which nothing can be emitted yet",
              "Switch it over with `kudos mode ledger`.");
}

Result<int> replay(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const auto format, sim::parse_trace_format(options.format));
  KUDOS_ASSIGN(const Amount award, Amount::parse(options.opening_award));
  if (!award.is_positive()) return fail(ErrorCode::amount_not_positive, "the opening award must be above 0");
  KUDOS_ASSIGN(const auto reader, sim::open_trace(options.file, format, {.one_in = options.one_in}));
  KUDOS_ASSIGN(const auto settings, ledger::ProjectorOptions::from_environment());
  KUDOS_ASSIGN(const std::string conninfo, find_database(globals));
  KUDOS_TRY(require_ledger_mode(globals));
  KUDOS_ASSIGN(std::string digest, sim::file_digest(options.file));
  const auto start = std::chrono::steady_clock::now();
  ledger::ProjectorLoop projector({.conninfo = conninfo, .connection = {.schema = globals.schema}, .projector = settings,
                                   .log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); }});
  projector.start();
  Feeder feeder(globals, conninfo, sim::TraceSettler(std::move(digest), format, award));
  Totals totals;
  KUDOS_TRY(feed_all(*reader, options, feeder, projector, totals));
  projector.stop();
  KUDOS_TRY(fold_the_rest(globals, settings));
  totals.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return print_summary(globals, totals);
}

}  // namespace

void add_replay(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("replay", "Settle the jobs of a recording");
  command->add_option("file", options->file, "The recording")->required();
  command->add_option("--format", options->format, "slurm, azure-llm or servegen")->required();
  command->add_option("--opening-award", options->opening_award, "What each requester starts with")->capture_default_str();
  command->add_option("--one-in", options->one_in, "servegen: settle one request in this many")->capture_default_str();
  command->add_flag("--skip-bad", options->skip_bad, "Count bad rows and go on");
  command->footer("Each event's key is the file's digest and the row: replaying the same file adds nothing.\n"
                  "What each column becomes stands in docs/reference/traces.md.\n\n"
                  "Examples:\n  kudos replay jobs.csv --format slurm\n"
                  "  kudos replay clients.csv --format servegen --one-in 100 --json");
  command->callback([&, options] { run = [&, options] { return replay(globals, *options); }; });
}

}  // namespace kudos::cli
