// fork, exec, a pipe and two deadlines.
#include "gpu_check/process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "engine/core/require.h"

namespace kedge::gpu_check {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void become(const std::vector<std::string>& arguments, int output) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(output, STDOUT_FILENO);
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  ::execv(words.front(), words.data());
  ::_exit(127);
}

// Lines as they come; what has no end is the last line.
class Lines {
 public:
  explicit Lines(const std::function<void(std::string_view)>& on_line) : on_line_(on_line) {}
  void add(std::string_view bytes) {
    kept_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end; (end = kept_.find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line_(std::string_view(kept_).substr(begin, end - begin));
    kept_.erase(0, begin);
  }
  void end() {
    if (!kept_.empty()) on_line_(kept_);
  }

 private:
  const std::function<void(std::string_view)>& on_line_;
  std::string kept_;
};

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Until the end of the output, or one of the deadlines.
Ended::How read_output(int input, Patience patience, Lines& lines) {
  const Clock::time_point late = after(patience.seconds);
  Clock::time_point silent = after(patience.silent_seconds);
  std::array<char, 4096> bytes;
  while (true) {
    const auto until = std::min(late, silent);
    const double left_ms = std::chrono::duration<double, std::milli>(until - Clock::now()).count();
    if (left_ms <= 0) return until == late ? Ended::How::kLate : Ended::How::kSilent;
    pollfd entry{.fd = input, .events = POLLIN};
    if (::poll(&entry, 1, static_cast<int>(std::min(std::ceil(left_ms), 1e6))) <= 0)
      continue;   // a deadline, or a signal
    const ssize_t n = ::read(input, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Ended::How::kItself;
    lines.add({bytes.data(), static_cast<std::size_t>(n)});
    silent = after(patience.silent_seconds);
  }
}

}   // namespace

Ended run_process(const std::vector<std::string>& arguments, Patience patience,
                  const std::function<void(std::string_view)>& on_line) {
  std::array<int, 2> ends;
  engine::require(::pipe2(ends.data(), O_CLOEXEC) == 0, schema::ErrorCode::kInternal, "pipe: {}", ::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) become(arguments, ends[1]);
  ::close(ends[1]);
  Lines lines(on_line);
  Ended ended;
  if (child > 0) ended.how = read_output(ends[0], patience, lines);
  ::close(ends[0]);
  engine::require(child > 0, schema::ErrorCode::kInternal, "fork: {}", ::strerror(errno));
  if (ended.how != Ended::How::kItself) {
    ::kill(-child, SIGKILL);
    ::kill(child, SIGKILL);   // where it had not come to make its group
  }
  while (::waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
  }
  lines.end();
  return ended;
}

std::string words_of(const Ended& ended, Patience patience) {
  if (ended.how == Ended::How::kSilent) return fmt::format("it did not end within {:g} s", patience.silent_seconds);
  if (ended.how == Ended::How::kLate)
    return fmt::format("it did not end within the {:g} s that there were", patience.seconds);
  if (WIFSIGNALED(ended.status))
    return fmt::format("its process ended by signal {} ({})", WTERMSIG(ended.status),
                       ::strsignal(WTERMSIG(ended.status)));
  return fmt::format("its process ended with {}", WEXITSTATUS(ended.status));
}

}   // namespace kedge::gpu_check
