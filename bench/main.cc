// kudos_bench NAME [options]: see `./dev bench`.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "bench.h"

namespace kudos::bench {

long option(const Arguments& arguments, const std::string& name, long otherwise) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i)
    if (arguments[i] == "--" + name) return std::strtol(arguments[i + 1].c_str(), nullptr, 10);
  return otherwise;
}

}  // namespace kudos::bench

int main(int argc, char** argv) {
  using namespace kudos::bench;
  const std::map<std::string, int (*)(const Arguments&)> benchmarks = {
      {"admission", run_admission}, {"emit", run_emit}, {"fold", run_fold}, {"horizon", run_horizon}, {"lag", run_lag}};
  const Arguments arguments(argv + 1, argv + argc);
  if (arguments.empty() || !benchmarks.contains(arguments.front())) {
    std::fprintf(stderr, "usage: kudos_bench NAME [options]\nbenchmarks:");
    for (const auto& [name, run] : benchmarks) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  return benchmarks.at(arguments.front())(arguments);
}
