// What tenants may learn of each other through the cache: URLs that are open to one and closed to the next, and caches of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/digest.h"
#include "tests/unit/server_data/cache_fixture.h"
#include "tests/unit/server_data/scripted_server.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using testing::HasSubstr;
using testing::Not;

const std::string kTable = "a,b\n1,2\n3,4\n";

std::string table_with_tag() {
  return "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: " + std::to_string(kTable.size()) + "\r\n\r\n" + kTable;
}
std::string status(const std::string& line) { return "HTTP/1.1 " + line + "\r\nContent-Length: 0\r\n\r\n"; }

class SharedUrls : public CacheTest {
 protected:
  DataOptions allowing(bool by_tenant = false) const {
    DataOptions given = options("http://openml.invalid");
    given.allow_fetch = {"127.0.0.1"};
    given.by_tenant = by_tenant;
    return given;
  }
  AcquiredDataset acquire_as(const std::string& tenant, DatasetCache& cache, const schema::DatasetRef& ref) {
    return cache.acquire(ref, [this](schema::EventBody event) { events_.push_back(std::move(event)); }, {}, {.tenant = tenant});
  }
  ErrorCode refusal(const std::string& tenant, DatasetCache& cache, const schema::DatasetRef& ref) {
    try {
      acquire_as(tenant, cache, ref);
    } catch (const schema::Error& error) {
      return error.code;
    }
    ADD_FAILURE() << tenant << " got the data";
    return {};
  }
};

TEST_F(SharedUrls, AreForTenantsAloneThatTheirServerHasAnswered) {
  const ScriptedServer origin({table_with_tag(), status("401 Unauthorized"), status("304 Not Modified"), status("403 Forbidden")});
  DatasetCache cache(allowing());
  const schema::DatasetRef ref{schema::UrlRef{.url = origin.url()}};
  const auto first = acquire_as("alice", cache, ref);
  EXPECT_EQ(refusal("bob", cache, ref), ErrorCode::kDatasetUnavailable);
  EXPECT_EQ(acquire_as("bob", cache, ref).path, first.path) << "now its server allows it";
  EXPECT_THAT(origin.requests().at(2), HasSubstr("If-None-Match: \"one\""));
  EXPECT_EQ(acquire_as("alice", cache, ref).path, first.path) << "what she fetched herself stays hers";
  EXPECT_THAT(log(), HasSubstr("the file that was fetched earlier is used"));
}

TEST_F(SharedUrls, AreRequestedForEachTenantEvenWithAChecksum) {
  const ScriptedServer origin({table_with_tag(), status("403 Forbidden")});
  DatasetCache cache(allowing());
  const schema::DatasetRef ref{schema::UrlRef{.url = origin.url(), .sha256 = crypto::hex_digest(crypto::DigestKind::kSha256, kTable)}};
  acquire_as("alice", cache, ref);
  EXPECT_FALSE(cache.needs_network(ref, {.tenant = "alice"}));
  EXPECT_TRUE(cache.needs_network(ref, {.tenant = "bob"}));
  EXPECT_FALSE(acquire_as("alice", cache, ref).cold);
  EXPECT_TRUE(cache.recall(ref, {.tenant = "alice"}));
  EXPECT_FALSE(cache.recall(ref, {.tenant = "bob"}));
  EXPECT_EQ(origin.requests().size(), 1u);
  EXPECT_EQ(refusal("bob", cache, ref), ErrorCode::kDatasetUnavailable);
}

TEST_F(SharedUrls, AndTextsAreColdForEachTenantThatHasACacheOfItsOwn) {
  const ScriptedServer origin({table_with_tag(), table_with_tag()});
  DatasetCache cache(allowing(true));
  const schema::DatasetRef url{schema::UrlRef{.url = origin.url()}}, text{schema::InlineRef{.csv = kTable}};
  for (const auto& ref : {url, text}) {
    const auto of_alice = acquire_as("alice", cache, ref), of_bob = acquire_as("bob", cache, ref);
    EXPECT_TRUE(of_alice.cold);
    EXPECT_TRUE(of_bob.cold);
    EXPECT_NE(of_alice.path, of_bob.path);
  }
  EXPECT_THAT(origin.requests().at(1), Not(HasSubstr("If-None-Match")));
  EXPECT_FALSE(acquire_as("alice", cache, text).cold);
}

TEST_F(SharedUrls, NeedNoNetworkForWhatIsBuiltInOrSent) {
  DatasetCache cache(allowing());
  EXPECT_FALSE(cache.needs_network({schema::BuiltinRef{"iris"}}, {.tenant = "alice"}));
  EXPECT_FALSE(cache.needs_network({schema::InlineRef{.csv = kTable}}, {.tenant = "alice"}));
  EXPECT_FALSE(cache.needs_network({schema::StoredRef{"x"}}, {.tenant = "alice"}));
  EXPECT_TRUE(cache.needs_network(openml(61), {.tenant = "alice"}));
}

}  // namespace
}  // namespace kedge::server
