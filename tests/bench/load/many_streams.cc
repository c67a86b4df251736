// Thousands of event streams read by one thread: see many_streams.h.
#include "tests/bench/load/many_streams.h"

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string_view>

namespace kedge::load {
namespace {

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Of "2026-01-02T03:04:05.678Z".
std::int64_t to_ms(const std::string& text) {
  std::tm tm{};
  int ms = 0;
  if (std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%d.%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec,
                  &ms) != 7)
    throw std::runtime_error("an event without a time");
  tm.tm_year -= 1900, tm.tm_mon -= 1;
  return std::int64_t{1000} * timegm(&tm) + ms;
}

}  // namespace

ManyStreams::ManyStreams(std::uint16_t port) : port_(port), poll_fd_(::epoll_create1(EPOLL_CLOEXEC)) {}

ManyStreams::~ManyStreams() {
  for (const Stream& stream : streams_)
    if (stream.fd >= 0) ::close(stream.fd);
  ::close(poll_fd_);
}

void ManyStreams::open(const std::string& path) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(port_), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect: raise the limit of open files");
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    throw std::runtime_error("cannot send");
  epoll_event event{.events = EPOLLIN, .data = {.u64 = streams_.size()}};
  ::epoll_ctl(poll_fd_, EPOLL_CTL_ADD, fd, &event);
  streams_.push_back({.fd = fd});
}

void ManyStreams::read_for(std::chrono::milliseconds time) {
  std::array<epoll_event, 256> events;
  for (const std::int64_t until = now_ms() + time.count(); now_ms() < until;) {
    const int count = ::epoll_wait(poll_fd_, events.data(), static_cast<int>(events.size()), 20);
    for (int i = 0; i < count; ++i) receive(streams_[events[static_cast<std::size_t>(i)].data.u64]);
  }
}

void ManyStreams::receive(Stream& stream) {
  std::array<char, 16 * 1024> buffer;
  const ssize_t size = ::recv(stream.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0 && errno == EAGAIN) return;
  if (size <= 0) {
    ::close(stream.fd);
    stream.fd = -1;
    return;
  }
  stream.rest.append(buffer.data(), static_cast<std::size_t>(size));
  std::size_t begin = 0;
  for (std::size_t end; (end = stream.rest.find('\n', begin)) != std::string::npos; begin = end + 1)
    line(stream, std::string_view(stream.rest).substr(begin, end - begin));
  stream.rest.erase(0, begin);
}

void ManyStreams::line(Stream& stream, std::string_view text) {
  if (text.starts_with("id: ")) {
    const std::int64_t id = std::atoll(text.data() + 4);
    if (id != stream.last_id + 1) ++out_of_order_;
    stream.last_id = id;
  }
  const std::size_t time = text.find("\"time\":\"");
  if (!measuring_ || !text.starts_with("data: ") || time == std::string_view::npos) return;
  ++stream.events;
  lags_ms_.push_back(now_ms() - to_ms(std::string(text.substr(time + 8, 24))));
}

void ManyStreams::begin_measuring() {
  measuring_ = true;
}

Measured ManyStreams::measured() const {
  Measured m{.out_of_order = out_of_order_};
  std::vector<std::int64_t> lags = lags_ms_;
  std::ranges::sort(lags);
  const auto at = [&](double share) {
    return lags.empty() ? 0 : lags[static_cast<std::size_t>(share * static_cast<double>(lags.size() - 1))];
  };
  m.events = static_cast<std::int64_t>(lags.size());
  m.p50_ms = at(0.5), m.p99_ms = at(0.99), m.worst_ms = at(1);
  for (const Stream& stream : streams_) m.open += stream.fd >= 0;
  if (streams_.empty()) return m;
  const auto [fewest, most] = std::ranges::minmax(streams_, {}, &Stream::events);
  m.fewest = fewest.events, m.most = most.events;
  return m;
}

}  // namespace kedge::load
