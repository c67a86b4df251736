// Decides which caller may call what, from the header block alone.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <string_view>

#include "server/http/message.h"

namespace kedge::server::http {

// Called on the loop's thread, before a body is read; must not block.
class Gatekeeper {
 public:
  virtual ~Gatekeeper() = default;
  // `certificate` is the name in the client's certificate, empty without one. Throws schema::Error: kUnauthenticated,
  // kForbidden, kTooManyRequests (schema::QuotaExceeded). Caller::rate is sent in each answer.
  virtual Caller admit(const Request& request, const net::ip::address& peer, std::string_view certificate, Access needed) = 0;
  // False once the token was revoked or has expired: requests in progress are ended then.
  virtual bool still_valid(const Caller& caller) = 0;
};

}  // namespace kedge::server::http
