// Asks a server again and again over connections that stay open: ask_load HOST PORT CLIENTS SECONDS PATH CONTENT_TYPE
// BODY [ROWS] Each client sends its next request when it has the answer to the one before. Prints latencies and rates
// as JSON.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Client {
  int fd = -1;
  std::string in;
  Clock::time_point sent;
};

int connected(const char* host, int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<std::uint16_t>(port))};
  ::inet_pton(AF_INET, host, &address.sin_addr);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("no connection");
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void send_all(Client& client, std::string_view request) {
  client.sent = Clock::now();
  while (!request.empty()) {
    const ssize_t sent = ::send(client.fd, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("the connection broke");
    request.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// The status of the answer once all of it has come; 0: not yet.
int finished(const Client& client) {
  const std::size_t end = client.in.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  const std::size_t field = std::min(client.in.find("Content-Length: "), client.in.find("content-length: "));
  if (field == std::string::npos || field > end) throw std::runtime_error("an answer has no length");
  const std::size_t length = std::strtoul(client.in.c_str() + field + 16, nullptr, 10);
  return client.in.size() < end + 4 + length ? 0 : std::atoi(client.in.c_str() + 9);
}

double at(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

}   // namespace

int main(int argc, char** argv) {
  if (argc < 8)
    return fmt::print(stderr, "usage: ask_load HOST PORT CLIENTS SECONDS PATH CONTENT_TYPE BODY [ROWS]\n"), 64;
  const std::size_t n = std::strtoul(argv[3], nullptr, 10);
  const double seconds = std::strtod(argv[4], nullptr), rows = argc > 8 ? std::strtod(argv[8], nullptr) : 1;
  const std::string body = argv[7];
  const std::string request =
      fmt::format("POST {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}", argv[5],
                  argv[1], argv[2], argv[6], body.size(), body);
  const int poller = ::epoll_create1(0);
  std::vector<Client> clients(n);
  for (std::size_t i = 0; i < n; ++i) {
    clients[i].fd = connected(argv[1], std::atoi(argv[2]));
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    ::epoll_ctl(poller, EPOLL_CTL_ADD, clients[i].fd, &event);
    send_all(clients[i], request);
  }
  const Clock::time_point warm = Clock::now() + std::chrono::milliseconds(500), start = warm;
  const Clock::time_point end = start + std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
  std::vector<double> took;
  std::size_t errors = 0;
  std::array<epoll_event, 64> events{};
  std::array<char, 16384> buffer{};
  for (Clock::time_point now = Clock::now(); now < end;) {
    const int ready = ::epoll_wait(poller, events.data(), events.size(), 1000);
    now = Clock::now();
    for (int e = 0; e < ready; ++e) {
      Client& client = clients[events[static_cast<std::size_t>(e)].data.u64];
      const ssize_t got = ::recv(client.fd, buffer.data(), buffer.size(), 0);
      if (got <= 0) return fmt::print(stderr, "the server closed a connection\n"), 1;
      client.in.append(buffer.data(), static_cast<std::size_t>(got));
      const int status = finished(client);
      if (status == 0) continue;
      if (status != 200 && ++errors == 1) fmt::print(stderr, "{}\n", client.in);
      if (client.sent >= warm) took.push_back(std::chrono::duration<double, std::milli>(now - client.sent).count());
      client.in.clear();
      send_all(client, request);
    }
  }
  if (took.empty()) return fmt::print(stderr, "no answer\n"), 1;
  std::sort(took.begin(), took.end());
  fmt::print(
      "{{\"clients\": {}, \"requests\": {}, \"errors\": {}, \"per_s\": {:.0f}, \"rows_per_s\": {:.0f}, \"p50_ms\": {:.3f}, \"p99_ms\": {:.3f}}}\n",
      n, took.size(), errors, static_cast<double>(took.size()) / seconds,
      rows * static_cast<double>(took.size()) / seconds, at(took, 0.5), at(took, 0.99));
  return errors == 0 ? 0 : 1;
}
