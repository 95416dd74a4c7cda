#include "cli/status_view.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/terminal.h"

namespace kudos::cli {
namespace {

constexpr double kStaleHeartbeatSeconds = 10;

std::string age(const std::optional<double>& seconds, const char* none) {
  return seconds ? human_duration(*seconds) : none;
}

std::string heartbeat(const store::Health& health) {
  const std::string text = health.heartbeat_seconds ? human_duration(*health.heartbeat_seconds) + " ago" : "never";
  const bool stale = !health.heartbeat_seconds || *health.heartbeat_seconds > kStaleHeartbeatSeconds;
  return stale ? style(text, Style::yellow) : text;
}

std::string holds(const store::HoldHealth& holds) {
  if (holds.active_reservations == 0) return {};
  return fmt::format("holds {} active   oldest {}\n", human_count(holds.active_reservations),
                     age(holds.oldest_reservation_seconds, "?"));
}

std::string leader_name(const store::Leader& leader) { return leader.name.empty() ? leader.id : leader.name; }

boost::json::value seconds_or_null(const std::optional<double>& seconds) {
  if (!seconds) return nullptr;
  return *seconds;
}

}  // namespace

std::string_view mode_name(Mode mode) { return mode == Mode::ledger ? "ledger" : "shadow"; }

Result<Leaders> read_leaders(db::Connection& connection, std::int32_t limit) {
  Leaders leaders;
  KUDOS_ASSIGN(leaders.users, store::read_leaders(connection, store::Board::users, limit));
  KUDOS_ASSIGN(leaders.workers, store::read_leaders(connection, store::Board::workers, limit));
  KUDOS_ASSIGN(leaders.teams, store::read_leaders(connection, store::Board::teams, limit));
  return leaders;
}

std::string describe(const store::Health& health, const Rates* rates) {
  std::string text = fmt::format("mode {}   heartbeat {}   fold {}\n", style(mode_name(health.mode), Style::bold),
                                 heartbeat(health), human_count(health.last_fold));
  if (rates != nullptr)
    text += fmt::format("accepted {}/s   folded {}/s\n", human_count(std::llround(rates->accepted_per_second)),
                        human_count(std::llround(rates->folded_per_second)));
  text += fmt::format("pending {} events, {} rows   oldest {}\n", human_count(health.pending_events),
                      human_count(health.pending_rows), age(health.oldest_pending_seconds, "none"));
  if (health.quarantined_events > 0)
    text += style(fmt::format("quarantined {} events\n", human_count(health.quarantined_events)), Style::yellow);
  if (health.stuck_events > 0)
    text += style(fmt::format("stuck {} events: see kudos_stuck_events\n", human_count(health.stuck_events)),
                  Style::yellow);
  return text + holds(health.holds);
}

std::string describe(const Leaders& leaders) {
  Table table({{"top users"},
               {"kudos", Align::right},
               {"top workers"},
               {"kudos", Align::right},
               {"top teams"},
               {"kudos", Align::right}});
  const std::size_t rows = std::max({leaders.users.size(), leaders.workers.size(), leaders.teams.size()});
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<std::string> cells;
    for (const auto* board : {&leaders.users, &leaders.workers, &leaders.teams}) {
      cells.push_back(i < board->size() ? printable(leader_name((*board)[i]), 28) : "");
      cells.push_back(i < board->size() ? (*board)[i].kudos.to_string() : "");
    }
    table.add_row(std::move(cells));
  }
  return table.render();
}

boost::json::object to_json(const store::Health& health) {
  return {{"mode", mode_name(health.mode)},
          {"pending_events", health.pending_events},
          {"pending_rows", health.pending_rows},
          {"pending_currency_rows", health.pending_currency_rows},
          {"pending_statistic_rows", health.pending_statistic_rows},
          {"oldest_pending_seconds", seconds_or_null(health.oldest_pending_seconds)},
          {"heartbeat_seconds", seconds_or_null(health.heartbeat_seconds)},
          {"quarantined_events", health.quarantined_events},
          {"stuck_events", health.stuck_events},
          {"last_fold", health.last_fold},
          {"active_reservations", health.holds.active_reservations},
          {"oldest_reservation_seconds", seconds_or_null(health.holds.oldest_reservation_seconds)}};
}

}  // namespace kudos::cli
