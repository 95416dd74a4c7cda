#include "cli/quarantine_view.h"

#include <algorithm>
#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/terminal.h"

namespace kudos::cli {
namespace {

std::string state(const store::QuarantinedEvent& event) {
  return event.is_open() ? "open" : std::string(store::label(event.reviews.back().action));
}

std::string age(const store::QuarantinedEvent& event) {
  return human_duration(static_cast<double>(Timestamp::now().micros - event.quarantined_at.micros) / 1e6);
}

std::string subject(const StatPosting& statistic) {
  if (statistic.user) return "user " + std::to_string(statistic.user->value);
  return statistic.worker ? "worker " + statistic.worker->to_string() : "?";
}

std::string fate(const StatPosting& statistic, const Mending& mending) {
  const auto left_out = std::ranges::find(mending.left_out, statistic.line, &LeftOut::line);
  if (left_out != mending.left_out.end()) return "can't be mended: " + std::string(label(left_out->reason));
  const auto kept = std::ranges::find(mending.kept, statistic.line) - mending.kept.begin();
  return std::string(label(*mending.event.statistics[static_cast<std::size_t>(kept)].target));
}

boost::json::object to_json(const store::Review& review) {
  boost::json::object object{{"action", store::label(review.action)},
                             {"by", review.reviewer},
                             {"at", review.at.to_string()},
                             {"note", nullptr},
                             {"repair_event_id", nullptr}};
  if (!review.note.empty()) object["note"] = review.note;
  if (review.repair_event) object["repair_event_id"] = review.repair_event->to_string();
  return object;
}

}  // namespace

std::string describe(const std::vector<store::QuarantinedEvent>& events) {
  Table table({{"event"}, {"statistics", Align::right}, {"reason"}, {"set aside"}, {"state"}, {"by"}});
  for (const auto& event : events)
    table.add_row({event.id.to_string(), human_count(event.statistics), event.reason, age(event) + " ago", state(event),
                   event.is_open() ? "" : printable(event.reviews.back().reviewer)});
  return table.render();
}

boost::json::object to_json(const store::QuarantinedEvent& event) {
  boost::json::array reviews;
  for (const auto& review : event.reviews) reviews.push_back(to_json(review));
  return {{"event_id", event.id.to_string()},
          {"seq", event.seq.value},
          {"created", event.created.to_string()},
          {"quarantined_at", event.quarantined_at.to_string()},
          {"quarantine_reason", event.reason},
          {"statistics", event.statistics},
          {"state", state(event)},
          {"reviews", reviews}};
}

std::string describe(const store::Review& review) {
  std::string text =
      fmt::format("{} by {} at {}", store::label(review.action), printable(review.reviewer), review.at.to_string());
  if (review.repair_event) text += ", event " + review.repair_event->to_string();
  if (!review.note.empty()) text += ": " + printable(review.note);
  return text + "\n";
}

std::string describe_lines(const Event& set_aside, const Mending& mending) {
  Table table({{"line", Align::right}, {"of"}, {"action"}, {"record"}, {"amount", Align::right}, {"repair"}});
  for (const StatPosting& statistic : set_aside.statistics)
    table.add_row({std::to_string(statistic.line), subject(statistic), printable(statistic.stat_action),
                   printable(statistic.record), statistic.amount.to_string(), fate(statistic, mending)});
  return table.render();
}

void add_lines(boost::json::object& object, const Mending& mending) {
  boost::json::array kept, left_out;
  for (const auto line : mending.kept) kept.push_back(line);
  for (const LeftOut& each : mending.left_out)
    left_out.push_back(boost::json::object{{"line", each.line}, {"reason", label(each.reason)}});
  object["mended_lines"] = std::move(kept);
  object["left_out"] = std::move(left_out);
}

}  // namespace kudos::cli
