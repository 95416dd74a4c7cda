#include "market.h"

#include <algorithm>

#include "ledger/projector.h"

namespace kudos::bench {

void fill_market(const sim::ScratchLedger& ledger, const sim::Marketplace& market) {
  auto client = ledger.client();
  must(client.connection.execute(db::kBegin));
  must(ensure_users(client.session, market.users()));
  must(ensure_teams(client.session, market.teams()));
  must(ensure_workers(client.session, market.workers()));
  std::vector<Command> commands;
  for (const NewUser& user : market.users())
    if (user.account_class != "anonymous")
      commands.emplace_back(TopUp{UserRef::external(user.external_id), Amount::whole(1'000'000), {}});
  for (const auto& receipt : must(emit(client.session, commands))) must(receipt);
  must(client.connection.execute(db::kCommit));
  auto projector = must(ledger::Projector::create(ledger.open(), {.batch_postings = 10'000}));
  while (must(projector.run_once()).events > 0) {
  }
  ledger.run("ANALYZE; CHECKPOINT");
}

void settle_jobs(sim::Client& client, sim::Marketplace& market, int count) {
  std::vector<Command> jobs;
  for (int i = 0; i < count; ++i) jobs.emplace_back(market.next_settlement());
  must(client.connection.execute(db::kBegin));
  for (const auto& receipt : must(emit(client.session, jobs))) must(receipt);
  must(client.connection.execute(db::kCommit));
}

double percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

}  // namespace kudos::bench
