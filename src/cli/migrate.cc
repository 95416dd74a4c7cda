#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "ledger/migrations.h"

namespace kudos::cli {
namespace {

Result<int> migrate(const Globals& globals) {
  KUDOS_ASSIGN(const std::string conninfo, find_database(globals));
  KUDOS_ASSIGN(auto connection, db::Connection::open(conninfo, {.schema = globals.schema}));
  KUDOS_ASSIGN(const auto report, ledger::migrate(connection));
  if (globals.json) {
    print_json({{"from_version", report.from_version},
                {"to_version", report.to_version},
                {"applied", boost::json::value_from(report.applied)},
                {"functions_replaced", report.functions_replaced}});
    return kDone;
  }
  for (const std::string& name : report.applied) fmt::print("applied {}\n", name);
  if (report.functions_replaced)
    fmt::print("SQL functions brought up to date\n");
  else if (report.applied.empty())
    fmt::print("nothing to do: the ledger has version {}\n", report.to_version);
  if (report.from_version == 0) fmt::print("The ledger is in shadow mode. Switch it over with `kudos mode ledger`.\n");
  return kDone;
}

}  // namespace

void add_migrate(CLI::App& app, const Globals& globals, Run& run) {
  auto* command = app.add_subcommand("migrate", "Create the ledger's schema or bring it up to date");
  command->footer(
      "A new ledger starts in shadow mode. Running it twice, or from two machines at once, does no harm.\n\n"
      "Example:\n  kudos migrate --database-url postgresql://localhost/shop");
  command->callback([&] { run = [&] { return migrate(globals); }; });
}

}  // namespace kudos::cli
