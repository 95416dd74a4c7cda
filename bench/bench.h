// One benchmark a file; each prints its table and returns the process's exit status.
#pragma once

#include <string>
#include <vector>

namespace kudos::bench {

using Arguments = std::vector<std::string>;

// Value of `--name N` in the arguments, else the default.
long option(const Arguments& arguments, const std::string& name, long otherwise);

int run_admission(const Arguments& arguments);
int run_fold(const Arguments& arguments);
int run_emit(const Arguments& arguments);
int run_lag(const Arguments& arguments);
int run_horizon(const Arguments& arguments);

}  // namespace kudos::bench
