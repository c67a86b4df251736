// Which names a server answers to: against web pages whose name is made to point at this machine (DNS rebinding).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kedge::server::http {

// A value. Made without arguments it admits every name.
class HostRules {
 public:
  HostRules() = default;
  // Only `names` ("gpu.example", "10.0.0.7", "*.example" for all below), and the names and addresses of this machine's loopback.
  // Errors: kInvalidValue for what is no name.
  explicit HostRules(const std::vector<std::string>& names);

  // `host` as in the Host field: a name or address, perhaps with a port.
  bool admits(std::string_view host) const;

 private:
  bool any_ = true;
  std::vector<std::string> names_;   // in lower case
};

}   // namespace kedge::server::http
