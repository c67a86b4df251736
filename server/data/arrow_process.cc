// Starts kedge-arrow, and tells how it ended.
#include "server/data/arrow_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/disk_error.h"
#include "engine/core/require.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
using engine::ArrowMessage;
using engine::ArrowSays;
using engine::require;
using schema::Error;
using schema::ErrorCode;

constexpr int kChannelFd = 3;
constexpr std::int64_t kMemory = std::int64_t{2} << 30;   // of the process, beside the two files
constexpr int kPatience = 100;                            // times 10 ms
constexpr int kLoaderFailed = 127;                        // the exit code of ld.so

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> process_environment() {
  std::vector<std::string> kept{"ARROW_DEFAULT_MEMORY_POOL=system"};
  constexpr std::array<std::string_view, 4> kFamilies{"LD_LIBRARY_PATH=", "ASAN_", "UBSAN_", "TSAN_"};
  for (char** variable = environ; *variable; ++variable)
    if (std::ranges::any_of(kFamilies,
                            [&](std::string_view name) { return std::string_view(*variable).starts_with(name); }))
      kept.emplace_back(*variable);
  return kept;
}

struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnSetup(int input, int channel) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, channel, kChannelFd);
    posix_spawn_file_actions_addclosefrom_np(&actions, kChannelFd + 1);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

}   // namespace

fs::path arrow_program() {
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown).parent_path() / kArrowProgram;
  return ::access(program.c_str(), X_OK) == 0 ? program : fs::path();
}

OpenedFile::OpenedFile(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
  if (fd_ < 0)
    throw Error(engine::disk_error(errno),
                fmt::format("{}: cannot be opened: {}", engine::shown(path), std::strerror(errno)));
}

OpenedFile::~OpenedFile() {
  ::close(fd_);
}

ArrowProcess::ArrowProcess(ArrowErrand errand, std::stop_token stop)
    : errand_(std::move(errand)), stop_(std::move(stop)) {
  const OpenedFile input(errand_.input, O_RDONLY);
  std::array<int, 2> sockets;
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0, ErrorCode::kUnavailable,
          "cannot make a socket pair: {}", std::strerror(errno));
  socket_ = sockets[0];
  std::vector<std::string> arguments{arrow_program().string(), std::to_string(kMemory),
                                     std::to_string(errand_.threads)},
      variables = process_environment();
  if (errand_.writes) arguments.emplace_back("write");
  std::vector<char*> argv = pointers(arguments), envp = pointers(variables);
  SpawnSetup setup(input.get(), sockets[1]);
  const int error = ::posix_spawn(&pid_, argv[0], &setup.actions, &setup.attributes, argv.data(), envp.data());
  ::close(sockets[1]);
  if (error != 0) {
    ::close(socket_);
    throw Error(ErrorCode::kUnavailable, fmt::format("cannot start {}: {}", kArrowProgram, std::strerror(error)));
  }
  end_it_.emplace(stop_, [this] { ::shutdown(socket_, SHUT_RDWR); });
}

ArrowProcess::~ArrowProcess() {
  end_it_.reset();
  end();
  ::close(socket_);
}

void ArrowProcess::end() {
  end_in_words();
}

// What has closed its channel has a moment to end by itself, so that its own signal is known.
std::string ArrowProcess::end_in_words() {
  if (pid_ <= 0) return {};
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < kPatience && has_closed_ && ended == 0; ++i) {
    ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (ended <= 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  lacks_libraries_ = WIFEXITED(status) && WEXITSTATUS(status) == kLoaderFailed;
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

void ArrowProcess::refuse() {
  if (stop_.stop_requested()) throw Error(ErrorCode::kCancelled, "the job was cancelled");
  has_closed_ = true;
  const std::string words = end_in_words();
  if (lacks_libraries_) throw errand_.lacks_libraries;
  throw Error(ErrorCode::kDatasetCorrupt,
              fmt::format("{}: the process that {} it ended with {}; the file is damaged, or needs more than {} "
                          "bytes of memory",
                          errand_.source, errand_.writes ? "writes" : "reads", words, kMemory));
}

void ArrowProcess::send(ArrowSays says, std::string_view body, int file) {
  if (engine::ArrowChannel(socket_).send(says, body, file)) return;
  receive();   // what it refuses it may say before all has come
  refuse();
}

ArrowMessage ArrowProcess::receive() {
  ArrowMessage message;
  if (!engine::ArrowChannel(socket_).receive(message)) refuse();
  if (message.says == ArrowSays::kRefused && !message.body.empty())
    throw Error(static_cast<ErrorCode>(message.body[0]), fmt::format("{}: {}", errand_.source, message.body.substr(1)));
  return message;
}

ArrowMessage ArrowProcess::receive(ArrowSays wanted) {
  ArrowMessage message = receive();
  if (message.says != wanted) refuse();
  return message;
}

}   // namespace kedge::server
