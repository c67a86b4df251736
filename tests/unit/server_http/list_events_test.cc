// The stream of the list's changes: it begins with a position, tells each change, and is resumed without a gap.
#include <sstream>

#include "tests/unit/server_http/api_server.h"

namespace kedge::tests {
namespace {

struct ListEventsApi : ApiServer {
  std::string stored(std::string_view query, std::string_view fields = "Accept: application/x-ndjson\r\n") {
    return client.get("/v1/events?list=1&follow=false" + std::string(query), fields).body;
  }
};

TEST_F(ListEventsApi, BeginsWithThePositionAndWhetherNothingIsMissing) {
  submit_id();
  EXPECT_EQ(stored(""), "{\"position\":1,\"resumed\":false}\n") << "the caller loads the list";
  EXPECT_TRUE(stored("&after=0").starts_with("{\"position\":0,\"resumed\":true}\n{\"position\":1,\"job\":{"));
  EXPECT_EQ(stored("&after=1"), "{\"position\":1,\"resumed\":true}\n");
  EXPECT_EQ(stored("&after=7"), "{\"position\":1,\"resumed\":false}\n") << "another store's position";
}

TEST_F(ListEventsApi, TellsEachJobThatChanged) {
  const std::string one = submit_id(), two = submit_id();
  succeed(one);
  std::istringstream lines(stored("&after=1"));
  std::string begin, first, second, rest;
  std::getline(lines, begin);
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_NE(first.find("\"id\":\"" + two + "\""), std::string::npos) << first;
  EXPECT_NE(second.find("\"id\":\"" + one + "\",\"state\":\"succeeded\""), std::string::npos) << second;
  EXPECT_FALSE(std::getline(lines, rest)) << "a job comes once, as it is now";
}

TEST_F(ListEventsApi, DeliversChangesWhileTheyHappenAndResumesWithLastEventId) {
  ASSERT_TRUE(client.send("GET /v1/events?list=1 HTTP/1.1\r\nHost: a\r\n\r\n"));
  client.read_until("event: list\ndata: {\"position\":0,\"resumed\":false}\n\n");
  HttpConnection other(server.port());
  other.request("POST", "/v1/jobs", kSpec, kJsonField);
  client.read_until("id: 1\nevent: job\ndata: {\"position\":1,\"job\":{\"id\":\"job_1\"");
  append_event(jobs, "job_1", schema::StateEvent{.state = schema::JobState::kCancelled});
  client.read_until("id: 2\nevent: job\n");
  const std::string again = other.get("/v1/events?list=1&follow=false", "Last-Event-ID: 1\r\n").body;
  EXPECT_NE(again.find("\"resumed\":true"), std::string::npos) << again;
  EXPECT_NE(again.find("id: 2\nevent: job\n"), std::string::npos) << again;
  EXPECT_EQ(again.find("id: 1\nevent: job\n"), std::string::npos) << again;
}

TEST_F(ListEventsApi, SendsLongListsInPieces) {
  for (int i = 0; i < 200; ++i) submit_id();
  std::istringstream lines(stored("&after=0"));
  std::size_t n = 0;
  for (std::string line; std::getline(lines, line);) ++n;
  EXPECT_EQ(n, 201u);
}

TEST_F(ListEventsApi, EndsWhenTheServerStopsAndSaysThatItLives) {
  ASSERT_TRUE(client.send("GET /v1/events?list=1 HTTP/1.1\r\nHost: a\r\n\r\n"));
  client.read_until("\n:\n\n");
  server.stop();
  EXPECT_TRUE(client.read_until("\r\n0\r\n\r\n").ends_with("event: shutdown\ndata: {}\n\n\r\n0\r\n\r\n"));
}

TEST_F(ListEventsApi, RefusesWhatItDoesNotUnderstand) {
  for (const char* bad :
       {"?list=2", "?list=1&jobs=job_1", "?list=1&after=x", "?list=1&follow=no", "?list=false", "?list=1&since=1"})
    EXPECT_EQ(client.get(std::string("/v1/events") + bad).status, 400) << bad;
}

TEST_F(ListEventsApi, ChecksADescriptionWithoutAJob) {
  EXPECT_EQ(client.request("POST", "/v1/jobs/check", kSpec, kJsonField).body, "{\"valid\":true}\n");
  const HttpReply bad = client.request(
      "POST", "/v1/jobs/check",
      R"({"dataset":{"builtin":"iris"},"pipeline":[{"estimator":"RandomForestClassifier","params":{"n_estimators":0}}],"task":{"fit":{}}})",
      kJsonField);
  EXPECT_EQ(bad.status, 400);
  EXPECT_NE(bad.body.find("\"where\":\"pipeline[0].params.n_estimators\""), std::string::npos) << bad.body;
  EXPECT_EQ(jobs.list({}).jobs.size(), 0u);
}

TEST_F(ListEventsApi, ServesThePageWithAPolicyAndAnEtag) {
  const HttpReply page = client.get("/ui/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
  EXPECT_TRUE(page.field("Content-Security-Policy").starts_with("default-src 'none'; script-src 'self'"));
  EXPECT_EQ(page.field("Cache-Control"), "no-cache");
  EXPECT_FALSE(page.field("ETag").empty());
  EXPECT_EQ(client.get("/ui/main.js", "Accept-Encoding: gzip\r\n").field("Content-Encoding"), "gzip");
  EXPECT_EQ(client.get("/ui").status, 308);
  EXPECT_EQ(client.get("/ui").field("Location"), "ui/");
  EXPECT_EQ(client.get("/ui/nothing.js").status, 404);
  EXPECT_EQ(client.get("/ui/..%2fmain.js").status, 404);
}

}   // namespace
}   // namespace kedge::tests
