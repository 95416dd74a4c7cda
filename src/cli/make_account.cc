#include "cli/make_account.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"

namespace kudos::cli {

void MakeOptions::declare(CLI::App& command, const std::string& what) {
  command.add_option("name", name, "Of the " + what + ", for people")
      ->option_text("NAME")
      ->required()
      ->check(check_utf8);
  command.add_option("--owner", owner, "Who has it: number, or ext:NAME; required")
      ->option_text("USER")
      ->required()
      ->check(check_filled);
  command.add_option("--id", id, "Fix the id; default: a random one of version 7")
      ->option_text("UUID")
      ->check(check_filled);
}

Result<Uuid> MakeOptions::chosen_id() const {
  if (id.empty()) return Uuid::v7();
  return Uuid::parse(id);
}

Result<int> make(const Globals& globals, const Uuid& id, const boost::json::object& answer,
                 const std::function<Status(Session&)>& create) {
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = globals.schema}));
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_TRY(create(session));
  KUDOS_TRY(connection.execute(db::kCommit));
  if (globals.json)
    print_json(answer);
  else
    fmt::print("{}\n", id.to_string());
  return kDone;
}

}  // namespace kudos::cli
