// Real processes for the end-to-end tests: run a program to its end, or keep one in the background and talk to it with
// signals. Nothing outlives the objects here.
//
// Thread-safety: one thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace kudos::testing {

struct Outcome {
  int code = -1;  // the exit status; 128 + N when signal N ended it; -1: not within the time limit (it was killed)
  std::string out;
  std::string err;
};

struct ProcessOptions {
  std::vector<std::string> argv;
  // "NAME=value", on top of the inherited environment, from which everything of Kudos and PostgreSQL is removed.
  std::vector<std::string> env;
  enum class Out { captured, broken_pipe, closed, full_disk } out = Out::captured;
  std::optional<uid_t> account;  // to run as; needs root
  std::chrono::seconds limit{60};
};

class Background {
 public:
  explicit Background(const ProcessOptions& options);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background();  // SIGKILL, if it still runs

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Reads its stderr until `text` appears; false when it ended or the limit passed before.
  bool wait_for_error_text(const std::string& text);
  // The same for stdout.
  bool wait_for_output(const std::string& text);
  // Reads both outputs to their ends and reaps it.
  Outcome finish();

 private:
  bool wait_for(std::string& stream, const std::string& text);
  bool read_some(std::chrono::milliseconds patience);
  void reap(int flags);

  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  std::chrono::steady_clock::time_point give_up_;
  Outcome outcome_;
  bool reaped_ = false;
};

Outcome run(const ProcessOptions& options);

}  // namespace kudos::testing
