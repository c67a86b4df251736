// Which addresses the server may fetch from: public ones, and those that the operator allowed.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

// Name and address are checked separately: a name (or name:port) that the operator allowed may have any address; any
// other may have public addresses and allowed ranges only. The check is made on the address that is really connected
// to, so a name that changes its address between two look-ups gains nothing.
class AddressRules {
 public:
  // allow: "host", "host:port", "address" or "range/bits". trusted_url: its host and port are allowed, and nothing else on
  // that host. Errors: kInvalidValue for an entry that is none of these.
  AddressRules(const std::vector<std::string>& allow, const std::string& trusted_url);

  bool allows_name(const std::string& host, int port) const;
  bool allows_address(const sockaddr& address) const;

 private:
  struct Range {   // IPv4 is held as ::ffff:a.b.c.d
    std::uint8_t bytes[16];
    int bits;
  };
  void add(const std::string& entry);
  struct Name {
    std::string host;
    int port;   // 0: any
  };
  std::vector<Name> names_;
  std::vector<Range> ranges_;
};

// "loopback", "private", "link-local" ... or empty for a public address.
std::string_view special_purpose(const sockaddr& address);

std::string to_string(const sockaddr& address);   // without the port

}  // namespace kedge::server
