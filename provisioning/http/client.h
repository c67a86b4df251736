// HTTP calls to providers and to new servers. libcurl is used in curl_client.cc alone.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "provisioning/clock.h"

namespace kedge::provisioning::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "GET";
  std::string url;  // http or https
  Headers headers;
  std::string body;
  std::chrono::seconds timeout{60};
  std::string pin;  // SHA-256 of the only certificate that will do; empty: one that the system trusts
  bool any_certificate = false;   // for calls where any server may answer
};

struct Response {
  long status = 0;
  std::string body;
  Headers headers;                                  // names in lower case
  std::string header(std::string_view name) const;  // empty when absent
};

// send() returns every status as it is. No answer is ProviderError{kRetryLater}; maybe_done unless nothing was sent. A
// GET ends with schema::Error{kCancelled} after a Ctrl-C (interrupt.h).
class Client {
 public:
  virtual ~Client() = default;
  virtual Response send(const Request& request) = 0;
};

class CurlClient final : public Client {
 public:
  Response send(const Request& request) override;
};

// Repeats what can be repeated: GET and DELETE after 429, 5xx and broken connections, other methods after 429 alone. Waits
// as Retry-After says, or 1 s doubling, at most kMaxWait each.
class RetryingClient final : public Client {
 public:
  static constexpr int kTries = 5;
  static constexpr std::chrono::seconds kMaxWait{30};
  RetryingClient(Client& inner, Clock& clock) : inner_(inner), clock_(clock) {}  // both outlive this
  Response send(const Request& request) override;

 private:
  Client& inner_;
  Clock& clock_;
};

// Unix seconds of a Date header (RFC 9110, the form that is sent today), or -1.
std::int64_t parse_date(const std::string& text);
std::string url_encode(std::string_view text);  // all but A-Z a-z 0-9 - _ . ~
std::string form_encode(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace kedge::provisioning::http
