// Which Host a server answers to.
#include "server/http/host_rules.h"

#include <gtest/gtest.h>

#include "schemas/error.h"

namespace kedge::server::http {
namespace {

TEST(HostRules, AdmitEverythingUnlessConfigured) {
  EXPECT_TRUE(HostRules().admits("whatever.example:80"));
}

TEST(HostRules, AdmitTheNamesAndAddressesOfLoopback) {
  const HostRules rules{std::vector<std::string>{}};
  for (const char* host :
       {"localhost", "localhost:5334", "LocalHost.", "app.localhost:1", "127.0.0.1", "127.3.2.1:80", "[::1]", "[::1]:5334"})
    EXPECT_TRUE(rules.admits(host)) << host;
}

TEST(HostRules, RefuseNamesThatAStrangerMayPointToThisMachine) {
  const HostRules rules{std::vector<std::string>{}};
  for (const char* host :
       {"evil.example", "localhost.evil.example", "notlocalhost", "127.0.0.1.evil.example", "127.1", "0x7f000001", "2130706433",
        "10.0.0.1", "0.0.0.0", "[::]", "[::ffff:10.0.0.1]", "[fe80::1]", "[", "[]", ":80", ""})
    EXPECT_FALSE(rules.admits(host)) << host;
}

TEST(HostRules, AdmitWhatIsConfigured) {
  const HostRules rules({"GPU.example", "*.lab.example", "10.0.0.7", "fd00::7"});
  for (const char* host :
       {"gpu.example", "gpu.EXAMPLE:5334", "a.lab.example", "a.b.lab.example.", "10.0.0.7:1", "[fd00::7]:1", "localhost"})
    EXPECT_TRUE(rules.admits(host)) << host;
  for (const char* host : {"x.gpu.example", "lab.example", "evillab.example", "10.0.0.70", "[fd00::70]"})
    EXPECT_FALSE(rules.admits(host)) << host;
}

TEST(HostRules, AreRefusedWhenTheyAreNoNames) {
  for (const char* name : {"", "*", "*.", "a:80", "[::1]", "http://a", "a b", "a/b"})
    EXPECT_THROW(HostRules(std::vector<std::string>{name}), schema::Error) << name;
}

}   // namespace
}   // namespace kedge::server::http
