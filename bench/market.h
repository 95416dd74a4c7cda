// What the benchmarks of a running ledger share: a filled marketplace, one job, percentiles.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "sim/marketplace.h"
#include "sim/scratch_ledger.h"

namespace kudos::bench {

using Clock = std::chrono::steady_clock;

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "bench: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The accounts of a marketplace of 2,000 users, with enough to spend for the whole run, all folded.
void fill_market(const sim::ScratchLedger& ledger, const sim::Marketplace& market);

inline constexpr sim::MarketplaceShape kMarket{.users = 2000, .workers = 400, .teams = 20, .seed = 7};
// The same accounts, other jobs.
inline sim::Marketplace market_of_writer(int writer) {
  sim::Marketplace market(kMarket);
  // Every writer begins elsewhere in the same stream of jobs.
  for (int i = 0; i < writer * 10'000; ++i) market.next_settlement();
  return market;
}

// `count` settlements in one transaction.
void settle_jobs(sim::Client& client, sim::Marketplace& market, int count);

// The value below which this share of the values lies; sorts them.
double percentile(std::vector<double>& values, double share);

}  // namespace kudos::bench
