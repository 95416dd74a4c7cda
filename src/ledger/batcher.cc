#include "kudos/batcher.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/try.h"
#include "core/produce.h"
#include "db/connection.h"
#include "ledger/execution.h"

namespace kudos {
namespace {

using Clock = std::chrono::steady_clock;

// Plans must not depend on how fresh the statistics are; a lane that is cut off must lose its locks.
constexpr const char* kLaneSettings = R"(
SET enable_seqscan = off; SET jit = off; SET plan_cache_mode = force_generic_plan;
SET statement_timeout = '30s'; SET lock_timeout = '500ms';
SET idle_in_transaction_session_timeout = '15s')";
constexpr std::chrono::milliseconds kReconnectPause{50};
constexpr std::string_view kLockTimeout = "55P03";

struct Task {
  Command command;
  Batcher::Answer answer;
  // Its id may be there already: the caller fixed it, or a commit's end wasn't heard. Then it is looked for.
  bool may_be_stored = false;
  std::optional<Error> doubt;  // of a commit whose end wasn't heard and isn't known yet
};

// An id made once, before the first attempt: so that running the command again is recognised.
void fix_event_id(Command& command) {
  std::visit(
      [](auto& each) {
        if (!each.options.key && !each.options.event_id) each.options.event_id = Uuid::v7();
      },
      command);
}

// What waits, bounded.
class Queue {
 public:
  explicit Queue(std::size_t limit) : limit_(limit) {}

  bool push(Task& task) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_ || tasks_.size() >= limit_) return false;
      tasks_.push_back(std::move(task));
    }
    arrived_.notify_one();
    return true;
  }

  // Waits for a first task, then at most `linger` for as many as a batch takes. Empty: stopped and nothing left.
  std::vector<Task> take(std::size_t most, std::chrono::microseconds linger) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return stopped_ || !tasks_.empty(); });
    if (linger.count() > 0) arrived_.wait_for(lock, linger, [&] { return stopped_ || tasks_.size() >= most; });
    std::vector<Task> batch;
    while (!tasks_.empty() && batch.size() < most) {
      batch.push_back(std::move(tasks_.front()));
      tasks_.pop_front();
    }
    return batch;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    arrived_.notify_all();
  }
  bool stopped_and_empty() const {
    const std::lock_guard lock(mutex_);
    return stopped_ && tasks_.empty();
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Task> tasks_;
  bool stopped_ = false;
};

struct Counters {
  std::atomic<std::int64_t> commands = 0, refused = 0, batches = 0, overloaded = 0, halvings = 0, reconnections = 0;
  RetryCounters retries;
};

// One connection with its thread's work.
class Lane {
 public:
  Lane(const BatcherOptions& options, Counters& counters) : options_(options), counters_(counters) {}

  void run(std::span<Task> batch) {
    for (int round = 1; !batch.empty(); ++round) batch = run_round(batch, round);
  }

 private:
  using Receipts = std::vector<Result<Receipt>>;

  // One transaction, answered; returns those commands, moved to the front, which must run again for themselves.
  std::span<Task> run_round(std::span<Task> batch, int round) {
    auto receipts = run_until_settled(batch);
    if (!receipts) {
      answer_failure(batch, receipts.error());
      return {};
    }
    counters_.batches += 1;
    if (options_.committed) options_.committed();
    std::size_t again = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto& receipt = (*receipts)[i];
      if (!receipt && round < options_.retry.attempts && is_retryable(receipt.error(), &counters_.retries))
        std::swap(batch[again++], batch[i]);
      else
        answer(batch[i], std::move(receipt));
    }
    return batch.first(again);
  }

  void answer_failure(std::span<Task> batch, const Error& error) {
    const bool ones_own = error.recovery == Recovery::none && error.code == ErrorCode::database_error;
    if (batch.size() > 1 && (ones_own || error.recovery == Recovery::retry)) {
      counters_.halvings += 1;
      const auto middle = batch.size() / 2;
      run(batch.first(middle));
      run(batch.subspan(middle));
      return;
    }
    for (Task& task : batch) answer(task, std::unexpected(task.doubt ? doubt_of(task) : error));
  }

  // Nobody heard how it ended, and asking again failed too.
  static Error doubt_of(const Task& task) {
    Error doubt = *task.doubt;
    doubt.message += " (event " + make_event_id(task.command).to_string() + ")";
    return doubt;
  }

  // Runs the batch until it is committed or refused as a whole.
  Result<Receipts> run_until_settled(std::span<Task> batch) {
    std::vector<Command> commands;
    for (const Task& task : batch) commands.push_back(task.command);
    const auto give_up = Clock::now() + options_.outage;
    for (int tries = 1;;) {
      const bool again = std::ranges::any_of(batch, &Task::may_be_stored);
      auto receipts = attempt(commands, again ? ledger::Run::again : ledger::Run::first);
      if (receipts) return receipts;
      const Error& error = receipts.error();
      if (error.recovery == Recovery::reconnect || error.recovery == Recovery::in_doubt) {
        if (error.recovery == Recovery::in_doubt) note_doubt(batch, error);
        drop_connection();
        if (Clock::now() > give_up) return receipts;
        std::this_thread::sleep_for(kReconnectPause);
        continue;
      }
      if (!is_retryable(error, &counters_.retries) || tries >= options_.retry.attempts) return receipts;
      // Whoever waits for a lock keeps the others of the batch waiting.
      if (batch.size() > 1 && error.sqlstate == kLockTimeout) return receipts;
      std::this_thread::sleep_for(retry_pause(options_.retry, tries++));
    }
  }

  static void note_doubt(std::span<Task> batch, const Error& error) {
    for (Task& task : batch) {
      task.may_be_stored = true;
      if (!task.doubt) task.doubt = error;
    }
  }

  Result<Receipts> attempt(const std::vector<Command>& commands, ledger::Run run) {
    if (!session_) KUDOS_TRY(connect());
    auto receipts = ledger::execute(*session_, commands, ledger::Transaction::own, run);
    if (!receipts) connection_->roll_back();
    return receipts;
  }

  Status connect() {
    auto opened = db::Connection::open(options_.conninfo, {options_.session.schema, options_.session.prepare});
    if (!opened) {
      opened.error().recovery = Recovery::reconnect;
      return std::unexpected(std::move(opened).error());
    }
    KUDOS_TRY(opened->run_script(kLaneSettings));
    KUDOS_ASSIGN(auto session, Session::attach(opened->raw(), options_.session));
    connection_.emplace(*std::move(opened));
    session_.emplace(std::move(session));
    return {};
  }

  void drop_connection() {
    session_.reset();
    connection_.reset();
    counters_.reconnections += 1;
  }

  void answer(Task& task, Result<Receipt> receipt) {
    counters_.commands += 1;
    if (!receipt) counters_.refused += 1;
    task.answer(std::move(receipt));
  }

  const BatcherOptions& options_;
  Counters& counters_;
  std::optional<db::Connection> connection_;
  std::optional<Session> session_;
};

}  // namespace

class Batcher::Lanes {
 public:
  explicit Lanes(BatcherOptions options) : options_(std::move(options)), queue_(options_.queue_limit) {
    for (int i = 0; i < options_.lanes; ++i) threads_.emplace_back([this] { work(); });
  }

  void submit(Command command, Answer answer) {
    const bool may_be_stored = command_options(command).event_id.has_value();
    fix_event_id(command);
    Task task{std::move(command), std::move(answer), may_be_stored, std::nullopt};
    if (queue_.push(task)) return;
    counters_.overloaded += 1;
    task.answer(
        fail(ErrorCode::overloaded, "too many commands wait for the database", "Try again later; nothing was done."));
  }

  void stop() {
    queue_.stop();
    const std::lock_guard lock(joining_);
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }

  BatcherStats stats() const {
    BatcherStats stats;
    stats.commands = counters_.commands;
    stats.refused = counters_.refused;
    stats.batches = counters_.batches;
    stats.overloaded = counters_.overloaded;
    stats.halvings = counters_.halvings;
    stats.reconnections = counters_.reconnections;
    stats.deadlocks = counters_.retries.deadlocks;
    stats.serializations = counters_.retries.serializations;
    stats.timeouts = counters_.retries.timeouts;
    stats.waiting = queue_.size();
    return stats;
  }

 private:
  void work() {
    Lane lane(options_, counters_);
    while (!queue_.stopped_and_empty()) {
      auto batch = queue_.take(options_.largest_batch, options_.linger);
      if (!batch.empty()) lane.run(batch);
    }
  }

  const BatcherOptions options_;
  Queue queue_;
  Counters counters_;
  std::mutex joining_;
  std::vector<std::thread> threads_;
};

Batcher::Batcher(BatcherOptions options) : lanes_(std::make_unique<Lanes>(std::move(options))) {}
Batcher::~Batcher() { stop(); }

void Batcher::submit(Command command, Answer answer) { lanes_->submit(std::move(command), std::move(answer)); }

std::future<Result<Receipt>> Batcher::submit(Command command) {
  auto promise = std::make_shared<std::promise<Result<Receipt>>>();
  auto future = promise->get_future();
  submit(std::move(command), [promise](Result<Receipt> receipt) { promise->set_value(std::move(receipt)); });
  return future;
}

Result<Receipt> Batcher::run(Command command) { return submit(std::move(command)).get(); }

void Batcher::stop() { lanes_->stop(); }

BatcherStats Batcher::stats() const { return lanes_->stats(); }

}  // namespace kudos
