#include "cli/arguments.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fmt/core.h>
#include <vector>

#include "base/utf8.h"
#include "cli/terminal.h"

namespace kudos::cli {
namespace {

constexpr std::size_t kLongestIdentifier = 63;
constexpr const char* kGlobalOptions =
    "Every command also takes --json, --database-url URL, --data-dir DIR and --schema NAME: see `kudos --help`.";

// The command that was being parsed, as a person types it.
struct Place {
  const CLI::App* app;
  std::string path;
};

Place parsed_place(const CLI::App& app) {
  Place place{&app, app.get_name()};
  for (auto chosen = app.get_subcommands(); !chosen.empty(); chosen = place.app->get_subcommands()) {
    place.app = chosen.back();
    place.path += " " + place.app->get_name();
  }
  return place;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// What CLI11 says when something is missing, unless it's because of a word that has no place.
std::string missing_value(const CLI::App& root, const CLI::ParseError& error) {
  const auto rest = root.remaining(true);
  const auto option = std::ranges::find_if(rest, [](const std::string& text) { return text.starts_with("-"); });
  return option == rest.end() ? error.what() : "there is no option " + *option;
}

std::string missing_command(const CLI::App& root, const Place& place) {
  const auto rest = root.remaining(true);
  const auto word = std::ranges::find_if(rest, [](const std::string& text) { return !text.starts_with("-"); });
  std::string names;
  for (const CLI::App* command : commands_of(*place.app)) names += (names.empty() ? "" : ", ") + command->get_name();
  const std::string what = word == rest.end() ? "a command is missing" : "there is no command '" + *word + "'";
  return what + "; " + place.path + " has " + names;
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view suffix;
    std::int64_t milliseconds;
  };
  constexpr std::array kUnits = {Unit{"ms", 1},        Unit{"s", 1000},       Unit{"m", 60'000},
                                 Unit{"h", 3'600'000}, Unit{"d", 86'400'000}, Unit{"", 1000}};
  constexpr std::int64_t kLongest = 1'000'000'000'000;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto unit = std::ranges::find(kUnits, suffix, &Unit::suffix);
  if (error != std::errc() || unit == kUnits.end() || number <= 0 || number > kLongest / unit->milliseconds)
    return fail(ErrorCode::invalid_request, "'" + std::string(text) + "' is not a time above 0",
                "Write it like 500ms, 20s, 5m, 2h or 7d.");
  return std::chrono::milliseconds(number * unit->milliseconds);
}

std::string check_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  return duration ? "" : duration.error().message + "; write it like 500ms, 20s, 5m, 2h or 7d";
}

Result<std::chrono::seconds> parse_lifetime(std::string_view text) {
  const auto duration = parse_duration(text);
  if (!duration) return std::unexpected(duration.error());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(*duration);
  if (seconds == *duration) return seconds;
  return fail(ErrorCode::invalid_request, "'" + std::string(text) + "' is not a whole number of seconds",
              "Write it like 20s, 5m, 2h or 7d.");
}

std::string check_lifetime(const std::string& text) {
  const auto lifetime = parse_lifetime(text);
  return lifetime ? "" : lifetime.error().message + "; write it like 20s, 5m, 2h or 7d";
}

std::string check_utf8(const std::string& text) { return is_utf8(text) ? "" : "the value is not valid UTF-8"; }

std::string check_filled(const std::string& text) { return text.empty() ? "the value is empty" : check_utf8(text); }

std::string check_schema(const std::string& text) {
  if (text.size() > kLongestIdentifier)
    return "the name has " + std::to_string(text.size()) + " bytes; 1 to 63 are allowed";
  return check_filled(text);
}

std::string check_path(const std::string& text) { return text.empty() ? "the value is empty" : ""; }

Status refuse_stream(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_other(std::filesystem::status(path, ignored))) return {};
  return fail(ErrorCode::file_unreadable, path + " is a pipe or device, which can't be read twice",
              "Save it to a file first.");
}

void report_usage(const CLI::App& app, const CLI::ParseError& error) {
  const Place place = parsed_place(app);
  const bool group = place.app->get_require_subcommand_min() > 0;
  std::string what = error.what();
  if (error.get_name() == "RequiredError") what = group ? missing_command(app, place) : missing_value(app, error);
  fmt::print(stderr, "{} usage: {}\nhint: See `{} --help`.\n", style("kudos:", Style::red, stderr), printable(what),
             place.path);
}

void mention_global_options(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    const std::string own = command->get_footer();
    command->footer(own + (own.empty() ? "" : "\n\n") + kGlobalOptions);
    mention_global_options(*command);
  }
}

}  // namespace kudos::cli
