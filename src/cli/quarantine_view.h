// How events that were set aside, their reviews and their repairs are shown.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <vector>

#include "core/mend.h"
#include "store/quarantine.h"
#include "store/queries.h"

namespace kudos::cli {

std::string describe(const std::vector<store::QuarantinedEvent>& events);
boost::json::object to_json(const store::QuarantinedEvent& event);

// One line a review.
std::string describe(const store::Review& review);

// Each statistic of the old event: how it would be mended, or why it can't.
std::string describe_lines(const Event& set_aside, const Mending& mending);
// "mended_lines", "left_out".
void add_lines(boost::json::object& object, const Mending& mending);

}  // namespace kudos::cli
