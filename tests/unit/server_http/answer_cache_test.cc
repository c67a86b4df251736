// Kept answers: the cache alone, and GET of jobs that have ended through the API.
#include "server/api/answer_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server_http/api_server.h"

namespace kedge::server::api {
namespace {

using http::Request;
using http::Response;

Request asks(std::string path, std::string tenant = {}, http::Fields fields = {}) {
  Request request;
  request.path = std::move(path);
  request.fields = std::move(fields);
  request.caller = {.tenant = std::move(tenant), .admin = false};
  return request;
}

Response says(std::size_t bytes) {
  return json_answer(200, std::string(bytes, 'x'));
}

void keep(AnswerCache& cache, const Request& request, std::size_t bytes, std::uint64_t version = 0) {
  Response response = says(bytes);
  cache.keep(request, request.caller.tenant, response, version);
}

TEST(AnswerCache, GivesBackWhatItWasGiven) {
  AnswerCache cache;
  const Request request = asks("/a", "alice");
  EXPECT_FALSE(cache.find(request, 0));
  keep(cache, request, 100);
  const auto kept = cache.find(request, 0);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->body, says(100).body);
  EXPECT_EQ(kept->content_type, kJson);
  EXPECT_EQ(kept->status, 200);
}

TEST(AnswerCache, ShowsATenantOnlyItsOwnAnswers) {
  AnswerCache cache;
  keep(cache, asks("/a", "alice"), 100);
  EXPECT_FALSE(cache.find(asks("/a", "bob"), 0));
  EXPECT_FALSE(cache.find(asks("/a", ""), 0));
  Request admin = asks("/a", "root");
  admin.caller.admin = true;
  EXPECT_TRUE(cache.find(admin, 0));
}

TEST(AnswerCache, KeepsFormsAndCodingsApart) {
  AnswerCache cache;
  keep(cache, asks("/a"), 5000);
  EXPECT_FALSE(cache.find(asks("/a", "", {{"Accept", std::string(kCapnp)}}), 0));
  EXPECT_FALSE(cache.find(asks("/a", "", {{"Accept", "image/png"}}), 0));
  const Request zipped = asks("/a", "", {{"Accept-Encoding", "gzip"}});
  EXPECT_FALSE(cache.find(zipped, 0));
  keep(cache, zipped, 5000);
  EXPECT_LT(cache.find(zipped, 0)->body.size(), 5000u);
  EXPECT_EQ(cache.find(asks("/a"), 0)->body.size(), 5001u);
}

TEST(AnswerCache, StaysWithinItsBoundAndDropsTheLeastRecentlyRequestedFirst) {
  constexpr std::size_t kBound = 100'000, kBody = 3000;
  AnswerCache cache(kBound);
  for (int i = 0; i < 1000; ++i) {
    keep(cache, asks("/" + std::to_string(i)), kBody);
    EXPECT_TRUE(cache.find(asks("/0"), 0)) << i;
    ASSERT_LE(cache.bytes(), kBound);
  }
  EXPECT_GT(cache.bytes(), kBound - 2 * kBody) << "the room is used";
  EXPECT_TRUE(cache.find(asks("/999"), 0));
  EXPECT_FALSE(cache.find(asks("/1"), 0));
}

TEST(AnswerCache, DoesNotKeepOneThatWouldDriveOutManyOthers) {
  AnswerCache cache(100'000);
  keep(cache, asks("/small"), 100);
  keep(cache, asks("/large"), 10'000);
  EXPECT_TRUE(cache.find(asks("/small"), 0));
  EXPECT_FALSE(cache.find(asks("/large"), 0));
}

TEST(AnswerCache, ForgetsEverythingOnceSomethingWasRemoved) {
  AnswerCache cache;
  keep(cache, asks("/a"), 100, 1);
  EXPECT_TRUE(cache.find(asks("/a"), 1));
  EXPECT_FALSE(cache.find(asks("/a"), 2));
  EXPECT_EQ(cache.bytes(), 0u);
  keep(cache, asks("/a"), 100, 1);   // looked up before the removal
  EXPECT_FALSE(cache.find(asks("/a"), 2));
  keep(cache, asks("/a"), 100, 2);
  EXPECT_TRUE(cache.find(asks("/a"), 2));
}

struct KeptAnswers : tests::ApiServer {
  std::string ended() {
    const std::string id = submit_id();
    succeed(id);
    return "/v1/jobs/" + id;
  }
};

TEST_F(KeptAnswers, AreTheSameBytesWithoutAnotherLookUp) {
  const std::string path = ended();
  for (const std::string& target : {path, path + "/result"}) {
    const tests::HttpReply first = client.get(target);
    const std::size_t lookups = tests::lookup_count(jobs);
    const tests::HttpReply second = client.get(target), waiting = client.get(target + "?wait=1s");
    EXPECT_EQ(tests::lookup_count(jobs), lookups) << target;
    EXPECT_EQ(first.status, 200);
    EXPECT_EQ(second.status, 200);
    EXPECT_EQ(second.body, first.body);
    EXPECT_EQ(waiting.body, first.body);
    EXPECT_EQ(second.field("Content-Type"), "application/json");
  }
}

TEST_F(KeptAnswers, AreOfJobsThatHaveEndedOnly) {
  const std::string id = submit_id(), path = "/v1/jobs/" + id;
  EXPECT_THAT(client.get(path).body, testing::HasSubstr("\"queued\""));
  succeed(id);
  EXPECT_THAT(client.get(path).body, testing::HasSubstr("\"succeeded\""));
}

TEST_F(KeptAnswers, AreForgottenWithTheirJob) {
  const std::string path = ended();
  for (const std::string& target : {path, path + "/result"}) EXPECT_EQ(client.get(target).status, 200);
  tests::remove_job(jobs, path.substr(path.rfind('/') + 1));
  for (const std::string& target : {path, path + "/result"}) EXPECT_EQ(client.get(target).status, 404);
}

TEST_F(KeptAnswers, AnswerHeadWithTheSameFields) {
  const std::string path = ended();
  const tests::HttpReply get = client.get(path), head = client.request("HEAD", path);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.field("Content-Length"), std::to_string(get.body.size()));
}

TEST_F(KeptAnswers, RefuseWhatIsRefusedWithoutThem) {
  const std::string path = ended();
  EXPECT_EQ(client.get(path).status, 200);
  EXPECT_EQ(client.get(path + "?wait=soon").status, 400);
  EXPECT_EQ(client.get(path + "?wiat=1s").status, 400);
  EXPECT_EQ(client.request("GET", path, "", "Accept: image/png\r\n").status, 406);
}

TEST_F(KeptAnswers, SayOnceThatTheyVary) {
  const std::string id = submit_id(), path = "/v1/jobs/" + id;
  fail(id, schema::Error(schema::ErrorCode::kInvalidValue, std::string(5000, 'x')));
  for (const char* coding : {"", "Accept-Encoding: gzip\r\n", "Accept-Encoding: zstd\r\n"}) {
    const tests::HttpReply first = client.request("GET", path, "", coding), second = client.request("GET", path, "", coding);
    EXPECT_EQ(second.body, first.body);
    EXPECT_EQ(first.body.size() > 5000, std::string_view(coding).empty());
    for (const tests::HttpReply& reply : {first, second}) {
      EXPECT_EQ(reply.field("Vary"), "Accept-Encoding");
      EXPECT_EQ(reply.head.find("Vary"), reply.head.rfind("Vary"));
    }
  }
}

}   // namespace
}   // namespace kedge::server::api
