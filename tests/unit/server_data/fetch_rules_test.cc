// The server connects to no address that the operator did not allow: hundreds of ways to say one, direct and behind a redirect,
// with a listener on the forbidden side that must never be connected to.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schemas/error.h"
#include "server/data/fetch.h"
#include "tests/unit/server_data/scripted_server.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;

// Listens on every address of this machine, IPv4 and IPv6, and counts connections.
class Forbidden {
 public:
  Forbidden() : fd_(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;   // in6addr_any, and IPv4 as ::ffff:a.b.c.d
    socklen_t size = sizeof address;
    const int off = 0;
    ::setsockopt(fd_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd_, 64) != 0) throw std::runtime_error("cannot listen");
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin6_port);
  }
  ~Forbidden() { ::close(fd_); }
  Forbidden(const Forbidden&) = delete;
  int port() const { return port_; }
  int connections() const {
    int n = 0;
    for (int one; (one = ::accept(fd_, nullptr, nullptr)) >= 0; ++n) ::close(one);
    return n;
  }

 private:
  int fd_;
  int port_ = 0;
};

// One IPv4 address in every spelling that some resolver takes.
std::vector<std::string> spellings(std::uint32_t ip) {
  const std::uint32_t a = ip >> 24, b = ip >> 16 & 255, c = ip >> 8 & 255, d = ip & 255;
  const auto v4 = fmt::format("{}.{}.{}.{}", a, b, c, d);
  const auto hex = fmt::format("{:x}:{:x}", ip >> 16, ip & 0xffff);
  return {v4, v4 + ".", fmt::format("{}", ip), fmt::format("0x{:x}", ip), fmt::format("0{:o}", ip),
          fmt::format("0x{:x}.0x{:x}.0x{:x}.0x{:x}", a, b, c, d), fmt::format("0{:o}.0{:o}.0{:o}.0{:o}", a, b, c, d), fmt::format("{}.{}", a, ip & 0xffffff),
          fmt::format("{}.{}.{}", a, b, ip & 0xffff), fmt::format("{:03}.{}.0x{:x}.0{:o}", a, b, c, d), "[::ffff:" + v4 + "]", "[::ffff:" + hex + "]",
          "[0:0:0:0:0:ffff:" + hex + "]", "[::" + v4 + "]", "[64:ff9b::" + hex + "]", "[64:ff9b::" + v4 + "]", fmt::format("[2002:{}::1]", hex),
          fmt::format("{}%2e{}%2e{}%2e{}", a, b, c, d)};
}

// Hosts, with this machine's addresses first, on which the listener could hear.
std::vector<std::string> forbidden_hosts() {
  std::vector<std::string> hosts;
  for (const char* v4 : {"127.0.0.1", "0.0.0.0", "127.255.255.254", "169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "192.0.0.1", "198.18.0.1",
                         "224.0.0.1", "255.255.255.255"}) {
    in_addr address{};
    inet_pton(AF_INET, v4, &address);
    for (std::string& host : spellings(ntohl(address.s_addr))) hosts.push_back(std::move(host));
  }
  for (const char* host : {"localhost", "LOCALHOST", "localhost.", "LocalHost.", "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[0::0]", "[fe80::1]", "[fe80::1%25lo]",
                           "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[2001::1]", "[100::1]", "[::ffff:0:7f00:1]", "[64:ff9b:1::7f00:1]",
                           "0", "127.1", "127.0.1", "0x7f.1", "0177.1", "127.0.0.1%00.example.org", "127.0.0.1%2f", "\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1",
                           "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", "127\xe3\x80\x82" "0\xe3\x80\x82" "0\xe3\x80\x82" "1", "user@127.0.0.1", "user:word@127.0.0.1", "example.org@127.0.0.1"})
    hosts.emplace_back(host);
  return hosts;
}

struct FetchRules : testing::Test {
  // The code of the error; the fetch must not succeed.
  ErrorCode refusal(const std::string& url, const AddressRules& rules) {
    const FetchLibrary library;
    const Fetcher fetcher(rules, {.attempts = 1, .connect_timeout = std::chrono::seconds(2)});
    try {
      fetcher.to_file({.what = "file", .url = url}, directory.path() / "file", {}, {});
    } catch (const schema::Error& error) {
      return error.code;
    }
    ADD_FAILURE() << url << " was fetched";
    return ErrorCode::kInternal;
  }
  // Refused for what it is, or no name that leads anywhere.
  static bool is_refusal(ErrorCode code) { return code == ErrorCode::kInvalidValue || code == ErrorCode::kDatasetUnavailable; }

  TemporaryDirectory directory;
  Forbidden listener;
};

TEST_F(FetchRules, KeepTheServerFromEveryForbiddenHostDirectly) {
  const AddressRules rules({}, "");
  const auto hosts = forbidden_hosts();
  ASSERT_GE(hosts.size(), 240u);
  for (const std::string& host : hosts) {
    const std::string url = fmt::format("http://{}:{}/x", host, listener.port());
    EXPECT_TRUE(is_refusal(refusal(url, rules))) << url;
    EXPECT_EQ(listener.connections(), 0) << url;
  }
}

TEST_F(FetchRules, KeepTheServerFromThemBehindARedirect) {
  for (const std::string& host : forbidden_hosts()) {
    const std::string target = fmt::format("http://{}:{}/x", host, listener.port());
    ScriptedServer origin({fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", target)});
    const std::string own = origin.url().substr(7, origin.url().find('/', 7) - 7);
    EXPECT_TRUE(is_refusal(refusal(origin.url(), AddressRules({own}, "")))) << target;
    EXPECT_EQ(origin.requests().size(), 1u) << "the redirect was seen: " << target;
    EXPECT_EQ(listener.connections(), 0) << target;
  }
}

TEST_F(FetchRules, CheckTheAddressOfTheSocketAndNotWhatANameSaidBefore) {
  // "localhost" passes every check of names; what it leads to is looked at where the connection is made.
  EXPECT_EQ(refusal(fmt::format("http://localhost:{}/x", listener.port()), AddressRules({}, "")), ErrorCode::kInvalidValue);
  EXPECT_EQ(listener.connections(), 0);
}

TEST_F(FetchRules, TakeNoOtherScheme) {
  for (const char* url : {"file:///etc/passwd", "gopher://127.0.0.1/", "dict://127.0.0.1/", "ftp://127.0.0.1/", "ldap://127.0.0.1/", "smb://127.0.0.1/", "data:,x", "//127.0.0.1/",
                          "javascript:1", "http:/\\127.0.0.1", "unix:/tmp/x"})
    EXPECT_EQ(refusal(url, AddressRules({}, "")), ErrorCode::kInvalidValue) << url;
}

TEST_F(FetchRules, LetTheServerConnectWhereItIsAllowed) {   // else the listener above proves nothing
  const AddressRules rules({fmt::format("127.0.0.1:{}", listener.port())}, "");
  const FetchLibrary library;
  const Fetcher fetcher(rules, {.attempts = 1, .deadline = std::chrono::seconds(2)});
  EXPECT_THROW(fetcher.to_file({.what = "file", .url = fmt::format("http://127.0.0.1:{}/x", listener.port())}, directory.path() / "file", {}, {}), schema::Error);
  EXPECT_EQ(listener.connections(), 1);
}

}  // namespace
}  // namespace kedge::server
