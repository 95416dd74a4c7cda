// The compact status that `status` and `up` show.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <vector>

#include "db/connection.h"
#include "kudos/error.h"
#include "store/health.h"
#include "store/queries.h"

namespace kudos::cli {

// Rates that only a running process knows.
struct Rates {
  double accepted_per_second = 0;
  double folded_per_second = 0;
};

struct Leaders {
  std::vector<store::Leader> users, workers, teams;
};
Result<Leaders> read_leaders(db::Connection& connection, std::int32_t limit);

// Lines for a person.
std::string describe(const store::Health& health, const Rates* rates);
std::string describe(const Leaders& leaders);
// The health in one line, without a line end: for a log.
std::string summarize(const store::Health& health);
boost::json::object to_json(const store::Health& health);

std::string_view mode_name(Mode mode);

}  // namespace kudos::cli
