// Group commit: commands from any number of threads, gathered into few transactions.
//
//   kudos::Batcher batcher({.conninfo = url});
//   kudos::Result<kudos::Receipt> receipt = batcher.run(kudos::Transfer{...});
//
// What waits when a lane is free goes into one transaction: locks in sorted order, one load, one decision, one store,
// one commit. Each command gets its own answer after the commit; each sees what those before it left available. A batch
// of one is the same code.
//
// Failures: a deadlock or a twin runs the batch again, a bounded number of times. Another database error, or a lock
// that somebody keeps for half a second, splits it in halves, until the one command that causes it is alone with its
// error. After a lost connection, also during COMMIT, the batch runs again with the same ids, so that what was
// committed counts as done. When the database stays away longer than `outage`, a command whose commit's end wasn't
// heard is answered commit_in_doubt with its event id.
//
// Thread-safety: all members may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "kudos/commands.h"
#include "kudos/error.h"
#include "kudos/session.h"
#include "kudos/transaction.h"

namespace kudos {

struct BatcherOptions {
  std::string conninfo;
  SessionOptions session = {};
  int lanes = 2;                          // connections, each with a thread and at most one transaction
  std::size_t largest_batch = 256;        // commands a transaction
  std::chrono::microseconds linger{500};  // how long a lane that is free waits for more commands
  std::size_t queue_limit = 4096;         // commands that wait; beyond it they are refused (overloaded)
  std::chrono::seconds outage{10};        // how long a batch is tried again while the database is away
  RetryOptions retry = {};
  std::function<void()> committed = {};  // after each commit, from a lane's thread, e.g. to wake a projector
};

struct BatcherStats {
  std::int64_t commands = 0;  // answered
  std::int64_t refused = 0;   // of these, with a refusal or an error
  std::int64_t batches = 0;   // committed
  std::int64_t overloaded = 0;
  std::int64_t halvings = 0;
  std::int64_t reconnections = 0;
  std::int64_t deadlocks = 0, serializations = 0, timeouts = 0;  // batches that ran again
  std::size_t waiting = 0;                                       // in the queue now
};

class Batcher {
 public:
  // Lanes connect when the first command comes, and again after a failure.
  explicit Batcher(BatcherOptions options);
  ~Batcher();  // stops

  // Must not throw, and not stop or destroy the batcher.
  using Answer = std::function<void(Result<Receipt>)>;
  // Takes the command; the answer comes once, from a lane's thread, or from this one when the queue is full or the
  // batcher stops (overloaded). A caller that goes away before its answer leaves nothing behind but the command's
  // effect.
  void submit(Command command, Answer answer);
  std::future<Result<Receipt>> submit(Command command);
  // Submits and waits.
  Result<Receipt> run(Command command);

  // Finishes what waits, refuses what comes. No effect the second time.
  void stop();
  BatcherStats stats() const;

 private:
  class Lanes;
  std::unique_ptr<Lanes> lanes_;
};

}  // namespace kudos
