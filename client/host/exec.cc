// The caller's side of host-exec.
#include "client/host/exec.h"

#include <fmt/core.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <system_error>

#include "client/host/link.h"
#include "schemas/error.h"

namespace kedge::host {
namespace {

using schema::Error;
using schema::ErrorCode;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kConnectLimit{10};
constexpr int kLook_ms = 500;

std::string place_of(const RemoteCommand& command) {
  return fmt::format("{}:{}", command.host, command.port);
}

// Errors: the system's number.
std::optional<int> connected(const addrinfo& address, int& why) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{.tv_sec = kConnectLimit.count(), .tv_usec = 0};   // of connect(), too
  if (fd >= 0 && ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
      ::connect(fd, address.ai_addr, address.ai_addrlen) == 0)
    return fd;
  why = errno == EINPROGRESS ? ETIMEDOUT : errno;
  if (fd >= 0) ::close(fd);
  return std::nullopt;
}

int connect_to(const RemoteCommand& command) {
  const addrinfo wanted{.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(command.host.c_str(), std::to_string(command.port).c_str(), &wanted, &found);
  if (code != 0) throw Error(ErrorCode::kConnection, fmt::format("host {}: {}", command.host, ::gai_strerror(code)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  int why = 0;
  for (const addrinfo* next = found; next; next = next->ai_next)
    if (const auto fd = connected(*next, why)) return *fd;
  throw Error(ErrorCode::kConnection,
              fmt::format("no `kedge host-agent` at {}: {}", place_of(command), std::generic_category().message(why)));
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    else if (n < 0 && errno != EINTR) return;   // the reader is gone; the command goes on
  }
}

class Caller {
 public:
  Caller(const RemoteCommand& command, const HostKey& key)
      : place_(place_of(command)), link_(crypto::TlsChannel::connecting(connect_to(command), key.fingerprint)) {
    std::vector<std::string> said{key.token};
    said.insert(said.end(), command.words.begin(), command.words.end());
    link_.send(FrameKind::kCommand, joined(said));
  }

  int run() {
    for (;;) {
      link_.step();
      while (const std::optional<Frame> frame = link_.next())
        if (const auto status = take(*frame)) return *status;
      check();
      wait();
    }
  }

 private:
  std::optional<int> take(const Frame& frame) {
    switch (frame.kind) {
      case FrameKind::kOutput:
        write_all(STDOUT_FILENO, frame.bytes);
        break;
      case FrameKind::kErrors:
        write_all(STDERR_FILENO, frame.bytes);
        break;
      case FrameKind::kRefusal:
        throw Error(ErrorCode::kForbidden, fmt::format("{}: {}", place_, frame.bytes));
      case FrameKind::kExit:
        return frame.bytes.empty() ? 1 : static_cast<unsigned char>(frame.bytes[0]);
      default:
        break;
    }
    return std::nullopt;
  }

  void check() const {
    const crypto::TlsChannel& channel = link_.channel();
    if (!channel.refused().empty())
      throw Error(ErrorCode::kConnection, fmt::format("{} shows a certificate with the SHA-256 {}, which is not the "
                                                      "key's: the hosts have different keys",
                                                      place_, channel.refused()));
    const bool is_late = !channel.is_ready() && Clock::now() - begin_ > kConnectLimit;
    if (link_.is_cut() || is_late)
      throw Error(ErrorCode::kConnection,
                  fmt::format("the connection to {} {}: {}", place_, channel.is_ready() ? "was lost" : "was not made",
                              channel.problem().empty() ? "no answer" : channel.problem()));
  }

  void wait() {
    const bool reads = reads_ && link_.channel().is_ready() && !link_.is_full();
    std::array<pollfd, 2> fds{{{.fd = link_.channel().fd(), .events = link_.channel().events(), .revents = 0},
                               {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}}};
    ::poll(fds.data(), fds.size(), link_.channel().has_more() ? 0 : kLook_ms);
    if (fds[1].revents == 0) return;
    std::array<char, 65536> buffer;
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) return;
    link_.send(FrameKind::kInput, {buffer.data(), static_cast<std::size_t>(n > 0 ? n : 0)});
    reads_ = n > 0;
  }

  const std::string place_;
  const Clock::time_point begin_ = Clock::now();
  Link link_;
  bool reads_ = true;   // stdin has not ended
};

}   // namespace

int run_remotely(const RemoteCommand& command, const HostKey& key) {
  ::signal(SIGPIPE, SIG_IGN);
  return Caller(command, key).run();
}

}   // namespace kedge::host
