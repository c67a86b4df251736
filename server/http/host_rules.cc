// Comparing Host with the names of the server.
#include "server/http/host_rules.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "schemas/error.h"

namespace kedge::server::http {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

// "[::1]:5334" -> "::1", "Name.:80" -> "name".
std::string name_of(std::string_view host) {
  if (host.starts_with('[')) return lower(host.substr(1, host.find(']') - 1));
  std::string name = lower(host.substr(0, host.find(':')));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

// Written as one address and nothing else: "127.1" or "0x7f000001" are names, for which any server may answer.
bool is_loopback(const std::string& name) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, name.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (::inet_pton(AF_INET6, name.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return name == "localhost" || name.ends_with(".localhost");
}

bool is_name(const std::string& name) {
  in6_addr v6{};
  if (::inet_pton(AF_INET6, name.c_str(), &v6) == 1) return true;
  const std::string_view rest = std::string_view(name).substr(name.starts_with("*.") ? 2 : 0);
  return !rest.empty() && std::ranges::all_of(rest, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_';
  });
}

bool matches(const std::string& name, const std::string& rule) {
  return rule.starts_with("*.") ? name.size() > rule.size() - 1 && name.ends_with(rule.substr(1)) : name == rule;
}

}   // namespace

HostRules::HostRules(const std::vector<std::string>& names) : any_(false) {
  for (const std::string& given : names) {
    names_.push_back(lower(given));
    if (!is_name(names_.back()))
      throw schema::Error(
          schema::ErrorCode::kInvalidValue,
          fmt::format("allowed-host is '{}', must be a host: a name without a port, an address without brackets, or *.NAME",
                      given));
  }
}

bool HostRules::admits(std::string_view host) const {
  if (any_) return true;
  const std::string name = name_of(host);
  return is_loopback(name) || std::ranges::any_of(names_, [&](const std::string& rule) { return matches(name, rule); });
}

}   // namespace kedge::server::http
