// How a hold is shown: by `holds`, and as a command left it.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "store/holds.h"

namespace kudos::cli {

boost::json::object to_json(const store::HoldRow& row);
void print_holds(std::span<const store::HoldRow> rows);

// A hold and what its payer has available, both inside the command's transaction.
struct HoldOutcome {
  store::HoldRow row;
  Total available;
};

// The hold with that number (kudos_reservations.id); a programmer's error when there is none.
Result<HoldOutcome> read_hold_outcome(db::Connection& connection, std::int64_t number);

// Adds "hold" (or null) and "available".
void add_json(boost::json::object& object, const std::optional<HoldOutcome>& outcome);
// "hold job-7 claims 4.50 of 12.50 until … (95.50 more available)", or how it ended.
std::string describe(const HoldOutcome& outcome);

}  // namespace kudos::cli
