#include "cli/command.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdlib>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/terminal.h"
#include "db/private_server.h"
#include "store/schema.h"

namespace kudos::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool has_postgres_environment() {
  constexpr std::array kNames = {"PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE", "PGPORT"};
  return std::ranges::any_of(kNames, [](const char* name) { return !environment(name).empty(); });
}

std::string database_url(const Globals& globals) {
  if (!globals.database_url.empty() || !globals.data_dir.empty()) return globals.database_url;
  return environment("KUDOS_DATABASE_URL");
}

std::string data_directory(const Globals& globals) {
  return globals.data_dir.empty() ? db::default_data_dir().string() : globals.data_dir;
}

Result<std::string> find_database(const Globals& globals) {
  if (auto url = database_url(globals); !url.empty()) return url;
  if (globals.data_dir.empty() && has_postgres_environment()) return std::string();
  return db::find_running(data_directory(globals));
}

Result<db::Connection> connect(const Globals& globals) {
  KUDOS_ASSIGN(const std::string conninfo, find_database(globals));
  KUDOS_ASSIGN(auto connection, db::Connection::open(conninfo, {.schema = globals.schema}));
  KUDOS_TRY(store::check_schema(connection));
  return connection;
}

void report(const Globals& globals, const Error& error) {
  Error shown = error;  // it may quote bytes that a stranger wrote
  shown.message = printable(error.message);
  shown.hint = printable(error.hint);
  if (!globals.json) {
    fmt::print(stderr, "{} {}\n", style("kudos:", Style::red, stderr), shown.to_string());
    return;
  }
  boost::json::object details{{"name", error_name(error.code)}, {"message", shown.message}};
  if (!shown.hint.empty()) details["hint"] = shown.hint;
  if (!shown.sqlstate.empty()) details["sqlstate"] = shown.sqlstate;
  fmt::print(stderr, "{}\n", boost::json::serialize(boost::json::object{{"error", details}}));
}

void print_json(const boost::json::value& value) {
  // Not fmt::print, which throws when the reader has gone.
  std::fputs((boost::json::serialize(value) + "\n").c_str(), stdout);
}

}  // namespace kudos::cli
