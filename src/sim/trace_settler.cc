#include "sim/trace_settler.h"

#include <map>

#include "base/try.h"

namespace kudos::sim {
namespace {

// The name space of the ids of replayed workers and teams, a random constant.
constexpr Uuid kNamespace{
    {0x1d, 0x94, 0xa2, 0x6f, 0x53, 0xc8, 0x4e, 0x17, 0xb0, 0x38, 0xe9, 0x05, 0x7a, 0x61, 0xdc, 0x2b}};
constexpr const char* kPrincipal = "replay";

}  // namespace

// What a batch of jobs names for the first time, without doubles.
struct TraceSettler::Accounts {
  std::map<std::string, NewUser> users;
  std::map<Uuid, NewTeam> teams;
  std::map<Uuid, NewWorker> workers;
  std::map<std::string, Award> awards;
  std::unordered_set<std::string> seen;
};

TraceSettler::TraceSettler(std::string digest, TraceFormat format, Amount opening_award)
    : digest_(std::move(digest)), prefix_(trace_format_name(format)), opening_award_(opening_award) {}

std::string TraceSettler::external_id(const std::string& name) const { return prefix_ + ":" + name; }

Uuid TraceSettler::id_of(const char* kind, const std::string& name) const {
  return Uuid::v5(kNamespace, prefix_ + "/" + kind + "/" + name);
}

bool TraceSettler::is_new(const std::string& name) const { return !known_.contains(name); }

void TraceSettler::collect(const TraceJob& job, Accounts& accounts) const {
  const auto owner = UserRef::external(external_id(job.owner));
  for (const std::string* name : {&job.requester, &job.owner})
    if (is_new("user/" + *name) && accounts.seen.insert("user/" + *name).second)
      accounts.users.emplace(*name, NewUser{.external_id = external_id(*name)});
  if (is_new("award/" + job.requester) && accounts.seen.insert("award/" + job.requester).second)
    accounts.awards.emplace(job.requester,
                            Award{UserRef::external(external_id(job.requester)),
                                  opening_award_,
                                  {},
                                  {IdempotencyKey{kPrincipal, digest_ + ":opening:" + job.requester}, {}}});
  std::optional<Uuid> team;
  if (!job.team.empty()) {
    team = id_of("team", job.team);
    if (is_new("team/" + job.team) && accounts.seen.insert("team/" + job.team).second)
      accounts.teams.emplace(*team, NewTeam{*team, job.team, owner});
  }
  if (is_new("worker/" + job.worker) && accounts.seen.insert("worker/" + job.worker).second)
    accounts.workers.emplace(id_of("worker", job.worker),
                             NewWorker{id_of("worker", job.worker), job.worker, owner, team, job.worker_type});
}

Status TraceSettler::make_accounts(Session& session, const Accounts& accounts) const {
  const auto values = [](const auto& map) {
    std::vector<std::decay_t<decltype(map.begin()->second)>> list;
    for (const auto& [key, value] : map) list.push_back(value);
    return list;
  };
  if (!accounts.users.empty()) KUDOS_TRY(ensure_users(session, values(accounts.users)));
  if (!accounts.teams.empty()) KUDOS_TRY(ensure_teams(session, values(accounts.teams)));
  if (!accounts.workers.empty()) KUDOS_TRY(ensure_workers(session, values(accounts.workers)));
  return {};
}

Settlement TraceSettler::settlement(const TraceJob& job) const {
  Settlement settlement;
  settlement.requester = UserRef::external(external_id(job.requester));
  settlement.worker = id_of("worker", job.worker);
  settlement.cost = job.cost;
  settlement.reward = job.reward;
  settlement.things = job.things;
  settlement.wp_type = job.wp_type;
  settlement.outcome = job.outcome;
  settlement.options.key = IdempotencyKey{kPrincipal, digest_ + ":" + job.key};
  return settlement;
}

Result<SettleCounts> TraceSettler::settle(Session& session, std::span<const TraceJob> jobs) {
  Accounts accounts;
  for (const TraceJob& job : jobs) collect(job, accounts);
  KUDOS_TRY(make_accounts(session, accounts));
  std::vector<Command> commands;
  for (const auto& [name, award] : accounts.awards) commands.emplace_back(award);
  for (const TraceJob& job : jobs) commands.emplace_back(settlement(job));
  KUDOS_ASSIGN(const auto receipts, emit(session, commands));
  SettleCounts counts;
  for (const auto& receipt : receipts) {
    if (!receipt) return std::unexpected(receipt.error());
    (receipt->replayed ? counts.replayed : counts.stored) += 1;
  }
  pending_ = std::move(accounts.seen);
  return counts;
}

void TraceSettler::committed() {
  known_.merge(pending_);
  pending_.clear();
}

}  // namespace kudos::sim
