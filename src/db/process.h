// Child processes: start one, under another account if need be, wait for it with a time limit, and leave neither it nor
// a descriptor behind.
//
// Every child gets a session of its own, so that a terminal's Ctrl-C reaches only this program, which then stops its
// children in its own order. It starts with the default signal handlers, nothing blocked, standard input closed to
// /dev/null, and no descriptor of this program beyond 0, 1 and 2.
//
// Thread-safety: a Process belongs to one thread at a time. `spawn` and `run` may be called by several threads.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "kudos/error.h"

namespace kudos::db {

// Owns a file descriptor; -1 is none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// An account to run as. Supplementary groups aren't taken along.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
};

struct SpawnOptions {
  std::vector<std::string> argv;      // argv[0]: a path, or a name looked up in PATH
  std::vector<std::string> env;       // "NAME=value": added to the inherited environment, replacing equal names
  std::filesystem::path output_file;  // both outputs are appended to it (created 0600); empty: dropped
  std::filesystem::path working_dir;  // empty: inherited
  std::optional<Identity> run_as;     // needs root
  // The child gets this signal when the *thread* that called spawn ends, however it ends (SIGKILL included); 0: none.
  int death_signal = 0;
};

struct ExitStatus {
  int code = -1;   // exit code; -1 if a signal ended it, or if that can't be known (not a child of ours)
  int signal = 0;  // the signal that ended it, else 0

  bool ok() const { return code == 0; }
  std::string to_string() const;  // "exit code 1", "signal 9"
};

class Process {
 public:
  // Returns once the program has been executed. On failure (server_start_failed, naming the step and the system's
  // reason) no process is left.
  static Result<Process> spawn(const SpawnOptions& options);

  // A handle on a process started by someone else; none if there is no such process. The handle stays with that very
  // process even if its number is used again. Its destructor leaves the process alone.
  static std::optional<Process> open(pid_t pid);

  Process(Process&&) noexcept = default;
  Process& operator=(Process&& other) noexcept;
  // Kills (SIGKILL) and reaps a child that still runs: end it properly before.
  ~Process();

  pid_t pid() const { return pid_; }
  bool running() const;

  // None if it still runs when the time is up; may be called again, also after the end.
  std::optional<ExitStatus> wait(std::chrono::milliseconds limit);

  // Does nothing once the process has ended.
  void signal(int signal_number) const;
  // The same for its whole process group. Only for a child made by `spawn`.
  void signal_group(int signal_number) const;

 private:
  Process(pid_t pid, UniqueFd handle, bool ours) : pid_(pid), handle_(std::move(handle)), ours_(ours) {}
  void abandon();

  pid_t pid_ = -1;
  UniqueFd handle_;  // a pidfd; none once moved from
  bool ours_ = false;
  std::optional<ExitStatus> status_;

  friend Result<Process> spawn_into(const SpawnOptions& options, int output_fd);
};

struct RunResult {
  ExitStatus status;
  std::string output;  // stdout and stderr, as they came
};

// Runs to the end and captures the output (`output_file` isn't used). A program that ends badly is a result, not an
// error. When the time is up its process group is killed and the error is timed_out.
Result<RunResult> run(const SpawnOptions& options, std::chrono::milliseconds limit);

// Answers a question as another account: runs `question` in a forked child that took on the identity and returns its
// value, 0 to 125. `question` may use async-signal-safe calls only (no allocation). No identity: asked as we are.
Result<int> ask_as(const std::optional<Identity>& identity, const std::function<int()>& question);

}  // namespace kudos::db
