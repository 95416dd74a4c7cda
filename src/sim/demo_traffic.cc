#include "sim/demo_traffic.h"

#include <algorithm>
#include <vector>

#include "base/try.h"

namespace kudos::sim {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kStep{20};
constexpr std::chrono::milliseconds kRetryPause{500};
// Jobs that a stalled database may leave to be caught up, in seconds of traffic.
constexpr std::int64_t kMaxLagSeconds = 1;

}  // namespace

DemoTraffic::DemoTraffic(TrafficOptions options) : options_(std::move(options)), market_(options_.shape) {}
DemoTraffic::~DemoTraffic() { stop(); }

Status DemoTraffic::make_accounts(db::Connection& connection, Session& session) {
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_TRY(ensure_users(session, market_.users()));
  KUDOS_TRY(ensure_teams(session, market_.teams()));
  KUDOS_TRY(ensure_workers(session, market_.workers()));
  std::vector<Command> topups;
  for (const NewUser& user : market_.users())
    if (user.account_class != "anonymous")
      topups.emplace_back(TopUp{UserRef::external(user.external_id),
                                Amount::whole(10'000),
                                {IdempotencyKey{"demo", "start:" + user.external_id}, {}}});
  KUDOS_ASSIGN(const auto receipts, emit(session, topups));
  for (const auto& receipt : receipts)
    if (!receipt) return std::unexpected(receipt.error());
  KUDOS_TRY(connection.execute(db::kCommit));
  return {};
}

Status DemoTraffic::start() {
  KUDOS_ASSIGN(auto connection, db::Connection::open(options_.conninfo, {.schema = options_.schema}));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = options_.schema}));
  KUDOS_TRY(make_accounts(connection, session));
  stopping_ = false;
  thread_ = std::thread([this] { run(); });
  return {};
}

void DemoTraffic::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

Status DemoTraffic::emit_jobs(db::Connection& connection, Session& session, std::int64_t count) {
  std::vector<Command> jobs;
  for (std::int64_t i = 0; i < count; ++i) {
    Settlement job = market_.next_settlement();
    // The marketplace repeats its jobs' ids at every start; a live stream has new ones.
    job.job_id = Uuid::v7();
    jobs.emplace_back(std::move(job));
  }
  KUDOS_TRY(connection.execute(db::kBegin));
  KUDOS_ASSIGN(const auto receipts, emit(session, jobs));
  KUDOS_TRY(connection.execute(db::kCommit));
  accepted_ += std::ranges::count_if(receipts, [](const auto& receipt) { return receipt && receipt->stored; });
  if (options_.on_commit) options_.on_commit();
  return {};
}

Status DemoTraffic::run_connected() {
  KUDOS_ASSIGN(auto connection, db::Connection::open(options_.conninfo, {.schema = options_.schema}));
  KUDOS_ASSIGN(auto session, Session::attach(connection.raw(), {.schema = options_.schema}));
  const auto start = Clock::now();
  std::int64_t sent = 0;
  while (!stopping_) {
    std::this_thread::sleep_for(kStep);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const auto due = static_cast<std::int64_t>(seconds * options_.jobs_per_second);
    sent = std::max(sent, due - kMaxLagSeconds * options_.jobs_per_second);
    if (due == sent) continue;
    KUDOS_TRY(emit_jobs(connection, session, due - sent));
    sent = due;
  }
  return {};
}

void DemoTraffic::run() {
  std::string said;
  while (!stopping_) {
    const Status ran = run_connected();
    if (ran) return;
    if (options_.log && ran.error().message != said) options_.log("demo: " + ran.error().message + "; trying again");
    said = ran.error().message;
    std::this_thread::sleep_for(kRetryPause);
  }
}

}  // namespace kudos::sim
