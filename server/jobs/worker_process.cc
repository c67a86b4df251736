// Child processes: see worker_process.h.
#include "server/jobs/worker_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/core/disk_error.h"
#include "engine/faults/fail_point.h"
#include "schemas/codec.h"
#include "server/jobs/child_environment.h"
#include "server/jobs/spawn_setup.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr int kChannelFd = 3;
constexpr timeval kStall{.tv_sec = 10, .tv_usec = 0};   // a worker that stops in the middle of a message is as good as dead
constexpr int kReportBytes = 1 << 20;                   // as far as the system allows: a report with a small model leaves in one go
constexpr int kRanksEndMs = 1'000;                      // for a launcher to end after its ranks have
constexpr int kRanksGraceMs = 3'000;                    // and to end them
constexpr int kListAttempts = 3;                        // a kill in passing must not leave the server without devices
constexpr int kListTimeoutMs = 60'000;                  // a cold CUDA driver takes seconds

std::string system_text(int error) {
  return std::generic_category().message(error);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// `passed_fd` becomes `as_fd` in the child; everything above the channel is closed.
pid_t spawn(std::vector<std::string> arguments, std::vector<std::string> variables, int passed_fd, int as_fd) {
  KEDGE_FAIL_POINT("worker.spawn.before");
  SpawnSetup setup;
  posix_spawn_file_actions_adddup2(&setup.actions, passed_fd, as_fd);
  if (as_fd != STDOUT_FILENO) posix_spawn_file_actions_adddup2(&setup.actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&setup.actions, as_fd == kChannelFd ? kChannelFd + 1 : kChannelFd);
  std::vector<char*> argv = pointers(arguments), envp = pointers(variables);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &setup.actions, &setup.attributes, argv.data(), envp.data());
  if (error != 0) throw Error(ErrorCode::kUnavailable, fmt::format("cannot start {}: {}", arguments[0], system_text(error)));
  KEDGE_FAIL_POINT("worker.spawn.after");
  return pid;
}

std::string describe(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

void set_stalls(int fd) {
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kStall, sizeof kStall);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kStall, sizeof kStall);
}

int open_pid(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));   // glibc 2.36 declares its own only for C
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Until the end of the stream. False when nothing came for too long.
bool read_to_end(int fd, std::string& text) {
  std::array<char, 4096> buffer;
  while (true) {
    pollfd poll_fd{.fd = fd, .events = POLLIN};
    const int ready = ::poll(&poll_fd, 1, kListTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size == 0) return true;
    if (size < 0 && errno != EINTR) return false;
    if (size > 0) text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

std::string run_list_devices(const std::filesystem::path& program, std::stop_token stop) {
  std::array<int, 2> pipe_fds;
  if (::pipe2(pipe_fds.data(), O_CLOEXEC) != 0)
    throw Error(ErrorCode::kUnavailable, fmt::format("cannot make a pipe: {}", system_text(errno)));
  std::string text;
  pid_t pid = -1;
  try {
    pid = spawn({program.string(), "--list-devices", "--json"}, clean_environment(), pipe_fds[1], STDOUT_FILENO);
  } catch (...) {
    ::close(pipe_fds[0]), ::close(pipe_fds[1]);
    throw;
  }
  ::close(pipe_fds[1]);
  bool complete = false;
  {
    const std::stop_callback kill_it(stop, [pid] { ::kill(-pid, SIGKILL); });   // ends the stream
    complete = read_to_end(pipe_fds[0], text);
  }
  ::close(pipe_fds[0]);
  if (!complete) ::kill(-pid, SIGKILL);
  const int status = wait_for(pid);
  if (!complete || status != 0)
    throw Error(ErrorCode::kUnavailable, fmt::format("{} --list-devices ended with {}", engine::shown(program), describe(status)));
  return text;
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerProgram& program, const std::string& device, std::stop_token stop) {
  if (device == kClusterId) start_ranks(program, std::move(stop));
  else start_worker(program, device);
}

void WorkerProcess::start_worker(const WorkerProgram& program, const std::string& device) {
  std::array<int, 2> sockets;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    throw Error(ErrorCode::kUnavailable, fmt::format("cannot make a socket pair: {}", system_text(errno)));
  channel_ = std::make_unique<engine::WorkerChannel>(sockets[0]);
  ::setsockopt(sockets[1], SOL_SOCKET, SO_SNDBUF, &kReportBytes, sizeof kReportBytes);
  set_stalls(sockets[0]);
  try {
    std::vector<std::string> variables = clean_environment();
    std::vector<std::string> arguments{program.file.string(), "--device", device};
    if (!program.temporary.empty()) {
      folder_ = std::make_unique<WorkerFolder>(program.temporary);
      variables.push_back("TMPDIR=" + folder_->path().string());
      arguments.push_back("--files=" + folder_->path().string());
    }
    if (program.memory_bytes > 0) arguments.push_back(fmt::format("--memory-limit={}", program.memory_bytes));
    if (program.log != "off") arguments.push_back("--log=" + program.log);
    pid_ = spawn(std::move(arguments), std::move(variables), sockets[1], kChannelFd);
  } catch (...) {
    ::close(sockets[1]);
    throw;
  }
  ::close(sockets[1]);
  pid_fd_ = open_pid(pid_);
}

void WorkerProcess::start_ranks(const WorkerProgram& program, std::stop_token stop) {
  socket_ = std::make_unique<RankSocket>();
  if (!program.temporary.empty()) folder_ = std::make_unique<WorkerFolder>(program.temporary);
  std::vector<std::string> variables = launcher_environment();
  variables.push_back("KEDGE_CHANNEL_TOKEN=" + socket_->token());
  std::vector<std::string> worker{program.file.string(), "--channel", "unix:" + socket_->path().string(), "--device",
                                  program.cluster.device};
  if (program.log != "off") worker.push_back("--log=" + program.log);
  pid_ = spawn(launch_arguments(program.cluster, worker), std::move(variables), STDERR_FILENO, STDOUT_FILENO);
  pid_fd_ = open_pid(pid_);
  try {
    const int first = socket_->accept(pid_fd_, std::move(stop));
    set_stalls(first);
    channel_ = std::make_unique<engine::WorkerChannel>(first);
  } catch (...) {   // without an object there is no destructor
    end();
    if (pid_fd_ >= 0) ::close(pid_fd_);
    throw;
  }
}

// The first rank ends with its channel and the others with it; the launcher ends what does not, such as a rank that is
// stopped.
void WorkerProcess::end_ranks() noexcept {
  if (channel_) channel_->shutdown();
  pollfd ended{.fd = pid_fd_, .events = POLLIN, .revents = 0};
  if (::poll(&ended, 1, kRanksEndMs) > 0) return;   // Open MPI 4.1 crashes at a SIGTERM while it ends by itself
  ::kill(pid_, SIGTERM);
  ::poll(&ended, 1, kRanksGraceMs);
}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) end();
  if (pid_fd_ >= 0) ::close(pid_fd_);
}

WorkerProcess::Outgoing WorkerProcess::prepare(schema::WorkerCommand& command) {
  if (auto* run = std::get_if<schema::RunCommand>(&command.body); run && folder_) folder_->redirect(*run);
  return Outgoing(command, socket_ ? FilesToLend::How::kByPath : FilesToLend::How::kOpen);
}

bool WorkerProcess::send(const Outgoing& outgoing, engine::WorkerChannel::When when) {
  constexpr std::uint32_t kMost = engine::WorkerChannel::kMaxMessageBytes;
  if (outgoing.bytes.size() > kMost)
    throw Error(ErrorCode::kBodyTooLarge, fmt::format("the job has {} bytes, at most {} pass between server and worker", outgoing.bytes.size(), kMost));
  return channel_->send_encoded(outgoing.bytes, when, outgoing.files.descriptors());
}

std::string WorkerProcess::end() {
  if (pid_ <= 0) return "has ended";
  KEDGE_FAIL_POINT("worker.reap.before");
  if (socket_) end_ranks();
  ::kill(-pid_, SIGKILL);   // what has ended by itself keeps its own status
  const int status = wait_for(std::exchange(pid_, -1));
  KEDGE_FAIL_POINT("worker.reap.after");
  if (socket_) end_leftovers(socket_->token());
  return describe(status);
}

schema::DeviceList list_devices(const std::filesystem::path& program, std::stop_token stop) {
  std::string failure;
  for (int attempt = 0; attempt < kListAttempts && !stop.stop_requested(); ++attempt) {
    try {
      return schema::from_json<schema::DeviceList>(run_list_devices(program, stop));
    } catch (const Error& error) {
      failure = error.message;
    }
  }
  return {.devices = {{.id = "cpu", .missing = failure}, {.id = "cuda", .missing = failure}}};
}

}  // namespace kedge::server
