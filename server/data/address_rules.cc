// Which addresses the server may fetch from: public ones, and those that the operator allowed.
#include "server/data/address_rules.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "engine/core/require.h"
#include "engine/faults/fail_point.h"
#include "server/data/fetch_url.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using Bytes = std::array<std::uint8_t, 16>;

constexpr Bytes kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct Block {
  Bytes prefix;
  int bits;
  const char* kind;
};

constexpr Block v4(int a, int b, int c, int bits, const char* kind) {
  Bytes bytes = kMappedPrefix;
  bytes[12] = static_cast<std::uint8_t>(a), bytes[13] = static_cast<std::uint8_t>(b), bytes[14] = static_cast<std::uint8_t>(c);
  return {bytes, 96 + bits, kind};
}

// The IANA special-purpose address registries (RFC 6890 and its updates), and multicast.
constexpr Block kBlocks[] = {
    v4(0, 0, 0, 8, "unspecified"), v4(10, 0, 0, 8, "private"), v4(100, 64, 0, 10, "shared"), v4(127, 0, 0, 8, "loopback"),
    v4(169, 254, 0, 16, "link-local"), v4(172, 16, 0, 12, "private"), v4(192, 0, 0, 24, "reserved"),
    v4(192, 0, 2, 24, "documentation"), v4(192, 88, 99, 24, "reserved"), v4(192, 168, 0, 16, "private"),
    v4(198, 18, 0, 15, "benchmarking"), v4(198, 51, 100, 24, "documentation"), v4(203, 0, 113, 24, "documentation"),
    v4(224, 0, 0, 4, "multicast"), v4(240, 0, 0, 4, "reserved"),
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, "loopback"},
    {{0x01, 0x00}, 64, "discard-only"},
    {{0x20, 0x01, 0x00}, 23, "reserved"},        // Teredo, ORCHID and others
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
    {{0x3f, 0xff, 0x00}, 20, "documentation"},
    {{0x5f, 0x00}, 16, "reserved"},
    {{0xfc}, 7, "private"}, {{0xfe, 0x80}, 10, "link-local"}, {{0xfe, 0xc0}, 10, "private"}, {{0xff}, 8, "multicast"},
};

bool has_prefix(const std::uint8_t* address, const std::uint8_t* prefix, int bits) {
  const int whole = bits / 8, rest = bits % 8;
  if (std::memcmp(address, prefix, static_cast<std::size_t>(whole)) != 0) return false;
  const int mask = 0xff00 >> rest & 0xff;
  return rest == 0 || (address[whole] & mask) == (prefix[whole] & mask);
}

bool starts_with(const Bytes& address, std::initializer_list<std::uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), address.begin());
}

Bytes mapped(const std::uint8_t* v4_bytes) {
  Bytes bytes = kMappedPrefix;
  std::copy_n(v4_bytes, 4, bytes.begin() + 12);
  return bytes;
}

Bytes bytes_of(const sockaddr& address) {
  Bytes bytes{};
  if (address.sa_family == AF_INET) return mapped(reinterpret_cast<const std::uint8_t*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr));
  if (address.sa_family == AF_INET6) std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  return bytes;
}

// The IPv4 address inside one that is only a wrapping of it: NAT64, 6to4, and the old compatible form.
Bytes unwrapped(const Bytes& address) {
  if (starts_with(address, {0x00, 0x64, 0xff, 0x9b})) return mapped(address.data() + 12);
  if (starts_with(address, {0x20, 0x02})) return mapped(address.data() + 2);
  const bool compatible = std::all_of(address.begin(), address.begin() + 12, [](std::uint8_t b) { return b == 0; });
  const bool is_loopback = compatible && address[12] == 0 && address[13] == 0 && address[14] == 0 && address[15] == 1;
  return compatible && !is_loopback ? mapped(address.data() + 12) : address;
}

std::optional<Bytes> parse_address(const std::string& text) {
  std::uint8_t four[4];
  if (inet_pton(AF_INET, text.c_str(), four) == 1) return mapped(four);
  Bytes bytes;
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  return std::nullopt;
}

std::optional<int> parse_integer(std::string_view text, int most) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) return std::nullopt;
  return value;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}

std::string without_brackets(const std::string& host) {
  return host.size() > 2 && host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

AddressRules::AddressRules(const std::vector<std::string>& allow, const std::string& trusted_url) {
  for (const std::string& entry : allow) add(entry);
  if (trusted_url.empty()) return;
  const UrlParts trusted = split_url(trusted_url);
  names_.push_back({trusted.host, trusted.port});
}

void AddressRules::add(const std::string& entry) {
  const auto invalid = [&] {
    throw schema::Error(ErrorCode::kInvalidValue,
                        fmt::format("allow_fetch: '{}' is not a host, host:port, address or address/bits", entry));
  };
  const std::size_t slash = entry.find('/'), colon = entry.rfind(':');
  if (const auto address = parse_address(without_brackets(entry.substr(0, slash)))) {
    const bool is_v4 = has_prefix(address->data(), kMappedPrefix.data(), 96);
    const int offset = is_v4 ? 96 : 0;
    const auto bits = slash == std::string::npos ? 128 - offset : parse_integer(entry.substr(slash + 1), 128 - offset);
    if (!bits) invalid();
    Range range{{}, *bits + offset};
    std::copy(address->begin(), address->end(), range.bytes);
    ranges_.push_back(range);
    return;
  }
  if (entry.empty() || slash != std::string::npos) invalid();
  const bool has_port = colon != std::string::npos;
  const auto port = has_port ? parse_integer(entry.substr(colon + 1), 65535) : 0;
  if (!port || colon == 0) invalid();
  names_.push_back({lower(without_brackets(entry.substr(0, colon))), *port});
}

bool AddressRules::allows_name(const std::string& host, int port) const {
  return std::ranges::any_of(names_, [&](const Name& n) { return n.host == host && (n.port == 0 || n.port == port); });
}

bool AddressRules::allows_address(const sockaddr& address) const {
  const Bytes bytes = bytes_of(address);
  if (std::ranges::any_of(ranges_, [&](const Range& r) { return has_prefix(bytes.data(), r.bytes, r.bits); })) return true;
  return special_purpose(address).empty() || KEDGE_CONTROL("fetch-anywhere");
}

std::string_view special_purpose(const sockaddr& address) {
  if (address.sa_family != AF_INET && address.sa_family != AF_INET6) return "not IP";
  const Bytes bytes = unwrapped(bytes_of(address));
  for (const Block& block : kBlocks)
    if (has_prefix(bytes.data(), block.prefix.data(), block.bits)) return block.kind;
  return {};
}

std::string to_string(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.sa_family == AF_INET) inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  if (address.sa_family == AF_INET6) inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text, sizeof text);
  return text;
}

}  // namespace kedge::server
