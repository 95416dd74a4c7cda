// import: accounts and what they start with, from a file of balances. All of it or nothing.
#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/dry_run.h"
#include "cli/import_store.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "sim/trace.h"

namespace kudos::cli {
namespace {

constexpr std::size_t kRowsPerBatch = 250;

struct Options {
  std::string file;
  bool dry_run = false;
};

Result<ImportTotals> add_all(Session& session, ImportReader& reader, std::string digest) {
  Importer importer(session, reader, std::move(digest));
  Progress bar("import", reader.bytes_total());
  for (;;) {
    KUDOS_ASSIGN(const auto rows, reader.next_batch(kRowsPerBatch));
    if (rows.empty()) return importer.totals();
    KUDOS_TRY(importer.add(rows));
    const auto done = importer.totals().rows;
    bar.update(reader.bytes_read(), fmt::format("{} accounts", human_count(done)), done);
  }
}

boost::json::object to_json(const ImportTotals& totals, bool dry_run) {
  return {{"dry_run", dry_run},
          {"rows", totals.rows},
          {"accounts_created", totals.created},
          {"accounts_kept", totals.kept},
          {"openings_stored", totals.stored},
          {"openings_replayed", totals.replayed},
          {"zero_balances", totals.empty},
          {"sum", totals.sum.to_string()},
          {"sum_stored", totals.sum_stored.to_string()}};
}

void print(const ImportTotals& totals, bool dry_run) {
  if (dry_run) print_dry_run_notice();
  fmt::print("rows             {}\naccounts         {} created, {} were there already\n", human_count(totals.rows),
             human_count(totals.created), human_count(totals.kept));
  fmt::print("openings         {} stored, {} were there already, {} not needed for a balance of 0\n",
             human_count(totals.stored), human_count(totals.replayed), human_count(totals.empty));
  fmt::print("sum of balances  {}, stored now {}\n", totals.sum.to_string(), totals.sum_stored.to_string());
}

Result<int> import_file(const Globals& globals, const Options& options) {
  KUDOS_TRY(refuse_stream(options.file));  // it's read for its digest, then for its rows
  KUDOS_ASSIGN(std::string digest, sim::file_digest(options.file));
  KUDOS_ASSIGN(auto connection, connect(globals));
  // Planned anew for each batch: a plan kept from when the ledger was empty scans the accounts that this very
  // transaction adds, and nobody's statistics invalidate it before the commit.
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema, .prepare = false}));
  KUDOS_ASSIGN(const auto classes, store::read_account_classes(connection));
  KUDOS_ASSIGN(auto reader, ImportReader::open(options.file, classes));
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_ASSIGN(const auto totals, add_all(session, reader, std::move(digest)));
  if (options.dry_run)
    connection.roll_back();
  else
    KUDOS_TRY(connection.execute(db::kCommit));
  if (globals.json)
    print_json(to_json(totals, options.dry_run));
  else
    print(totals, options.dry_run);
  return kDone;
}

}  // namespace

void add_import(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("import", "Create accounts with opening balances from a file");
  command->add_option("file", options->file, "CSV with the header external_id,balance,class")
      ->option_text("FILE")
      ->required()
      ->check(check_path);
  command->add_flag("--dry-run", options->dry_run, "Do all of it, say what came of it, commit nothing");
  command->footer(
      "One transaction: a bad row refuses the whole file. The same file again stores nothing twice; an edited file\n"
      "is another file, whose openings count again.\n\n"
      "Examples:\n  kudos import balances.csv --dry-run\n  kudos import balances.csv --json");
  command->callback([&, options] { run = [&, options] { return import_file(globals, *options); }; });
}

}  // namespace kudos::cli
