// A small simulated marketplace: who takes part, and an endless stream of jobs. For the demo, benchmarks and tests.
//
// The same shape gives the same accounts and jobs on every platform and in every run: a failing test prints its seed
// and that's enough to see it again. Nothing is stored here; the caller creates the accounts (kudos/accounts.h) and
// emits the settlements.
//
// Popularity is skewed: of 60 users the busiest sends one in eight of the jobs that aren't anonymous, of 24 workers the
// busiest takes one in five. Owners are requesters too, so that some jobs are settled between a user and themselves.
//
// Thread-safety: a marketplace belongs to one thread at a time; give each thread its own seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

#include "kudos/accounts.h"
#include "kudos/commands.h"

namespace kudos::sim {

// A shape that can't be had stops the process (KUDOS_CHECK): it's a programmer's choice, not input.
struct MarketplaceShape {
  int users = 60;    // registered ones, 1 to 1,000,000; the anonymous user comes on top
  int workers = 24;  // 1 to 1,000,000; two thirds for images, one third for text
  int teams = 5;     // 0 to 1,000,000; with 0, no worker has a team
  std::uint64_t seed = 1;
  int anonymous_percent = 33;  // share of the jobs that the anonymous user requests, 0 to 100
};

class Marketplace {
 public:
  explicit Marketplace(MarketplaceShape shape);

  // The anonymous user first ("anonymous", id 0, class "anonymous"), then "user-001", ... of class "registered". At
  // most half as many as there are workers own them; every third of these owners is trusted.
  const std::vector<NewUser>& users() const { return users_; }
  const std::vector<NewTeam>& teams() const { return teams_; }
  const std::vector<NewWorker>& workers() const { return workers_; }

  // The user who owns one of `workers()`.
  const NewUser& owner_of(const Uuid& worker) const;

  // The next job: 95 % completed, 4 % cancelled (the worker earns half, rounded down), 1 % censored. It costs 1.00 to
  // 80.00 kudos; `things` are 1 to 4 million pixelsteps for images, 1 to 512 tokens for text. Its `job_id` is made of
  // the seed and a counter: two marketplaces with one seed make the same jobs, with two seeds never the same.
  Settlement next_settlement();

 private:
  void make_users();
  void make_teams();
  void make_workers();
  const NewUser& owner(std::size_t index) const;
  Uuid id(const char* kind, std::size_t number) const;

  std::uint64_t below(std::uint64_t bound);
  std::size_t popular_below(std::size_t bound);
  UserRef draw_requester();
  void draw_outcome(Settlement& job);

  MarketplaceShape shape_;
  std::mt19937_64 random_;
  std::size_t owners_ = 0;  // the last so many of `users_`
  std::uint64_t jobs_ = 0;
  std::vector<NewUser> users_;
  std::vector<NewTeam> teams_;
  std::vector<NewWorker> workers_;
  std::unordered_map<Uuid, std::size_t> owner_index_;  // worker → position in `users_`
};

}  // namespace kudos::sim
