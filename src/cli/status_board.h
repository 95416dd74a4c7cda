// The screen of `kudos up --demo`: the ledger's health, rates and leaders, read anew at every `show`.
//
// Thread-safety: one thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/status_view.h"
#include "cli/terminal.h"

namespace kudos::cli {

class StatusBoard {
 public:
  StatusBoard(const Globals& globals, std::string conninfo) : globals_(globals), conninfo_(std::move(conninfo)) {}

  // Draws on stdout, or prints a line of JSON with --json. Rates are of the time since the last call; both counts are
  // totals since the start. A database that doesn't answer is said on the screen.
  void show(std::int64_t accepted, std::int64_t folded);

 private:
  using Clock = std::chrono::steady_clock;
  Rates rates_since_last(std::int64_t accepted, std::int64_t folded);
  Status draw(const Rates& rates);

  const Globals& globals_;
  std::string conninfo_;
  std::optional<db::Connection> connection_;
  LiveScreen screen_;
  Clock::time_point last_ = Clock::now();
  std::int64_t accepted_ = 0, folded_ = 0;
};

}  // namespace kudos::cli
