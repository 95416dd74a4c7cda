// replay: settles a recording of real jobs, folding along.
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/replay_feed.h"
#include "cli/replay_summary.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "ledger/drain.h"
#include "ledger/projector_loop.h"
#include "store/control.h"
#include "store/health.h"

namespace kudos::cli {
namespace {

constexpr std::chrono::minutes kFoldPatience{60};
constexpr std::chrono::milliseconds kFoldSlice{500};

struct Options {
  std::string file;
  std::string format;
  std::string opening_award = "1000000.00";
  std::int64_t one_in = 1;
  bool skip_bad = false;
};

using Reader = std::unique_ptr<sim::TraceReader>;

Result<Reader> open_reader(const Options& options) {
  KUDOS_TRY(refuse_stream(options.file));  // for its digest, for bad rows, for its jobs
  KUDOS_ASSIGN(const auto format, sim::parse_trace_format(options.format));
  return sim::open_trace(options.file, format, {.one_in = options.one_in});
}

// Reads the file to its end, so that a broken row is told before anything is stored.
Status refuse_bad_rows(const Options& options) {
  KUDOS_ASSIGN(const Reader reader, open_reader(options));
  Progress bar("check", reader->bytes_total());
  for (;;) {
    auto job = reader->next();
    if (job && !*job) return {};
    if (job) {
      bar.update(reader->bytes_read());
      continue;
    }
    Error error = std::move(job).error();
    if (error.code == ErrorCode::bad_row)
      error.hint = "Nothing was stored. Mend the row, or leave bad rows out with --skip-bad.";
    return std::unexpected(std::move(error));
  }
}

Status feed_all(sim::TraceReader& reader, const Options& options, Feeder& feeder, ledger::ProjectorLoop& projector,
                StopSignals& signals, ReplayTotals& totals) {
  Progress bar("replay", reader.bytes_total());
  for (;;) {
    totals.stopped = signals.wait_for(std::chrono::milliseconds(0));
    if (totals.stopped) return {};
    KUDOS_ASSIGN(const auto jobs, next_batch(reader, options.skip_bad, totals));
    if (jobs.empty()) return {};
    KUDOS_ASSIGN(const auto counts, feeder.feed(jobs));
    projector.wake();
    totals.jobs += static_cast<std::int64_t>(jobs.size());
    totals.stored += counts.stored;
    totals.replayed += counts.replayed;
    bar.update(reader.bytes_read(), fmt::format("{} jobs", human_count(totals.jobs)), totals.jobs);
  }
}

// In slices, so that a signal ends it: nothing is lost, the next projector goes on.
Status fold_the_rest(const Globals& globals, const ledger::ProjectorOptions& settings, StopSignals& signals,
                     ReplayTotals& totals) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const std::int64_t pending, store::count_pending(connection));
  KUDOS_ASSIGN(auto projector, ledger::Projector::create(std::move(connection), settings));
  Progress bar("fold", pending);
  const auto give_up = std::chrono::steady_clock::now() + kFoldPatience;
  std::int64_t before = 0, folded = 0;
  for (;;) {
    const auto drained = ledger::drain(projector, kFoldSlice, [&](const auto& now) {
      folded = before + now.folded_events;
      bar.update(folded);
    });
    if (drained) return {};
    const bool in_time = std::chrono::steady_clock::now() < give_up;
    if (drained.error().code != ErrorCode::timed_out || !in_time) return std::unexpected(drained.error());
    before = folded;
    totals.stopped = signals.wait_for(std::chrono::milliseconds(0));
    if (totals.stopped) return {};
  }
}

Status require_ledger_mode(const Globals& globals) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto control, store::read_control(connection));
  if (control.mode == Mode::ledger) return {};
  return fail(ErrorCode::shadow_mode_unsupported, "the ledger is in shadow mode, in which nothing can be emitted yet",
              "Switch it over with `kudos mode ledger`.");
}

// Feeds and folds side by side, then folds what is left.
Status settle_and_fold(const Globals& globals, const Options& options, sim::TraceReader& reader, Amount award,
                       ReplayTotals& totals) {
  KUDOS_ASSIGN(const auto settings, ledger::ProjectorOptions::from_environment());
  KUDOS_ASSIGN(const auto format, sim::parse_trace_format(options.format));
  KUDOS_ASSIGN(const std::string conninfo, find_database(globals));
  KUDOS_ASSIGN(std::string digest, sim::file_digest(options.file));
  StopSignals signals;
  ledger::ProjectorLoop projector({.conninfo = conninfo,
                                   .connection = {.schema = globals.schema},
                                   .projector = settings,
                                   .log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); }});
  projector.start();
  Feeder feeder(globals, conninfo, sim::TraceSettler(std::move(digest), format, award));
  KUDOS_TRY(feed_all(reader, options, feeder, projector, signals, totals));
  projector.stop();
  return totals.stopped ? Status() : fold_the_rest(globals, settings, signals, totals);
}

Result<int> replay(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(const Amount award, Amount::parse(options.opening_award));
  if (!award.is_positive()) return fail(ErrorCode::amount_not_positive, "the opening award must be above 0");
  KUDOS_ASSIGN(const Reader reader, open_reader(options));
  KUDOS_TRY(require_ledger_mode(globals));
  if (!options.skip_bad) KUDOS_TRY(refuse_bad_rows(options));
  ReplayTotals totals;
  const auto start = std::chrono::steady_clock::now();
  KUDOS_TRY(settle_and_fold(globals, options, *reader, award, totals));
  totals.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (totals.stopped) {
    fmt::print(stderr, "replay: stopped after {} jobs, which are kept; run it again to finish\n",
               human_count(totals.jobs));
    return kFailed;
  }
  KUDOS_TRY(print_summary(globals, totals));
  return kDone;
}

}  // namespace

void add_replay(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("replay", "Settle the jobs of a recording");
  command->add_option("file", options->file, "The recording")->option_text("FILE")->required()->check(check_path);
  command->add_option("--format", options->format, "Of the recording; required")
      ->option_text("slurm|azure-llm|servegen")
      ->required()
      ->check(CLI::IsMember({"slurm", "azure-llm", "servegen"}));
  command->add_option("--opening-award", options->opening_award, "What each requester starts with")
      ->option_text("AMOUNT=1000000.00")
      ->check(check_filled);
  command->add_option("--one-in", options->one_in, "servegen: settle one request in this many")
      ->option_text("N=1")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  command->add_flag("--skip-bad", options->skip_bad, "Count bad rows and go on");
  command->footer(
      "Each event's key is the file's digest and the row: replaying the same file adds nothing.\n"
      "A bad row is refused before anything is stored, unless it's left out with --skip-bad.\n"
      "What each column becomes stands in docs/reference/traces.md.\n\n"
      "Examples:\n  kudos replay jobs.csv --format slurm\n"
      "  kudos replay clients.csv --format servegen --one-in 100 --json");
  command->callback([&, options] { run = [&, options] { return replay(globals, *options); }; });
}

}  // namespace kudos::cli
