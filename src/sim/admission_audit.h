// An independent auditor of admission: replays the facts of a finished run in the order in which they were committed,
// by arithmetic of its own, and finds every spend that was covered by funds which another one had.
//
// For each payer it goes through folded credits, debits, and the beginnings and ends of holds, in the order of the
// database's clock. Admissions of one payer are serialised by its lock, so that order is their commit order; what was
// decided together has one time. After each moment, what is available may not have fallen below the floor. It counts a
// credit from the moment at which its fold began, which is before anybody could see it: so it never blames a spend
// wrongly for that, and holds that were extended must be left out of such a run, since a row keeps their last amount
// only.
//
// Thread-safety: none needed; it uses a connection of its own.
#pragma once

#include <string>
#include <vector>

#include "db/connection.h"
#include "kudos/error.h"

namespace kudos::sim {

// One line for each thing that is wrong; empty when nothing is.
// All debits of the run must have been admitted against funds.
Result<std::vector<std::string>> audit_admission(db::Connection& connection);

}  // namespace kudos::sim
