// A raw HTTP client for tests: sends given bytes, reads answers with a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace kedge::tests {

struct HttpReply {
  int status = 0;                                  // 0: the connection ended before a complete answer
  std::string head;                                // status line and fields
  std::string body;                                // without chunk framing
  std::string field(std::string_view name) const;  // empty if absent
};

// One connection to loopback. Not thread safe. Reading gives up after `patience`, which no passing test comes
// near.
class HttpConnection {
 public:
  explicit HttpConnection(std::uint16_t port, std::chrono::milliseconds patience = std::chrono::seconds(20));
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // False if the other side does not take it all.
  bool send(std::string_view bytes);
  HttpReply read_reply(bool without_body = false);
  HttpReply get(std::string_view target, std::string_view more_fields = {});
  HttpReply request(std::string_view method, std::string_view target, std::string_view body = {},
                    std::string_view more_fields = {});

  std::string read_head();                       // up to and with the empty line
  std::string read_until(std::string_view end);  // up to and with `end`; shorter if the connection ends
  bool ended();  // waits: true when the other side has closed and nothing is left to read
  void close();

 private:
  bool fill();
  std::string take(std::size_t n);

  int fd_ = -1;
  std::chrono::milliseconds patience_;
  std::string in_;
};

}  // namespace kedge::tests
