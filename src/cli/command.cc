#include "cli/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cstdlib>

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

// libpq reads these by itself once it is asked to connect without a URL.
bool has_postgres_environment() {
  constexpr std::array kNames = {"PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE", "PGPORT"};
  return std::ranges::any_of(kNames, [](const char* name) { return !environment(name).empty(); });
}

}  // namespace

std::string data_directory(const Globals& globals) {
  return globals.data_dir.empty() ? db::default_data_dir().string() : globals.data_dir;
}

Result<std::string> find_database(const Globals& globals) {
  if (!globals.database_url.empty()) return globals.database_url;
  if (globals.data_dir.empty()) {
    if (auto url = environment("KUDOS_DATABASE_URL"); !url.empty()) return url;
    if (has_postgres_environment()) return std::string();
  }
  return db::find_running(data_directory(globals));
}

Result<db::Connection> connect(const Globals& globals) {
  KUDOS_ASSIGN(const std::string conninfo, find_database(globals));
  KUDOS_ASSIGN(auto connection, db::Connection::open(conninfo, {.schema = globals.schema}));
  KUDOS_TRY(store::check_schema(connection));
  return connection;
}

void report(const Globals& globals, const Error& error) {
  if (globals.json) {
    boost::json::object details{{"name", error_name(error.code)}, {"message", error.message}};
    if (!error.hint.empty()) details["hint"] = error.hint;
    if (!error.sqlstate.empty()) details["sqlstate"] = error.sqlstate;
    fmt::print(stderr, "{}\n", boost::json::serialize(boost::json::object{{"error", details}}));
    return;
  }
  fmt::print(stderr, "{} {}\n", style("kudos:", Style::red, stderr), error.to_string());
}

void print_json(const boost::json::value& value) { fmt::print("{}\n", boost::json::serialize(value)); }

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view suffix;
    std::int64_t milliseconds;
  };
  constexpr std::array kUnits = {Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000}, Unit{"", 1000}};
  constexpr std::int64_t kLongest = 1'000'000'000'000;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto unit = std::ranges::find(kUnits, suffix, &Unit::suffix);
  if (error != std::errc() || unit == kUnits.end() || number <= 0 || number > kLongest / unit->milliseconds)
    return fail(ErrorCode::invalid_request, "'" + std::string(text) + "' is not a time", "Write it like 500ms, 20s or 5m.");
  return std::chrono::milliseconds(number * unit->milliseconds);
}

}  // namespace kudos::cli
