#include "cli/replay_summary.h"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "base/try.h"
#include "cli/status_view.h"
#include "cli/terminal.h"

namespace kudos::cli {
namespace {

constexpr std::int32_t kLeaders = 5;

struct Facts {
  store::ArchiveTotals archive;
  store::Health health;
  Leaders leaders;
};

Result<Facts> read_facts(const Globals& globals) {
  Facts facts;
  KUDOS_ASSIGN(auto connection, connect(globals));
  KUDOS_ASSIGN(facts.archive, store::read_archive_totals(connection));
  KUDOS_ASSIGN(facts.health, store::read_health(connection));
  KUDOS_ASSIGN(facts.leaders, read_leaders(connection, kLeaders));
  return facts;
}

std::int64_t postings(const Facts& facts) { return facts.archive.currency_postings + facts.archive.statistic_postings; }

double rate(const ReplayTotals& totals) { return static_cast<double>(totals.jobs) / std::max(totals.seconds, 1e-3); }

boost::json::array names_and_kudos(const std::vector<store::Leader>& leaders) {
  boost::json::array rows;
  for (const auto& leader : leaders)
    rows.push_back({{"id", leader.id}, {"name", leader.name}, {"kudos", leader.kudos.to_string()}});
  return rows;
}

boost::json::object to_json(const ReplayTotals& totals, const Facts& facts) {
  return {{"jobs", totals.jobs},
          {"stored", totals.stored},
          {"replayed", totals.replayed},
          {"skipped_rows", totals.skipped_rows},
          {"seconds", totals.seconds},
          {"jobs_per_second", rate(totals)},
          {"events", facts.archive.events},
          {"postings", postings(facts)},
          {"currency_sum", facts.archive.currency_sum.to_string()},
          {"pending_rows", facts.health.pending.rows},
          {"top_users", names_and_kudos(facts.leaders.users)},
          {"top_workers", names_and_kudos(facts.leaders.workers)},
          {"top_teams", names_and_kudos(facts.leaders.teams)}};
}

void print(const ReplayTotals& totals, const Facts& facts) {
  fmt::print("{} jobs in {}, folding included: {} jobs/s\n", human_count(totals.jobs), human_duration(totals.seconds),
             human_count(static_cast<std::int64_t>(rate(totals))));
  fmt::print("{} events stored, {} were there already\n", human_count(totals.stored), human_count(totals.replayed));
  if (totals.skipped_rows > 0) fmt::print("bad rows skipped: {}\n", human_count(totals.skipped_rows));
  fmt::print(
      "\nthe ledger now\n  events           {}\n  postings         {}\n  sum of currency  {}\n  pending rows     "
      "{}\n\n{}",
      human_count(facts.archive.events), human_count(postings(facts)), facts.archive.currency_sum.to_string(),
      human_count(facts.health.pending.rows), describe(facts.leaders));
}

}  // namespace

Status print_summary(const Globals& globals, const ReplayTotals& totals) {
  KUDOS_ASSIGN(const auto facts, read_facts(globals));
  if (globals.json)
    print_json(to_json(totals, facts));
  else
    print(totals, facts);
  return {};
}

}  // namespace kudos::cli
