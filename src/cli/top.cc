#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "store/queries.h"

namespace kudos::cli {
namespace {

struct Options {
  std::string board;
  std::int32_t limit = 10;
};

store::Board board_of(const std::string& name) {
  if (name == "workers") return store::Board::workers;
  if (name == "teams") return store::Board::teams;
  return store::Board::users;
}

void print_table(const std::vector<store::Leader>& leaders, bool production) {
  std::vector<Column> columns = {{"#", Align::right}, {"name"}, {"id"}, {"kudos", Align::right}};
  if (production) columns.insert(columns.end(), {{"contributions", Align::right}, {"fulfilments", Align::right}});
  Table table(columns);
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    const auto& leader = leaders[i];
    std::vector<std::string> cells = {std::to_string(i + 1), leader.name, leader.id, leader.kudos.to_string()};
    if (production) cells.insert(cells.end(), {leader.contributions.to_string(), leader.fulfilments.to_string()});
    table.add_row(std::move(cells));
  }
  table.print();
}

Result<int> top(const Globals& globals, const Options& options) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(const auto leaders, store::read_leaders(connection, board_of(options.board), options.limit));
  const bool production = options.board != "users";
  if (!globals.json) {
    print_table(leaders, production);
    return kDone;
  }
  boost::json::array rows;
  for (const auto& leader : leaders) {
    boost::json::object row{{"id", leader.id}, {"name", leader.name}, {"kudos", leader.kudos.to_string()}};
    if (production) {
      row["contributions"] = leader.contributions.to_string();
      row["fulfilments"] = leader.fulfilments.to_string();
    }
    rows.push_back(std::move(row));
  }
  print_json(rows);
  return kDone;
}

}  // namespace

void add_top(CLI::App& app, const Globals& globals, Run& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("top", "Leaderboards");
  command->add_option("board", options->board, "Whose")
      ->option_text("users|workers|teams")
      ->required()
      ->check(CLI::IsMember({"users", "workers", "teams"}));
  command->add_option("--limit", options->limit, "How many, 1 to 1000")
      ->option_text("N=10")
      ->check(CLI::Range(1, 1000));
  command->footer("Examples:\n  kudos top users\n  kudos top teams --limit 3 --json");
  command->callback([&, options] { run = [&, options] { return top(globals, *options); }; });
}

}  // namespace kudos::cli
