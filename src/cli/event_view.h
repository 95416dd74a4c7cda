// How an event is shown.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "store/queries.h"

namespace kudos::cli {

std::string describe(const store::EventRow& row);
boost::json::object to_json(const store::EventRow& row);

}  // namespace kudos::cli
