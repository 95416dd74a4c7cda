#include "db/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>

#include "base/check.h"
#include "base/try.h"

namespace kudos::db {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string reason(int error) { return std::generic_category().message(error); }

// What the child tells its parent through a pipe that closes by itself when the program is executed.
struct ChildFailure {
  std::array<char, 24> step{};
  int error = 0;
};

// Everything the child needs, made before the fork: after it, nothing may allocate.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> envp;
  const char* output_file = nullptr;
  const char* working_dir = nullptr;
  const Identity* run_as = nullptr;
  int death_signal = 0;
  int output_fd = -1;
  int failure_fd = -1;
  pid_t parent = -1;
};

// As system calls: glibc 2.36's header lacks its extern "C", older ones lack the functions.
int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)); }

void send_signal(int pidfd, int number) { ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0U); }

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

// Numbers from 3 up, so that the child's dup2 onto 0, 1 and 2 can't hit one of them.
Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorCode::server_start_failed, "pipe: " + reason(errno));
  const UniqueFd low_read{ends[0]};
  const UniqueFd low_write{ends[1]};
  Pipe made{UniqueFd{::fcntl(low_read.get(), F_DUPFD_CLOEXEC, 3)},
            UniqueFd{::fcntl(low_write.get(), F_DUPFD_CLOEXEC, 3)}};
  if (!made.read_end || !made.write_end) return fail(ErrorCode::server_start_failed, "pipe: " + reason(errno));
  return made;
}

// System calls instead of glibc's functions: those coordinate the threads of the process, which a fork doesn't have.
bool take_on(const Identity& identity) {
  return ::syscall(SYS_setgroups, 1, &identity.gid) == 0 &&
         ::syscall(SYS_setresgid, identity.gid, identity.gid, identity.gid) == 0 &&
         ::syscall(SYS_setresuid, identity.uid, identity.uid, identity.uid) == 0;
}

void reset_signals() {
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void give_up(const ChildPlan& plan, const char* step) {
  ChildFailure failure;
  failure.error = errno;
  std::strncpy(failure.step.data(), step, failure.step.size() - 1);
  [[maybe_unused]] const ssize_t written = ::write(plan.failure_fd, &failure, sizeof failure);
  ::_exit(127);
}

void connect_streams(const ChildPlan& plan) {
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input < 0 || ::dup2(input, STDIN_FILENO) < 0) give_up(plan, "open /dev/null");
  int output = plan.output_fd;
  if (output < 0) output = ::open(plan.output_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (output < 0) give_up(plan, "open the output file");
  if (::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0) give_up(plan, "dup2");
}

[[noreturn]] void become_the_program(const ChildPlan& plan) {
  ::setsid();
  if (plan.run_as != nullptr && !take_on(*plan.run_as)) give_up(plan, "change the account");
  // Changing the account clears it, hence after that; and the parent may have ended before it was set.
  if (plan.death_signal != 0) {
    if (::prctl(PR_SET_PDEATHSIG, plan.death_signal) != 0) give_up(plan, "set the death signal");
    if (::getppid() != plan.parent) ::_exit(127);
  }
  connect_streams(plan);
  if (plan.working_dir != nullptr && ::chdir(plan.working_dir) != 0) give_up(plan, "chdir");
  // For descriptors that other code opened without O_CLOEXEC; a kernel without this call leaves them open.
  ::syscall(SYS_close_range, 3U, ~0U, 1U << 2);
  reset_signals();
  ::execvpe(plan.argv[0], plan.argv.data(), plan.envp.data());
  give_up(plan, "execute");
}

// Forks with all signals blocked, so that no handler of this program runs in the child.
pid_t fork_quietly(const ChildPlan& plan) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) become_the_program(plan);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

std::string_view name_of(std::string_view assignment) { return assignment.substr(0, assignment.find('=')); }

std::vector<std::string> environment_with(const std::vector<std::string>& additions) {
  std::vector<std::string> all = additions;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const auto same_name = [&](const std::string& added) { return name_of(added) == name_of(*entry); };
    if (std::ranges::none_of(additions, same_name)) all.emplace_back(*entry);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

ExitStatus reap(pid_t pid) {
  int status = 0;
  pid_t done = -1;
  do done = ::waitpid(pid, &status, 0);
  while (done < 0 && errno == EINTR);
  if (done != pid) return {};  // SIGCHLD is ignored in this program: the kernel reaped it
  if (WIFSIGNALED(status)) return {.code = -1, .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status), .signal = 0};
}

int poll_timeout(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

// True when there is something to read (or the end) before the deadline.
bool readable(int fd, Clock::time_point deadline) {
  for (;;) {
    pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&entry, 1, poll_timeout(deadline));
    if (ready > 0) return true;
    if (Clock::now() >= deadline) return false;
  }
}

ssize_t read_some(int fd, void* to, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(fd, to, size);
    if (got >= 0 || errno != EINTR) return got;
  }
}

}  // namespace

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::string ExitStatus::to_string() const {
  if (signal != 0) return "signal " + std::to_string(signal);
  return code < 0 ? "unknown exit status" : "exit code " + std::to_string(code);
}

Result<Process> spawn_into(const SpawnOptions& options, int output_fd) {
  KUDOS_CHECK(!options.argv.empty());
  KUDOS_ASSIGN(Pipe failures, make_pipe());
  std::vector<std::string> arguments = options.argv;
  std::vector<std::string> environment = environment_with(options.env);
  const ChildPlan plan{.argv = pointers_to(arguments),
                       .envp = pointers_to(environment),
                       .output_file = options.output_file.empty() ? "/dev/null" : options.output_file.c_str(),
                       .working_dir = options.working_dir.empty() ? nullptr : options.working_dir.c_str(),
                       .run_as = options.run_as ? &*options.run_as : nullptr,
                       .death_signal = options.death_signal,
                       .output_fd = output_fd,
                       .failure_fd = failures.write_end.get(),
                       .parent = ::getpid()};
  const std::string what = "cannot start " + options.argv[0];
  const pid_t pid = fork_quietly(plan);
  if (pid < 0) return fail(ErrorCode::server_start_failed, what + ": fork: " + reason(errno));
  failures.write_end.reset();
  ChildFailure failure;
  if (read_some(failures.read_end.get(), &failure, sizeof failure) == sizeof failure) {
    reap(pid);
    return fail(ErrorCode::server_start_failed, what + ": " + failure.step.data() + ": " + reason(failure.error));
  }
  UniqueFd handle{open_pidfd(pid)};
  if (!handle) {
    const int error = errno;
    ::kill(pid, SIGKILL);
    reap(pid);
    return fail(ErrorCode::server_start_failed, what + ": pidfd_open: " + reason(error),
                "Linux 5.3 or newer is needed.");
  }
  return Process{pid, std::move(handle), true};
}

Result<Process> Process::spawn(const SpawnOptions& options) { return spawn_into(options, -1); }

std::optional<Process> Process::open(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  UniqueFd handle{open_pidfd(pid)};
  if (!handle) return std::nullopt;
  return Process{pid, std::move(handle), false};
}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  pid_ = other.pid_;
  handle_ = std::move(other.handle_);
  ours_ = other.ours_;
  status_ = other.status_;
  return *this;
}

Process::~Process() { abandon(); }

void Process::abandon() {
  if (!handle_ || !ours_ || status_) return;
  signal(SIGKILL);
  reap(pid_);
  handle_.reset();
}

bool Process::running() const { return handle_ && !status_ && !readable(handle_.get(), Clock::now()); }

std::optional<ExitStatus> Process::wait(milliseconds limit) {
  KUDOS_CHECK(static_cast<bool>(handle_));
  if (status_) return status_;
  if (!readable(handle_.get(), Clock::now() + limit)) return std::nullopt;
  status_ = ours_ ? reap(pid_) : ExitStatus{};
  return status_;
}

void Process::signal(int signal_number) const {
  if (handle_ && !status_) send_signal(handle_.get(), signal_number);
}

void Process::signal_group(int signal_number) const {
  // Until the leader is reaped its number can't be another group's.
  if (handle_ && ours_ && !status_) ::kill(-pid_, signal_number);
}

Result<RunResult> run(const SpawnOptions& options, milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  KUDOS_ASSIGN(Pipe output, make_pipe());
  KUDOS_ASSIGN(Process child, spawn_into(options, output.write_end.get()));
  output.write_end.reset();
  RunResult result;
  std::array<char, 4096> buffer{};
  while (readable(output.read_end.get(), deadline)) {
    const ssize_t got = read_some(output.read_end.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    result.output.append(buffer.data(), static_cast<std::size_t>(got));
  }
  const auto status = child.wait(std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(deadline - Clock::now())));
  if (!status) {
    child.signal_group(SIGKILL);
    return fail(ErrorCode::timed_out,
                options.argv[0] + " did not end within " + std::to_string(limit.count()) + " ms: " + result.output);
  }
  result.status = *status;
  return result;
}

Result<int> ask_as(const std::optional<Identity>& identity, const std::function<int()>& question) {
  constexpr int kNoIdentity = 126;
  const pid_t pid = ::fork();
  if (pid < 0) return fail(ErrorCode::server_start_failed, "fork: " + reason(errno));
  if (pid == 0) ::_exit(identity && !take_on(*identity) ? kNoIdentity : question());
  const ExitStatus status = reap(pid);
  if (status.code < 0 || status.code == kNoIdentity)
    return fail(ErrorCode::server_start_failed,
                "cannot take on the account with uid " + std::to_string(identity ? identity->uid : ::geteuid()));
  return status.code;
}

}  // namespace kudos::db
