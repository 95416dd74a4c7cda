// What a dry run shows: the event as it would be stored and the balances it would lead to.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <vector>

#include "db/connection.h"
#include "kudos/session.h"
#include "store/account_view.h"

namespace kudos::cli {

struct Outlook {
  Receipt receipt;
  std::optional<store::EventRow> event;      // nothing: no event would be stored
  std::vector<store::AccountView> accounts;  // who takes part, in order of appearance, without treasury and sink
};

// Reads it inside the transaction that stored the event and will be rolled back.
Result<Outlook> look_ahead(db::Connection& connection, const Receipt& receipt);

boost::json::object to_json(const Outlook& outlook);
void print_outlook(const Outlook& outlook, bool json);

// The line above everything that a dry run tells a person.
void print_dry_run_notice();

}  // namespace kudos::cli
