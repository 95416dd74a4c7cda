// How far a long command is, in one line that redraws itself:
//
//   replay  [===========>               ]  42 %  12,345/s  8.1 s left  3 refused
//   replay  12,345  1,234/s  10.0 s                                       (total unknown)
//
// For people only: it is drawn on stderr when that is a terminal, so that results can be piped; otherwise nothing is
// written. A command that must report to a log does that itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace kudos::cli {

// What the line shows; pure, for Progress and its tests.
struct ProgressState {
  std::string_view label;
  std::optional<std::int64_t> total;  // in the units of `done`; nullopt when nobody knows, e.g. reading a pipe
  std::int64_t done = 0;
  double elapsed_seconds = 0;
  std::string_view extra = {};  // e.g. "3 refused"
  // What the rate counts, where that isn't `done`: jobs, while `done` is bytes of their file.
  std::optional<std::int64_t> items = std::nullopt;
};

// At most `columns` wide. The rate is the mean since the start, and the time left assumes that it stays. A `done`
// beyond the total is shown as 100 %.
std::string progress_line(const ProgressState& state, std::size_t columns);

// Thread-safety: one thread at a time, and nobody else writes to the terminal between update() and finish().
class Progress {
 public:
  // The clock starts here. A total of zero or less counts as unknown.
  Progress(std::string label, std::optional<std::int64_t> total, std::FILE* out = stderr);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // finishes

  // Cheap enough for every row: draws at most ten times a second, otherwise only reads the clock.
  void update(std::int64_t done, std::string_view extra = {}, std::optional<std::int64_t> items = std::nullopt);

  // Clears the line. May be called again; updates after it draw nothing.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  std::optional<std::int64_t> total_;
  std::FILE* out_;
  bool active_;
  bool drawn_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_draw_ = started_;
};

}  // namespace kudos::cli
