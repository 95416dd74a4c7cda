// Settles the jobs of a recording: makes the accounts that they name, grants requesters an opening award, and emits one
// settlement a job. The key of each event is the recording's digest and the row, so that settling the same file twice
// adds nothing.
//
// Thread-safety: belongs to one thread, as its connection does.
#pragma once

#include <span>
#include <string>
#include <unordered_set>

#include "kudos/accounts.h"
#include "kudos/session.h"
#include "sim/trace.h"

namespace kudos::sim {

struct SettleCounts {
  std::int64_t stored = 0;    // events stored: settlements and opening awards
  std::int64_t replayed = 0;  // events that were there already
};

class TraceSettler {
 public:
  // `digest`: of the file (`file_digest`). Names become external ids like "slurm:alice".
  TraceSettler(std::string digest, TraceFormat format, Amount opening_award);

  // Works inside the open transaction of `session` and leaves committing to the caller, who calls `committed` when it
  // was done: until then the accounts count as not made. Safe to call again with the same jobs after a rollback.
  Result<SettleCounts> settle(Session& session, std::span<const TraceJob> jobs);
  void committed();

 private:
  struct Accounts;
  void collect(const TraceJob& job, Accounts& accounts) const;
  bool is_new(const std::string& name) const;
  std::string external_id(const std::string& name) const;
  Uuid id_of(const char* kind, const std::string& name) const;
  Status make_accounts(Session& session, const Accounts& accounts) const;
  Settlement settlement(const TraceJob& job) const;

  std::string digest_;
  std::string prefix_;
  Amount opening_award_;
  std::unordered_set<std::string> known_;    // accounts that exist, by kind and name
  std::unordered_set<std::string> pending_;  // made by a transaction that hasn't committed yet
};

}  // namespace kudos::sim
