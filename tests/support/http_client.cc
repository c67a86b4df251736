// A raw HTTP client for tests, on blocking sockets.
#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace kedge::tests {

std::string HttpReply::field(std::string_view name) const {
  for (std::size_t line = head.find("\r\n"); line != std::string::npos && line + 2 < head.size();
       line = head.find("\r\n", line + 2)) {
    const std::size_t start = line + 2, colon = head.find(':', start);
    if (colon == std::string::npos) break;
    if (colon - start == name.size() && ::strncasecmp(head.data() + start, name.data(), name.size()) == 0) {
      const std::size_t value = head.find_first_not_of(' ', colon + 1);
      return head.substr(value, head.find("\r\n", value) - value);
    }
  }
  return {};
}

HttpConnection::HttpConnection(std::uint16_t port, std::chrono::milliseconds patience)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), patience_(patience) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect");
}

HttpConnection::~HttpConnection() {
  close();
}

void HttpConnection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool HttpConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd ready{fd_, POLLOUT, 0};
    if (::poll(&ready, 1, static_cast<int>(patience_.count())) <= 0) return false;
    const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool HttpConnection::fill() {
  pollfd ready{fd_, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(patience_.count())) <= 0)
    throw std::runtime_error("no answer in time; so far: " + in_.substr(0, 500));
  char buffer[16 * 1024];
  const auto n = ::recv(fd_, buffer, sizeof buffer, 0);
  if (n <= 0) return false;
  in_.append(buffer, static_cast<std::size_t>(n));
  return true;
}

std::string HttpConnection::take(std::size_t n) {
  std::string out = in_.substr(0, n);
  in_.erase(0, n);
  return out;
}

std::string HttpConnection::read_until(std::string_view end) {
  std::size_t found;
  while ((found = in_.find(end)) == std::string::npos)
    if (!fill()) return take(in_.size());
  return take(found + end.size());
}

std::string HttpConnection::read_head() {
  return read_until("\r\n\r\n");
}

bool HttpConnection::ended() {
  return in_.empty() && !fill();
}

HttpReply HttpConnection::read_reply(bool without_body) {
  HttpReply reply;
  reply.head = read_head();
  if (!reply.head.starts_with("HTTP/1.1 ")) return reply;
  const int status = std::stoi(reply.head.substr(9, 3));
  if (without_body || status == 204 || status == 100) {
    reply.status = status;
    return reply;
  }
  if (reply.field("Transfer-Encoding") == "chunked") {
    while (true) {
      const std::string line = read_until("\r\n");
      const std::size_t size = line.empty() ? 0 : std::stoul(line, nullptr, 16);
      while (in_.size() < size + 2)
        if (!fill()) return reply;
      reply.body += take(size);
      take(2);
      if (size == 0) break;
    }
  } else {
    const std::size_t size = std::stoul(reply.field("Content-Length"));
    while (in_.size() < size)
      if (!fill()) return reply;
    reply.body = take(size);
  }
  reply.status = status;
  return reply;
}

HttpReply HttpConnection::get(std::string_view target, std::string_view more_fields) {
  return request("GET", target, {}, more_fields);
}

HttpReply HttpConnection::request(std::string_view method, std::string_view target, std::string_view body,
                                  std::string_view more_fields) {
  std::string bytes = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" +
                      std::string(more_fields);
  if (!body.empty()) bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  send(bytes + "\r\n" + std::string(body));
  return read_reply(method == "HEAD");
}

}  // namespace kedge::tests
