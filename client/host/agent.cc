// Listens and forks.
#include "client/host/agent.h"

#include <fmt/core.h>
#include <netdb.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>
#include <system_error>

#include "client/host/session.h"
#include "schemas/error.h"

namespace kedge::host {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr int kLook_ms = 200;
constexpr std::size_t kMostConnections = 64;

volatile std::sig_atomic_t must_stop = 0;

Allowed files_of(const std::vector<std::string>& programs) {
  Allowed files;
  for (const std::string& program : programs) {
    const std::string file = program_file(program);
    if (file.empty())
      throw Error(ErrorCode::kNotFound, fmt::format("the program {} that --allow names is not there", program));
    files.insert(file);
  }
  return files;
}

Error cannot_listen(const AgentOptions& options, const char* why) {
  return {ErrorCode::kUnavailable, fmt::format("cannot listen at {}:{}: {}", options.address, options.port, why)};
}

int listen_at(const AgentOptions& options) {
  const addrinfo wanted{.ai_flags = AI_PASSIVE | AI_NUMERICHOST, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(options.address.c_str(), std::to_string(options.port).c_str(), &wanted, &found);
  if (code != 0) throw cannot_listen(options, ::gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  if (fd >= 0 && ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
      ::bind(fd, found->ai_addr, found->ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0)
    return fd;
  const std::string why = std::generic_category().message(errno);
  if (fd >= 0) ::close(fd);
  throw cannot_listen(options, why.c_str());
}

// ADDRESS:PORT, as the system chose it.
std::string place_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  return address.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

// When an agent of a rented machine is no longer wanted.
class Ends {
 public:
  explicit Ends(const AgentOptions& options) : idle_(options.idle_end), life_(options.life_end) {}

  // Why it ends now; empty: it does not.
  std::string reason(bool has_connections) {
    const auto now = Clock::now();
    if (has_connections) used_ = now;
    if (idle_ > idle_.zero() && now - used_ >= idle_) return fmt::format("no connection for {} s", idle_.count());
    if (life_ > life_.zero() && now - begun_ >= life_) return fmt::format("its life of {} s is over", life_.count());
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;

  const std::chrono::seconds idle_, life_;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point used_ = begun_;
};

class Connections {
 public:
  Connections(const HostKey& key, Allowed allowed) : key_(key), allowed_(std::move(allowed)) {}

  void accept_at(int listener) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const pid_t child = processes_.size() < kMostConnections ? ::fork() : -1;
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      ::close(listener);
      serve_connection(fd, key_, allowed_);
      ::_exit(0);
    }
    ::close(fd);
    if (child > 0) processes_.insert(child);
    else fmt::print(stderr, "kedge host-agent: a connection was closed: {} are open\n", processes_.size());
  }
  bool any() const { return !processes_.empty(); }
  void forget_ended() {
    for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) processes_.erase(pid);
  }
  void end() {
    for (const pid_t pid : processes_) ::kill(pid, SIGTERM);
    for (const pid_t pid : processes_)
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
  }

 private:
  const HostKey& key_;
  const Allowed allowed_;
  std::set<pid_t> processes_;
};

}   // namespace

int run_agent(const AgentOptions& options) {
  Connections connections(options.key, files_of(options.allowed));
  const int listener = listen_at(options);
  for (const int number : {SIGTERM, SIGINT}) ::signal(number, [](int) { must_stop = 1; });
  fmt::print("kedge host-agent: listening at {}\n", place_of(listener));
  std::fflush(stdout);
  Ends ends(options);
  std::string why;
  while (must_stop == 0 && why.empty()) {
    pollfd wait{.fd = listener, .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, kLook_ms);
    if (wait.revents != 0) connections.accept_at(listener);
    connections.forget_ended();
    why = ends.reason(connections.any());
  }
  if (!why.empty()) fmt::print(stderr, "kedge host-agent: ends: {}\n", why);
  ::close(listener);
  connections.end();
  return 0;
}

}   // namespace kedge::host
