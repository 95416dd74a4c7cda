// Waiting for Ctrl-C and SIGTERM.
#pragma once

#include <chrono>

namespace kudos::cli {

// While it lives, SIGINT and SIGTERM don't end the process but are waited for. Make it before any thread is started,
// so that all inherit the mask.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;

  // True when a signal to stop came within `limit`; from then on, always.
  bool wait_for(std::chrono::milliseconds limit);

 private:
  bool stopped_ = false;
};

}  // namespace kudos::cli
