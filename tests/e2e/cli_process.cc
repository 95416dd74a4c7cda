#include "e2e/cli_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>

extern char** environ;

namespace kudos::testing {
namespace {

using Clock = std::chrono::steady_clock;
using Out = ProcessOptions::Out;

std::vector<std::string> environment(const ProcessOptions& options) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("KUDOS_") && !text.starts_with("PG")) result.emplace_back(text);
  }
  result.insert(result.end(), options.env.begin(), options.env.end());
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    reader = ends[0];
    writer = ends[1];
  }
  int reader, writer;
};

// Between fork and exec: calls that are safe there only.
void redirect_output(Out out, int pipe) {
  switch (out) {
    case Out::closed:
      ::close(STDOUT_FILENO);
      return;
    case Out::full_disk:
      ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
      return;
    case Out::captured:
    case Out::broken_pipe:
      ::dup2(pipe, STDOUT_FILENO);
  }
}

bool append_from(int& fd, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  if (got > 0) return true;
  ::close(fd);
  fd = -1;
  return false;
}

}  // namespace

Background::Background(const ProcessOptions& options) : give_up_(Clock::now() + options.limit) {
  std::vector<std::string> arguments = options.argv, variables = environment(options);
  const auto argv = pointers(arguments), envp = pointers(variables);
  const Pipe out, err;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // should this test be killed
    if (options.account && (::setgid(*options.account) != 0 || ::setuid(*options.account) != 0)) ::_exit(126);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(err.writer, STDERR_FILENO);
    if (options.out == Out::broken_pipe) ::close(out.reader);
    redirect_output(options.out, out.writer);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(out.writer);
  ::close(err.writer);
  out_ = out.reader;
  err_ = err.reader;
  if (options.out != Out::broken_pipe) return;
  ::close(out_);
  out_ = -1;
}

Background::~Background() {
  if (!reaped_) {
    ::kill(pid_, SIGKILL);
    reap(0);
  }
  for (const int fd : {out_, err_})
    if (fd >= 0) ::close(fd);
}

void Background::signal(int number) const { ::kill(pid_, number); }

// False when both streams have ended or nothing came in time.
bool Background::read_some(std::chrono::milliseconds patience) {
  std::array<pollfd, 2> streams = {pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
  if (out_ < 0 && err_ < 0) return false;
  if (patience.count() <= 0 || ::poll(streams.data(), 2, static_cast<int>(patience.count())) <= 0) return false;
  if (streams[0].revents != 0) append_from(out_, outcome_.out);
  if (streams[1].revents != 0) append_from(err_, outcome_.err);
  return true;
}

bool Background::wait_for(std::string& stream, const std::string& text) {
  while (!stream.contains(text))
    if (!read_some(std::chrono::duration_cast<std::chrono::milliseconds>(give_up_ - Clock::now()))) return false;
  return true;
}

bool Background::wait_for_error_text(const std::string& text) { return wait_for(outcome_.err, text); }
bool Background::wait_for_output(const std::string& text) { return wait_for(outcome_.out, text); }

void Background::reap(int flags) {
  int status = 0;
  if (::waitpid(pid_, &status, flags) != pid_) return;
  reaped_ = true;
  outcome_.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Outcome Background::finish() {
  while (read_some(std::chrono::duration_cast<std::chrono::milliseconds>(give_up_ - Clock::now()))) {
  }
  const bool in_time = out_ < 0 && err_ < 0;
  if (!in_time) ::kill(pid_, SIGKILL);
  if (!reaped_) reap(0);
  if (!in_time) outcome_.code = -1;
  return outcome_;
}

Outcome run(const ProcessOptions& options) { return Background(options).finish(); }

}  // namespace kudos::testing
