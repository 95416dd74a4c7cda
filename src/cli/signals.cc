#include "cli/signals.h"

#include <csignal>
#include <ctime>

namespace kudos::cli {
namespace {

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

StopSignals::~StopSignals() {
  const sigset_t set = stop_set();
  // A second Ctrl-C, pressed while the first was obeyed, has nothing left to stop.
  const timespec now{};
  while (sigtimedwait(&set, nullptr, &now) > 0) {
  }
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool StopSignals::wait_for(std::chrono::milliseconds limit) {
  if (stopped_) return true;
  const sigset_t set = stop_set();
  const timespec time{limit.count() / 1000, (limit.count() % 1000) * 1'000'000};
  stopped_ = sigtimedwait(&set, nullptr, &time) > 0;
  return stopped_;
}

}  // namespace kudos::cli
