// What `worker delete` and `team delete` share.
#pragma once

#include <string>

#include "cli/command.h"
#include "kudos/accounts.h"

namespace kudos::cli {

// One of the two: how it is deleted and how its parts are called.
struct DeletionForm {
  const char* what;            // "worker"
  const char* dependants;      // in words, of several
  const char* dependants_key;  // in JSON
  const char* footer;
  Result<Deletion> (*remove)(Session&, const Uuid&);
};

void add_deletion(CLI::App& group, const Globals& globals, Run& run, const DeletionForm& form);

}  // namespace kudos::cli
