// Event streams: no gap, no repeat, an end, and nothing left behind by clients that go.
#include <chrono>
#include <sstream>
#include <thread>

#include "tests/unit/server_http/api_server.h"

namespace kedge::tests {
namespace {

using namespace std::chrono_literals;

struct EventsApi : ApiServer {
  void progress(const std::string& id, int count) {
    for (int i = 0; i < count; ++i)
      append_event(jobs, id, schema::ProgressEvent{.phase = "fold", .done = i, .total = count});
  }
  // Until the condition holds; false after a deadline that no passing test comes near.
  template <class Condition>
  bool eventually(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < patience) {
      if (condition()) return true;
      std::this_thread::yield();
    }
    return false;
  }
};

// The ids of a stream in order.
std::vector<std::int64_t> ids_of(const std::string& body) {
  std::vector<std::int64_t> ids;
  for (std::size_t at = body.find("id: "); at != std::string::npos; at = body.find("\nid: ", at + 1))
    ids.push_back(std::stoll(body.substr(body[at] == '\n' ? at + 5 : at + 4)));
  return ids;
}

std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = first; id <= last; ++id) ids.push_back(id);
  return ids;
}

TEST_F(EventsApi, StreamsFromTheFirstEventToTheLast) {
  const std::string id = submit_id();
  succeed(id);
  const HttpReply reply = client.get("/v1/jobs/" + id + "/events");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Content-Type"), "text/event-stream");
  EXPECT_TRUE(reply.body.starts_with("retry: 2000\n\nid: 1\nevent: state\ndata: {\"id\":1,")) << reply.body;
  EXPECT_EQ(ids_of(reply.body), range(1, 4));
  EXPECT_NE(reply.body.find("event: result\n"), std::string::npos);
  EXPECT_TRUE(reply.body.ends_with("\n\n"));
  EXPECT_EQ(client.get("/livez").status, 200) << "the connection stays open";
}

TEST_F(EventsApi, NamesTheTraceOfTheRequestThatSubmittedTheJob) {
  const HttpReply submitted = submit("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n");
  const std::string id = schema::from_json<schema::Job>(submitted.body).id;
  succeed(id);
  const HttpReply reply = client.get("/v1/jobs/" + id + "/events", "Accept: application/x-ndjson\r\n");
  std::istringstream lines(reply.body);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.ends_with(",\"traceId\":\"0af7651916cd43dd8448eb211c80319c\"}")) << line;
    EXPECT_GT(schema::from_json<schema::Event>(line).id, 0) << "clients of before must still read it";
  }
}

TEST_F(EventsApi, DeliversEventsWhileTheyHappen) {
  const std::string id = submit_id();
  ASSERT_TRUE(client.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: a\r\n\r\n"));
  client.read_until("id: 1\n");
  progress(id, 1);
  EXPECT_TRUE(client.read_until("event: progress\n").ends_with("id: 2\nevent: progress\n"));
  succeed(id);
  EXPECT_TRUE(client.read_until("\r\n0\r\n\r\n").ends_with("\r\n0\r\n\r\n"));
}

TEST_F(EventsApi, ResumesWithoutGapOrRepeat) {
  const std::string id = submit_id();
  progress(id, 1000);  // several batches
  succeed(id);
  EXPECT_EQ(ids_of(client.get("/v1/jobs/" + id + "/events").body), range(1, 1004));
  EXPECT_EQ(ids_of(client.get("/v1/jobs/" + id + "/events", "Last-Event-ID: 500\r\n").body),
            range(501, 1004));
  EXPECT_EQ(ids_of(client.get("/v1/jobs/" + id + "/events?after=1003").body), range(1004, 1004));
  EXPECT_EQ(ids_of(client.get("/v1/jobs/" + id + "/events?after=1004").body), range(1, 0));
  EXPECT_EQ(ids_of(client.get("/v1/jobs/" + id + "/events?after=99999").body), range(1, 0));
  EXPECT_EQ(ids_of(client.get("/v1/jobs/" + id + "/events?after=500", "Last-Event-ID: 1002\r\n").body),
            range(1003, 1004));
  EXPECT_EQ(ids_of(client.get("/v1/jobs/" + id + "/events?after=1002", "Last-Event-ID:\r\n").body), range(1003, 1004));
  for (const char* bad : {"?after=-1", "?after=x", "?after=", "?since=1"})
    EXPECT_EQ(client.get("/v1/jobs/" + id + "/events" + bad).status, 400) << bad;
  EXPECT_EQ(client.get("/v1/jobs/" + id + "/events?after=x", "Last-Event-ID: 1\r\n").status, 400);
  EXPECT_EQ(client.get("/v1/jobs/" + id + "/events?after=1", "Last-Event-ID: x\r\n").status, 400);
}

TEST_F(EventsApi, WritesLinesOfJsonOnRequest) {
  const std::string id = submit_id();
  succeed(id);
  const HttpReply reply = client.get("/v1/jobs/" + id + "/events", "Accept: application/x-ndjson\r\n");
  EXPECT_EQ(reply.field("Content-Type"), "application/x-ndjson");
  std::int64_t expected = 0;
  for (std::size_t start = 0; start < reply.body.size();) {
    const std::size_t end = reply.body.find('\n', start);
    EXPECT_EQ(schema::from_json<schema::Event>(std::string_view(reply.body).substr(start, end - start)).id,
              ++expected);
    start = end + 1;
  }
  EXPECT_EQ(expected, 4);
  EXPECT_EQ(client.get("/v1/jobs/" + id + "/events", "Accept: text/html\r\n").status, 406);
}

TEST_F(EventsApi, StreamsASubmittedJobInOneCall) {
  std::thread worker([this] {
    while (subscriber_count(jobs) == 0) std::this_thread::yield();
    succeed("job_1");
  });
  const HttpReply reply = submit("Accept: text/event-stream\r\n");
  worker.join();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Location"), "/v1/jobs/job_1");
  EXPECT_EQ(ids_of(reply.body), range(1, 4));
}

TEST_F(EventsApi, SendsACommentWhenNothingHappens) {
  const std::string id = submit_id();
  ASSERT_TRUE(client.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_TRUE(client.read_until("\n:\n\n").ends_with("\n:\n\n") ||
              client.read_until("\r\n:\n\n").ends_with(":\n\n"));
}

TEST_F(EventsApi, NoticesAClientThatGoes) {
  const std::string id = submit_id();
  {
    HttpConnection leaving(server.port());
    ASSERT_TRUE(leaving.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: a\r\n\r\n"));
    leaving.read_until("id: 1\n");
    EXPECT_EQ(subscriber_count(jobs), 1u);
  }
  EXPECT_TRUE(eventually([&] { return subscriber_count(jobs) == 0; }));
  {
    HttpConnection polling(server.port());
    ASSERT_TRUE(polling.send("GET /v1/jobs/" + id + "?wait=10m HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_TRUE(eventually([&] { return subscriber_count(jobs) == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return subscriber_count(jobs) == 0; }));
}

TEST_F(EventsApi, ServesTwoHundredStreamsAtOnce) {
  constexpr int kStreams = 200, kEvents = 50;
  const std::string id = submit_id();
  std::vector<std::unique_ptr<HttpConnection>> streams;
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(std::make_unique<HttpConnection>(server.port()));
    ASSERT_TRUE(streams.back()->send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: a\r\n\r\n"));
  }
  EXPECT_TRUE(eventually([&] { return subscriber_count(jobs) == kStreams; }));
  std::thread worker([&] {
    progress(id, kEvents);
    succeed(id);
  });
  for (auto& stream : streams) EXPECT_EQ(ids_of(stream->read_reply().body), range(1, 1 + kEvents + 3));
  worker.join();
}

TEST_F(EventsApi, EndsStreamsAndWaitsWhenTheServerStops) {
  const std::string id = submit_id();
  HttpConnection stream(server.port()), poll(server.port());
  ASSERT_TRUE(stream.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: a\r\n\r\n"));
  stream.read_until("id: 1\n");
  ASSERT_TRUE(poll.send("GET /v1/jobs/" + id + "?wait=10m HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_TRUE(eventually([&] { return subscriber_count(jobs) == 2; }));
  server.stop();
  EXPECT_TRUE(stream.read_until("\r\n0\r\n\r\n").ends_with("event: shutdown\ndata: {}\n\n\r\n0\r\n\r\n"));
  EXPECT_EQ(poll.read_reply().status, 200);
}

TEST_F(EventsApi, StreamsSeveralJobsAndResumesEach) {
  const std::string one = submit_id(), two = submit_id();
  succeed(one);
  succeed(two);
  const std::string path = "/v1/events?jobs=" + one + "," + two;
  const HttpReply all = client.get(path);
  EXPECT_NE(all.body.find("id: 4.4\n"), std::string::npos) << all.body;
  EXPECT_NE(all.body.find("data: {\"job\":\"" + two + "\",\"id\":1,"), std::string::npos) << all.body;
  const HttpReply rest = client.get(path, "Last-Event-ID: 4.3\r\n");
  EXPECT_NE(rest.body.find("id: 4.4\n"), std::string::npos) << rest.body;
  EXPECT_EQ(rest.body.find(one), std::string::npos) << "the first job had been read to its end";
  EXPECT_EQ(client.get(path, "Last-Event-ID: 4\r\n").status, 400);
  EXPECT_EQ(client.get("/v1/events?jobs=").status, 400);
  EXPECT_EQ(client.get(path + ",job_9").status, 404);
}

// However many jobs a stream has, it holds 256 events at most.
TEST_F(EventsApi, ReadsLongLogsOfSeveralJobsInTurns) {
  const std::string one = submit_id(), two = submit_id();
  progress(one, 600);
  succeed(one);
  succeed(two);
  std::istringstream lines(client.get("/v1/events?jobs=" + one + "," + two, "Accept: application/x-ndjson\r\n").body);
  std::vector<std::int64_t> first, second;
  for (std::string line; std::getline(lines, line);) {
    const bool is_first = line.find(one) != std::string::npos;
    if (!is_first && second.empty()) EXPECT_EQ(first, range(1, 128));
    (is_first ? first : second).push_back(std::stoll(line.substr(line.find("\"id\":") + 5)));
  }
  EXPECT_EQ(first, range(1, 604));
  EXPECT_EQ(second, range(1, 4));
}

}  // namespace
}  // namespace kedge::tests
