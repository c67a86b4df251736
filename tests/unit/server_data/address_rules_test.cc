// Which addresses may be fetched from.
#include "server/data/address_rules.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

#include "schemas/error.h"
#include "server/data/fetch_url.h"

namespace kedge::server {
namespace {

struct Address {
  sockaddr_storage storage{};
  explicit Address(const std::string& text) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) storage.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) storage.ss_family = AF_INET6;
    else ADD_FAILURE() << text << " is no address";
  }
  operator const sockaddr&() const { return reinterpret_cast<const sockaddr&>(storage); }
};

class Special : public testing::TestWithParam<const char*> {};
TEST_P(Special, IsRefusedUnlessAllowed) {
  EXPECT_NE(special_purpose(Address(GetParam())), "");
  EXPECT_FALSE(AddressRules({}, "").allows_address(Address(GetParam())));
  EXPECT_TRUE(AddressRules({GetParam()}, "").allows_address(Address(GetParam())));
}
INSTANTIATE_TEST_SUITE_P(Addresses, Special,
                         testing::Values("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1",
                                         "169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.2.1", "198.18.0.1", "198.19.255.255",
                                         "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
                                         "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "fe80::1", "fc00::1", "fdff::1", "ff02::1", "2001:db8::1",
                                         "fec0::1"));

class Public : public testing::TestWithParam<const char*> {};
TEST_P(Public, IsAllowed) { EXPECT_TRUE(AddressRules({}, "").allows_address(Address(GetParam()))) << special_purpose(Address(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Addresses, Public,
                         testing::Values("1.1.1.1", "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0",
                                         "169.253.1.1", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111",
                                         "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::"));

TEST(AddressRules, TakesRanges) {
  const AddressRules rules({"10.2.0.0/15", "fd00::/8"}, "");
  EXPECT_TRUE(rules.allows_address(Address("10.3.255.255")));
  EXPECT_TRUE(rules.allows_address(Address("::ffff:10.2.0.1")));
  EXPECT_FALSE(rules.allows_address(Address("10.4.0.0")));
  EXPECT_TRUE(rules.allows_address(Address("fd12::1")));
  EXPECT_FALSE(rules.allows_address(Address("fc12::1")));
}

TEST(AddressRules, TakesNamesWithAndWithoutPort) {
  const AddressRules rules({"Data.Local", "mirror.local:8080"}, "http://openml.local:9000/base");
  EXPECT_TRUE(rules.allows_name("data.local", 1));
  EXPECT_TRUE(rules.allows_name("mirror.local", 8080));
  EXPECT_FALSE(rules.allows_name("mirror.local", 8081));
  EXPECT_TRUE(rules.allows_name("openml.local", 9000));
  EXPECT_FALSE(rules.allows_name("openml.local", 22));
  EXPECT_FALSE(rules.allows_name("other.local", 80));
}

TEST(AddressRules, RefusesEntriesThatMeanNothing) {
  for (const char* entry : {"", "10.0.0.0/33", "10.0.0.0/x", "host/8", "host:port", ":80", "host:99999", "::1/129"})
    EXPECT_THROW(AddressRules({entry}, ""), schema::Error) << entry;
}

TEST(Url, IsTakenApartAsItIsFetched) {
  const UrlParts parts = split_url("HTTPS://Example.ORG/path?x#y");
  EXPECT_EQ(parts.scheme, "https");
  EXPECT_EQ(parts.host, "example.org");
  EXPECT_EQ(parts.port, 443);
  EXPECT_EQ(split_url("http://[::1]:8080/").host, "::1");
  EXPECT_EQ(split_url("http://[::1]:8080/").port, 8080);
}

TEST(Url, MustBeHttpWithoutCredentials) {
  for (const char* url : {"file:///etc/passwd", "ftp://example.org/", "gopher://example.org/", "http://user:word@example.org/", "http://", "nonsense://x y"})
    EXPECT_THROW(split_url(url), schema::Error) << url;
}

TEST(Url, ResolvesRedirects) {
  EXPECT_EQ(resolve_url("http://a.org/b/c", "d"), "http://a.org/b/d");
  EXPECT_EQ(resolve_url("http://a.org/b/c", "//e.org/f"), "http://e.org/f");
  EXPECT_THROW(resolve_url("http://a.org/", "file:///etc/passwd"), schema::Error);
}

}  // namespace
}  // namespace kedge::server
