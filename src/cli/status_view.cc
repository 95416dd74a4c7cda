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

std::string pending(const store::Health& health) {
  std::string text = fmt::format("pending {} events, {} rows   oldest {}\n", human_count(health.pending_events),
                                 human_count(health.pending.rows), age(health.pending.oldest_seconds, "none"));
  if (health.pending_events > 0)
    text +=
        fmt::format("  currency {} rows, oldest {}   statistics {} rows, oldest {}\n",
                    human_count(health.pending_currency.rows), age(health.pending_currency.oldest_seconds, "none"),
                    human_count(health.pending_statistics.rows), age(health.pending_statistics.oldest_seconds, "none"));
  return text;
}

std::string stuck(const store::Health& health) {
  if (health.stuck_events == 0) return {};
  return style(fmt::format("stuck {} events: see kudos_stuck_events\n", human_count(health.stuck_events)),
               Style::yellow);
}

std::string quarantined(const store::Health& health) {
  if (health.quarantined_events == 0) return {};
  const std::string head =
      fmt::format("quarantined {} events, {} rows   oldest {}, newest {} ago\n", human_count(health.quarantined_events),
                  human_count(health.quarantined_rows), age(health.oldest_quarantined_seconds, "?"),
                  age(health.newest_quarantined_seconds, "?"));
  const std::string open =
      fmt::format("  open {} events, {} rows   oldest {}\n", human_count(health.open_quarantined_events),
                  human_count(health.open_quarantined_rows), age(health.oldest_open_quarantined_seconds, "none"));
  std::string reasons;
  for (const auto& each : health.quarantined_by_reason)
    reasons += fmt::format("  {} {}, {} open\n", each.reason, human_count(each.events), human_count(each.open_events));
  return head + (health.open_quarantined_events > 0 ? style(open, Style::yellow) : open) + reasons;
}

std::string leader_name(const store::Leader& leader) { return leader.name.empty() ? leader.id : leader.name; }

boost::json::value seconds_or_null(const std::optional<double>& seconds) {
  if (!seconds) return nullptr;
  return *seconds;
}

boost::json::object reasons_to_json(const store::Health& health) {
  boost::json::object reasons;
  for (const auto& each : health.quarantined_by_reason)
    reasons[each.reason] = boost::json::object{{"events", each.events}, {"open_events", each.open_events}};
  return reasons;
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
  return text + pending(health) + quarantined(health) + stuck(health) + holds(health.holds);
}

std::string summarize(const store::Health& health) {
  std::string text =
      fmt::format("mode {}, heartbeat {}, fold {}, pending {} events, oldest {}", mode_name(health.mode),
                  health.heartbeat_seconds ? human_duration(*health.heartbeat_seconds) + " ago" : "never",
                  health.last_fold, health.pending_events, age(health.pending.oldest_seconds, "none"));
  if (health.stuck_events > 0) text += fmt::format(", stuck {} events", health.stuck_events);
  if (health.quarantined_events > 0)
    text += fmt::format(", quarantined {} events, {} open", health.quarantined_events, health.open_quarantined_events);
  return text;
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
          {"pending_rows", health.pending.rows},
          {"pending_currency_rows", health.pending_currency.rows},
          {"pending_statistic_rows", health.pending_statistics.rows},
          {"oldest_pending_seconds", seconds_or_null(health.pending.oldest_seconds)},
          {"oldest_pending_currency_seconds", seconds_or_null(health.pending_currency.oldest_seconds)},
          {"oldest_pending_statistic_seconds", seconds_or_null(health.pending_statistics.oldest_seconds)},
          {"heartbeat_seconds", seconds_or_null(health.heartbeat_seconds)},
          {"quarantined_events", health.quarantined_events},
          {"stuck_events", health.stuck_events},
          {"quarantined_rows", health.quarantined_rows},
          {"oldest_quarantined_seconds", seconds_or_null(health.oldest_quarantined_seconds)},
          {"newest_quarantined_seconds", seconds_or_null(health.newest_quarantined_seconds)},
          {"open_quarantined_events", health.open_quarantined_events},
          {"open_quarantined_rows", health.open_quarantined_rows},
          {"oldest_open_quarantined_seconds", seconds_or_null(health.oldest_open_quarantined_seconds)},
          {"quarantined_by_reason", reasons_to_json(health)},
          {"last_fold", health.last_fold},
          {"active_reservations", health.holds.active_reservations},
          {"oldest_reservation_seconds", seconds_or_null(health.holds.oldest_reservation_seconds)}};
}

}  // namespace kudos::cli
