// Child processes, with fork and exec.
#include "provisioning/process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "provisioning/interrupt.h"
#include "schemas/error.h"

namespace kedge::provisioning {
namespace {

[[noreturn]] void refuse(const char* what) {
  throw schema::Error(schema::ErrorCode::kInternal, fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) refuse("make a pipe");
  }
  ~Pipe() { close_end(0), close_end(1); }
  Pipe(const Pipe&) = delete;
  void close_end(int end) {
    int& descriptor = ends[static_cast<std::size_t>(end)];
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
  }
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Where programs and time are, how computations are to run, and the settings of a server that tell nothing secret.
std::vector<std::string> server_environment(const Environment& added) {
  constexpr std::array<std::string_view, 14> kNames{"PATH", "HOME", "LANG", "TZ", "LD_LIBRARY_PATH", "KEDGE_OPENML_URL", "KEDGE_ALLOW_FETCH",
                                                    "KEDGE_WORKER", "KEDGE_DEVICES", "KEDGE_THREADS", "KEDGE_WORKER_MEMORY", "KEDGE_CACHE_MIB",
                                                    "KEDGE_NVML", "KEDGE_CONTROL"};
  constexpr std::array<std::string_view, 12> kFamilies{"LC_", "OMP_", "GOMP_", "OPENBLAS_", "CUDA_", "NVIDIA_", "ASAN_", "UBSAN_", "TSAN_",
                                                       "KEDGE_LOG_", "KEDGE_FAIL", "KEDGE_FAKE_"};
  const auto is_added = [&](std::string_view name) { return std::ranges::any_of(added, [&](const auto& given) { return given.first == name; }); };
  std::vector<std::string> kept;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text(*variable), name = text.substr(0, text.find('='));
    const auto begins = [&](std::string_view family) { return name.starts_with(family); };
    const bool is_wanted = std::ranges::find(kNames, name) != kNames.end() || std::ranges::any_of(kFamilies, begins);
    if (is_wanted && !is_added(name)) kept.emplace_back(text);
  }
  for (const auto& [name, value] : added) kept.push_back(fmt::format("{}={}", name, value));
  return kept;
}

// Only async-signal-safe calls between fork and exec: all memory was taken before.
[[noreturn]] void become(char* const* arguments, int in, int out, int err) {
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
  ::execvp(arguments[0], arguments);
  ::_exit(127);
}

// Feeds and drains until the child has closed both outputs, time is up, or the user pressed Ctrl-C.
void converse(Pipe& in, Pipe& out, Pipe& err, std::string_view input, Outcome& outcome,
              std::chrono::steady_clock::time_point end) {
  constexpr std::int64_t kSlice_ms = 200;
  ::fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  if (input.empty()) in.close_end(1);
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return void(outcome.timed_out = true);
    if (interrupted()) return;
    std::array<pollfd, 3> waits{{{in.ends[1], POLLOUT, 0}, {out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), static_cast<int>(std::min<std::int64_t>(left, kSlice_ms))) < 0 && errno != EINTR) refuse("wait for a program");
    if (waits[0].revents != 0) {
      const ssize_t n = ::write(in.ends[1], input.data(), input.size());
      if (n > 0) input.remove_prefix(static_cast<std::size_t>(n));
      if (input.empty() || (n < 0 && errno != EAGAIN && errno != EINTR)) in.close_end(1);
    }
    const auto drain = [](Pipe& pipe, short events, std::string& to) {
      std::array<char, 65536> buffer;
      if (events == 0) return;
      const ssize_t n = ::read(pipe.ends[0], buffer.data(), buffer.size());
      if (n > 0) to.append(buffer.data(), static_cast<std::size_t>(n));
      else if (n == 0 || errno != EINTR) pipe.close_end(0);
    };
    drain(out, waits[1].revents, outcome.out);
    drain(err, waits[2].revents, outcome.err);
  }
}

}   // namespace

Outcome run_program(const std::vector<std::string>& arguments, std::string_view input, std::chrono::seconds limit) {
  Pipe in, out, err;
  const auto argv = pointers(arguments);
  std::signal(SIGPIPE, SIG_IGN);   // a program may end before it has read all of its input
  const pid_t child = ::fork();
  if (child < 0) refuse("start a program");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);   // what it was to make is not made after we were killed, behind a sweeper's back
    ::setpgid(0, 0);                      // a Ctrl-C is ours to handle
    become(argv.data(), in.ends[0], out.ends[1], err.ends[1]);
  }
  ::setpgid(child, child);   // in both processes, as either may come first: the child is killed as a group
  in.close_end(0), out.close_end(1), err.close_end(1);
  Outcome outcome;
  converse(in, out, err, input, outcome, std::chrono::steady_clock::now() + limit);
  const bool cut_short = outcome.timed_out || interrupted();
  if (cut_short) ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (cut_short) throw_if_interrupted();
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string complaint(const Outcome& outcome) {
  constexpr std::size_t kLongest = 500;
  std::string words = outcome.timed_out ? "no answer in time" : outcome.err.substr(0, kLongest);
  while (words.ends_with('\n')) words.pop_back();
  return words;
}

void start_detached(const std::vector<std::string>& arguments, const Environment& added, const std::filesystem::path& log) {
  const auto argv = pointers(arguments);
  const std::vector<std::string> variables = server_environment(added);
  auto envp = pointers(variables);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (null < 0 || file < 0) refuse("open the log of a program");
  const pid_t child = ::fork();
  if (child < 0) refuse("start a program");
  if (child == 0) {
    ::setsid();
    environ = envp.data();   // execvp() takes it
    if (::fork() != 0) ::_exit(0);   // the grandchild belongs to init: no zombie of ours
    // What our caller left open is closed: a program that waits for the end of such a pipe would wait for the end of
    // the machine.
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    become(argv.data(), null, file, file);
  }
  ::close(null), ::close(file);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool on_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

}   // namespace kedge::provisioning
