#include "cli/hold_view.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/check.h"
#include "base/try.h"
#include "cli/terminal.h"
#include "store/emission.h"

namespace kudos::cli {
namespace {

std::string time_or(const std::optional<Timestamp>& time, const char* none) { return time ? time->to_string() : none; }

boost::json::value text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return boost::json::value(text);
}

std::string claim_text(const Hold& hold) {
  std::string text = claim_of(hold).to_string();
  if (!hold.captured.is_zero()) text += " of " + hold.original.to_string();
  if (hold.expires) text += " until " + hold.expires->to_string();
  return text;
}

}  // namespace

boost::json::object to_json(const store::HoldRow& row) {
  const Hold& hold = row.hold;
  return {{"hold_id", hold.id},
          {"reservation_id", hold.business_id},
          {"user_id", hold.payer.value},
          {"state", label(hold.state)},
          {"reason", text_or_null(hold.reason)},
          {"amount", hold.original.to_string()},
          {"captured", hold.captured.to_string()},
          {"consumed", hold.consumed.to_string()},
          {"claims", claim_of(hold).to_string()},
          {"created", row.created.to_string()},
          {"expires", text_or_null(time_or(hold.expires, ""))},
          {"ended", text_or_null(time_or(row.ended, ""))},
          {"owner_event_id", text_or_null(hold.owner_event ? hold.owner_event->to_string() : "")}};
}

void print_holds(std::span<const store::HoldRow> rows) {
  Table table({{"hold"},
               {"user", Align::right},
               {"state"},
               {"why"},
               {"amount", Align::right},
               {"captured", Align::right},
               {"claims", Align::right},
               {"created"},
               {"expires"},
               {"ended"}});
  for (const auto& row : rows) {
    const Hold& hold = row.hold;
    table.add_row({printable(hold.business_id), std::to_string(hold.payer.value), std::string(label(hold.state)),
                   printable(hold.reason), hold.original.to_string(), hold.captured.to_string(),
                   claim_of(hold).to_string(), row.created.to_string(), time_or(hold.expires, "never"),
                   time_or(row.ended, "-")});
  }
  table.print();
}

Result<HoldOutcome> read_hold_outcome(db::Connection& connection, std::int64_t number) {
  KUDOS_ASSIGN(auto rows, store::list_holds(connection, {.number = number, .own_of_events = true, .limit = 1}));
  KUDOS_CHECK(!rows.empty());
  KUDOS_ASSIGN(const auto funds, store::peek_funds(connection, rows.front().hold.payer));
  return HoldOutcome{std::move(rows.front()), funds.terms.available()};
}

void add_json(boost::json::object& object, const std::optional<HoldOutcome>& outcome) {
  object["hold"] = nullptr;
  object["available"] = nullptr;
  if (!outcome) return;
  object["hold"] = to_json(outcome->row);
  object["available"] = outcome->available.to_string();
}

std::string describe(const HoldOutcome& outcome) {
  const Hold& hold = outcome.row.hold;
  const std::string name = "hold " + printable(hold.business_id);
  if (hold.state == HoldState::active)
    return fmt::format("{} claims {} ({} more available)", name, claim_text(hold), outcome.available.to_string());
  return fmt::format("{} has ended: {} ({}); {} available", name, label(hold.state), printable(hold.reason),
                     outcome.available.to_string());
}

}  // namespace kudos::cli
