// A pgbouncer in transaction mode in front of a scratch ledger: a transaction gets whichever of two server connections
// is free. It listens on a Unix socket only and runs as the account of the private server, since it refuses root.
//
// Thread-safety: one thread; it ends with the thread that made it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "db/process.h"
#include "sim/scratch_ledger.h"

namespace kudos::testing {

class Pgbouncer {
 public:
  static constexpr const char* kProgram = "/usr/sbin/pgbouncer";  // Debian's

  // Pools the database that `ledger` has at the moment. Stops the program when it doesn't start.
  explicit Pgbouncer(const sim::ScratchLedger& ledger);
  ~Pgbouncer();
  Pgbouncer(const Pgbouncer&) = delete;

  std::string conninfo() const;

 private:
  void write_configuration(const std::string& database) const;
  void wait_until_it_answers() const;

  std::filesystem::path directory_;
  std::optional<db::Process> process_;
};

}  // namespace kudos::testing
