// The lines between the first rank of a group and the others: see rank_lines.h.
#include "engine/worker/rank_lines.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

#include "engine/comm/bytes.h"

namespace kedge::engine {
namespace {

using Clock = std::chrono::steady_clock;
using schema::Error;
using schema::ErrorCode;

constexpr std::chrono::milliseconds kSignInterval{1000};
constexpr int kConnectSeconds = 5, kAcceptMs = 10'000;
constexpr std::size_t kTokenBytes = 32;

std::string system_text() {
  return std::generic_category().message(errno);
}

// Addresses of RFC 1918, of link-local networks and of carriers' NAT (RFC 6598), which clouds give to private networks.
bool is_private(std::uint32_t address) {
  const auto in = [&](std::uint32_t net, int bits) { return address >> (32 - bits) == net >> (32 - bits); };
  return in(0x0a000000, 8) || in(0xac100000, 12) || in(0xc0a80000, 16) || in(0x64400000, 10) || in(0xa9fe0000, 16);
}

std::vector<std::uint32_t> private_addresses() {
  std::vector<std::uint32_t> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* entry = all; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET) continue;
    const std::uint32_t address = ntohl(reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr.s_addr);
    if (is_private(address)) found.push_back(address);
  }
  ::freeifaddrs(all);
  return found;
}

sockaddr_in socket_address(std::uint32_t address, std::uint16_t port) {
  return {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {.s_addr = htonl(address)}, .sin_zero = {}};
}

// A port of the system's choice; 0: none. The socket is added to `sockets`.
std::uint16_t listen_on(std::uint32_t address, std::vector<int>& sockets) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in bound = socket_address(address, 0);
  socklen_t size = sizeof bound;
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&bound), size) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    if (fd >= 0) ::close(fd);
    return 0;
  }
  sockets.push_back(fd);
  return ntohs(bound.sin_port);
}

bool send_bytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void set_waits(int fd, int seconds) {
  const timeval time{.tv_sec = seconds, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);   // of connect(), too
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

void send_signs_at_once(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string random_token() {
  std::string token(kTokenBytes, '\0');
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size()))
    throw Error(ErrorCode::kUnavailable, fmt::format("no random numbers: {}", system_text()));
  return token;
}

// Where the first rank listens, and what a caller must say.
struct Meeting {
  std::string token;
  std::vector<std::uint32_t> addresses;
  std::vector<std::int32_t> ports;
  std::string failure;   // why there is none
};

std::vector<std::byte> encoded(const Meeting& meeting) {
  ByteWriter out;
  out.text(meeting.token), out.numbers(meeting.addresses), out.numbers(meeting.ports), out.text(meeting.failure);
  return out.take();
}

Meeting decoded(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  Meeting meeting;
  meeting.token = in.text(), meeting.addresses = in.numbers<std::uint32_t>(),
  meeting.ports = in.numbers<std::int32_t>(), meeting.failure = in.text();
  return meeting;
}

Meeting open_meeting(bool is_one_place, std::vector<int>& listeners) {
  Meeting meeting{.token = random_token(), .addresses = {}, .ports = {}, .failure = {}};
  const std::vector<std::uint32_t> addresses =
      is_one_place ? std::vector<std::uint32_t>{INADDR_LOOPBACK} : private_addresses();
  for (const std::uint32_t address : addresses) {
    const std::uint16_t port = listen_on(address, listeners);
    if (port == 0) continue;
    meeting.addresses.push_back(address);
    meeting.ports.push_back(port);
  }
  if (listeners.empty()) {
    meeting.failure =
        addresses.empty()
            ? "the ranks are on several machines, and the first has no address in a private network (10/8, 172.16/12, "
              "192.168/16, 100.64/10, 169.254/16)"
            : "the first rank cannot listen: " + system_text();
  }
  return meeting;
}

int connect_to(const Meeting& meeting, std::string& failure) {
  for (std::size_t i = 0; i < meeting.addresses.size(); ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) break;
    set_waits(fd, kConnectSeconds);
    const sockaddr_in to = socket_address(meeting.addresses[i], static_cast<std::uint16_t>(meeting.ports[i]));
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 && send_bytes(fd, meeting.token))
      return fd;
    failure = system_text();
    ::close(fd);
  }
  return -1;
}

// One that says the token; -1: another caller.
int accept_one(int listener, const std::string& token) {
  const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return -1;
  set_waits(fd, kConnectSeconds);
  std::string said(token.size(), '\0');
  if (::recv(fd, said.data(), said.size(), MSG_WAITALL) == static_cast<ssize_t>(said.size()) && said == token)
    return fd;
  ::close(fd);
  return -1;
}

}   // namespace

void leave_group(const char* why) {
  fmt::print(stderr, "kedge-worker: this rank ends: {}\n", why);
  std::fflush(stderr);
  std::_Exit(EXIT_FAILURE);
}

void RankLines::accept_all(const std::vector<int>& listeners, int n_others, const std::string& token) {
  const Clock::time_point until = Clock::now() + std::chrono::milliseconds(kAcceptMs);
  std::vector<pollfd> fds;
  for (const int listener : listeners) fds.push_back({.fd = listener, .events = POLLIN, .revents = 0});
  while (static_cast<int>(lines_.size()) < n_others && Clock::now() < until) {
    if (::poll(fds.data(), fds.size(), 100) <= 0) continue;
    for (const pollfd& fd : fds) {
      if (fd.revents == 0) continue;
      if (const int line = accept_one(fd.fd, token); line >= 0) lines_.push_back(line);
    }
  }
  for (const int listener : listeners) ::close(listener);
}

RankLines::RankLines(Comm& comm, const std::string& place, std::chrono::milliseconds silence) : silence_(silence) {
  const PartedBytes places = comm.all_gather(std::as_bytes(std::span(place)));
  bool is_one_place = true;
  for (int r = 1; r < places.size(); ++r) is_one_place &= std::ranges::equal(places.part(r), places.part(0));
  std::vector<int> listeners;
  Meeting meeting;
  if (comm.rank() == 0) meeting = open_meeting(is_one_place, listeners);
  meeting = decoded(comm.all_gather(comm.rank() == 0 ? encoded(meeting) : std::vector<std::byte>()).part(0));
  std::string failure = meeting.failure;
  if (failure.empty() && comm.rank() > 0) {
    const int line = connect_to(meeting, failure);
    if (line >= 0) lines_.push_back(line);
  } else if (failure.empty()) {
    accept_all(listeners, comm.size() - 1, meeting.token);
  }
  const bool is_whole = static_cast<int>(lines_.size()) == (comm.rank() == 0 ? comm.size() - 1 : 1);
  if (!is_whole && failure.empty()) failure = "the others did not call";
  const std::string said =
      is_whole ? std::string() : fmt::format("the line between rank {} and the first: {}", comm.rank(), failure);
  const PartedBytes all = comm.all_gather(std::as_bytes(std::span(said)));
  for (int r = 0; r < all.size(); ++r) {
    const std::span<const std::byte> words = all.part(r);
    if (!words.empty())
      throw Error(ErrorCode::kUnavailable, std::string(reinterpret_cast<const char*>(words.data()), words.size()));
  }
  for (const int line : lines_) send_signs_at_once(line);
  if (!lines_.empty()) std::thread([this] { watch(); }).detach();
}

void RankLines::send_all(char what) {
  for (const int line : lines_)
    if (!send_bytes(line, {&what, 1}) && !is_ending_) leave_group("a rank of the group has gone");
}

std::stop_token RankLines::wait_for_wake() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return woken_ > taken_; });
  ++taken_;
  return stop_.get_token();
}

void RankLines::receive(int line) {
  std::array<char, 256> bytes;
  const ssize_t size = ::recv(line, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0 && is_ending_) return;
  if (size <= 0) leave_group("a rank of the group has gone");
  const std::lock_guard lock(mutex_);
  for (ssize_t i = 0; i < size; ++i) {
    if (bytes[static_cast<std::size_t>(i)] == 'W') ++woken_, stop_ = std::stop_source();
    if (bytes[static_cast<std::size_t>(i)] == 'C') stop_.request_stop();
  }
  changed_.notify_all();
}

// Time in which this process did not run itself is no silence of the others.
void RankLines::watch() {
  std::vector<Clock::duration> silent(lines_.size());
  std::vector<pollfd> fds;
  for (const int line : lines_) fds.push_back({.fd = line, .events = POLLIN, .revents = 0});
  Clock::time_point next_sign = Clock::now();
  while (!is_ending_) {
    const Clock::time_point begin = Clock::now();
    if (begin >= next_sign) send_all('L'), next_sign = begin + kSignInterval;
    ::poll(fds.data(), fds.size(), 200);
    const Clock::duration passed = std::min<Clock::duration>(Clock::now() - begin, std::chrono::seconds(1));
    for (std::size_t i = 0; i < fds.size(); ++i) {
      silent[i] += passed;
      if (fds[i].revents != 0) receive(fds[i].fd), silent[i] = {};
      if (silent[i] >= silence_ && !is_ending_) leave_group("a rank of the group is silent");
    }
  }
}

}   // namespace kedge::engine
