#include "sim/marketplace.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"

namespace kudos::sim {
namespace {

constexpr int kMaxAccounts = 1'000'000;

// Any fixed namespace would do: it only keeps these ids apart from other name-made ones.
constexpr Uuid kNamespace{
    {0x6b, 0x75, 0x64, 0x6f, 0x73, 0x2f, 0x50, 0x6d, 0x8a, 0x72, 0x6b, 0x65, 0x74, 0x70, 0x6c, 0x61}};

std::string numbered(const char* prefix, std::size_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  return prefix + std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
}

NewUser named(std::string external_id, const char* account_class) {
  NewUser user;
  user.external_id = std::move(external_id);
  user.account_class = account_class;
  return user;
}

MarketplaceShape checked(MarketplaceShape shape) {
  KUDOS_CHECK(shape.users >= 1 && shape.users <= kMaxAccounts);
  KUDOS_CHECK(shape.workers >= 1 && shape.workers <= kMaxAccounts);
  KUDOS_CHECK(shape.teams >= 0 && shape.teams <= kMaxAccounts);
  KUDOS_CHECK(shape.anonymous_percent >= 0 && shape.anonymous_percent <= 100);
  return shape;
}

}  // namespace

Marketplace::Marketplace(MarketplaceShape shape)
    : shape_(checked(shape)),
      random_(shape.seed),
      owners_(static_cast<std::size_t>(std::clamp(shape.workers / 2, 1, shape.users))) {
  make_users();
  make_teams();
  make_workers();
}

void Marketplace::make_users() {
  users_.push_back(named("anonymous", "anonymous"));
  users_.front().id = UserId{0};
  for (int i = 1; i <= shape_.users; ++i) {
    users_.push_back(named(numbered("user-", static_cast<std::size_t>(i), 3), "registered"));
  }
  // The owners stand at the end, where requesters are rare: most of what they earn stays with them.
  for (std::size_t i = 0; i < owners_; i += 3) users_[users_.size() - owners_ + i].trusted = true;
}

void Marketplace::make_teams() {
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape_.teams); ++i) {
    teams_.push_back({id("team", i), numbered("team-", i + 1, 2), UserRef::external(owner(i).external_id)});
  }
}

void Marketplace::make_workers() {
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape_.workers); ++i) {
    NewWorker worker{id("worker", i), numbered("worker-", i + 1, 3), UserRef::external(owner(i).external_id),
                     std::nullopt, i % 3 == 2 ? "text" : "image"};
    if (!teams_.empty()) worker.team = teams_[i % teams_.size()].id;
    owner_index_.emplace(worker.id, static_cast<std::size_t>(&owner(i) - users_.data()));
    workers_.push_back(std::move(worker));
  }
}

const NewUser& Marketplace::owner(std::size_t index) const { return users_[users_.size() - owners_ + index % owners_]; }

const NewUser& Marketplace::owner_of(const Uuid& worker) const {
  const auto found = owner_index_.find(worker);
  KUDOS_CHECK(found != owner_index_.end());
  return users_[found->second];
}

Uuid Marketplace::id(const char* kind, std::size_t number) const {
  return Uuid::v5(kNamespace, std::to_string(shape_.seed) + "/" + kind + "/" + std::to_string(number));
}

Settlement Marketplace::next_settlement() {
  const NewWorker& worker = workers_[popular_below(workers_.size())];
  Settlement job;
  job.requester = draw_requester();
  job.worker = worker.id;
  job.cost = Amount::from_hundredths(100 + below(7'901));
  job.things = Amount::whole(
      static_cast<std::int64_t>(worker.worker_type == "text" ? 1 + below(512) : 1'000'000 * (1 + below(4))));
  job.job_id = id("job", jobs_++);
  draw_outcome(job);
  return job;
}

UserRef Marketplace::draw_requester() {
  if (below(100) < static_cast<std::uint64_t>(shape_.anonymous_percent)) return UserRef::external("anonymous");
  return UserRef::external(users_[1 + popular_below(users_.size() - 1)].external_id);
}

void Marketplace::draw_outcome(Settlement& job) {
  const std::uint64_t draw = below(100);
  if (draw == 0) job.outcome = JobOutcome::censored;
  if (draw < 1 || draw > 4) return;
  job.outcome = JobOutcome::cancelled;
  job.reward = Amount::from_hundredths(job.cost.hundredths() / 2);
}

// Uniform in [0, bound). The distributions of the standard library differ between implementations; the engine doesn't.
std::uint64_t Marketplace::below(std::uint64_t bound) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  // Draws above the last multiple of `bound` would favour the small numbers.
  const std::uint64_t limit = kMax - kMax % bound;
  std::uint64_t draw = random_();
  while (draw >= limit) draw = random_();
  return draw % bound;
}

// The square of a uniform draw crowds towards 0: the first of n is drawn with probability 1/√n.
std::size_t Marketplace::popular_below(std::size_t bound) {
  const std::uint64_t draw = below(std::uint64_t{1} << 20);
  return static_cast<std::size_t>((static_cast<Int128>(bound) * draw * draw) >> 40);
}

}  // namespace kudos::sim
