// What `worker create` and `team create` share.
#pragma once

#include <functional>
#include <string>

#include "cli/command.h"

namespace kudos::cli {

struct MakeOptions {
  std::string name;
  std::string owner;
  std::string id;

  void declare(CLI::App& command, const std::string& what);
  // The given one, else a random one of version 7.
  Result<Uuid> chosen_id() const;
};

// Runs `create` in a transaction of its own and prints the new id, or `answer` as JSON.
Result<int> make(const Globals& globals, const Uuid& id, const boost::json::object& answer,
                 const std::function<Status(Session&)>& create);

}  // namespace kudos::cli
