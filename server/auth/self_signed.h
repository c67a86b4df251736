// A key and a certificate of the server's own making, for clients that pin it.
#pragma once

#include <string>
#include <vector>

namespace kedge::server::auth {

struct SelfSigned {
  std::string certificate, key;   // PEM
};

// P-256, valid from two days ago (clocks differ) for ten years, for these host names and IP addresses.
SelfSigned make_self_signed(const std::vector<std::string>& hosts);

}  // namespace kedge::server::auth
