#include "cli/event_view.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/terminal.h"
#include "core/canonical.h"

namespace kudos::cli {
namespace {

std::string user_name(UserId user) {
  if (user == kTreasury) return "treasury";
  if (user == kSink) return "sink";
  return std::to_string(user.value);
}

std::string subject(const StatPosting& statistic) {
  if (statistic.user) return "user " + user_name(*statistic.user);
  return statistic.worker ? "worker " + statistic.worker->to_string() : "?";
}

std::string state(const store::EventRow& row) {
  if (!row.quarantine_reason.empty()) return "statistics set aside: " + row.quarantine_reason;
  if (row.fold)
    return fmt::format("folded in fold {} at {}", row.fold->value, row.folded_at ? row.folded_at->to_string() : "?");
  return row.event.applied_inline ? "applied inline" : "pending";
}

std::string currency_table(const Event& event) {
  Table table({{"line", Align::right}, {"why"}, {"user"}, {"balance"}, {"amount", Align::right}, {"detail"}});
  for (const Posting& posting : event.postings)
    table.add_row({std::to_string(posting.line), std::string(label(posting.entry_type)), user_name(posting.user),
                   posting.escrow ? "evaluation" : "spendable", posting.amount.to_string(), printable(posting.detail)});
  return table.render();
}

std::string statistics_table(const Event& event) {
  Table table(
      {{"line", Align::right}, {"why"}, {"of"}, {"action"}, {"record"}, {"amount", Align::right}, {"unit"}, {"team"}});
  for (const StatPosting& statistic : event.statistics)
    table.add_row({std::to_string(statistic.line), std::string(label(statistic.entry_type)), subject(statistic),
                   printable(statistic.stat_action), printable(statistic.record), statistic.amount.to_string(),
                   std::string(label(statistic.unit)), statistic.team ? statistic.team->to_string() : ""});
  return table.render();
}

boost::json::value optional_text(const std::string& text) {
  if (text.empty()) return nullptr;
  return boost::json::value(text);
}

template <class T>
boost::json::value optional_named(const std::optional<T>& id) {
  return optional_text(id ? id->to_string() : std::string());
}

boost::json::value optional_user(const std::optional<UserId>& user) {
  if (!user) return nullptr;
  return user->value;
}

boost::json::value optional_json(const std::string& text) {
  if (text.empty()) return nullptr;
  return boost::json::parse(text);
}

boost::json::value optional_digest(const std::optional<Digest>& digest) {
  return optional_text(digest ? to_hex(*digest) : std::string());
}

// `detail` for reading; `detail_text` as PostgreSQL writes it, which is what the hash covers.
boost::json::object to_json(const Posting& posting) {
  boost::json::object object{{"line", posting.line},
                             {"entry_type", label(posting.entry_type)},
                             {"user_id", posting.user.value},
                             {"escrow", posting.escrow},
                             {"amount", posting.amount.to_string()},
                             {"hold_id", nullptr},
                             {"detail", optional_json(posting.detail)},
                             {"detail_text", optional_text(posting.detail)}};
  if (posting.hold_id) object["hold_id"] = *posting.hold_id;
  return object;
}

boost::json::object to_json(const StatPosting& statistic) {
  boost::json::object object{{"line", statistic.line},
                             {"entry_type", label(statistic.entry_type)},
                             {"unit", label(statistic.unit)},
                             {"target", nullptr},
                             {"user_id", optional_user(statistic.user)},
                             {"worker_user_id", optional_user(statistic.worker_user)},
                             {"worker_id", optional_named(statistic.worker)},
                             {"team_id", optional_named(statistic.team)},
                             {"amount", statistic.amount.to_string()},
                             {"stat_action", statistic.stat_action},
                             {"record", statistic.record},
                             {"detail", optional_json(statistic.detail)},
                             {"detail_text", optional_text(statistic.detail)}};
  if (statistic.target) object["target"] = label(*statistic.target);
  return object;
}

}  // namespace

std::string describe(const store::EventRow& row) {
  const Event& event = row.event;
  std::string text = fmt::format("event    {}\nseq      {}\ncreated  {}\nstate    {}\n", event.id.to_string(),
                                 event.seq.value, event.created.to_string(), state(row));
  if (event.job_id) text += fmt::format("job      {}\n", event.job_id->to_string());
  if (!event.wp_type.empty()) text += fmt::format("type     {}\n", printable(event.wp_type));
  if (!row.metadata.empty()) text += fmt::format("metadata {}\n", printable(row.metadata));
  text += fmt::format("hash     {}\n", to_hex(event_digest(event)));
  if (!event.postings.empty()) text += "\n" + currency_table(event);
  if (!event.statistics.empty()) text += "\n" + statistics_table(event);
  return text;
}

boost::json::object to_json(const store::EventRow& row) {
  const Event& event = row.event;
  boost::json::array postings, statistics;
  for (const Posting& posting : event.postings) postings.push_back(to_json(posting));
  for (const StatPosting& statistic : event.statistics) statistics.push_back(to_json(statistic));
  boost::json::object object{{"event_id", event.id.to_string()},
                             {"seq", event.seq.value},
                             {"created", event.created.to_string()},
                             {"job_id", optional_named(event.job_id)},
                             {"wp_type", optional_text(event.wp_type)},
                             {"request_digest", optional_digest(event.request_digest)},
                             {"metadata_hash", optional_digest(event.metadata_hash)},
                             {"inline", event.applied_inline},
                             {"fold", nullptr},
                             {"folded_at", optional_named(row.folded_at)},
                             {"quarantine_reason", optional_text(row.quarantine_reason)},
                             {"metadata", optional_json(row.metadata)},
                             {"hash", to_hex(event_digest(event))},
                             {"postings", postings},
                             {"statistics", statistics}};
  if (row.fold) object["fold"] = row.fold->value;
  return object;
}

}  // namespace kudos::cli
