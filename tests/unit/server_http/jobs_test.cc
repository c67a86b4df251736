// /v1/jobs: submit, list, show, cancel, result.
#include <chrono>
#include <thread>

#include "tests/unit/server_http/api_server.h"

namespace kedge::tests {
namespace {

using schema::Job;
using schema::JobState;

struct JobsApi : ApiServer {
  Job shown(const HttpReply& reply) { return schema::from_json<Job>(reply.body); }
  schema::Error problem(const HttpReply& reply) {
    EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
    schema::Error error;
    const schema::Value parsed = schema::value_from_json(reply.body);
    for (const auto& [name, value] : std::get<schema::ValueMap>(parsed.data)) {
      if (name == "code") error.code = schema::error_code_from_name(std::get<std::string>(value.data));
      if (name == "where") error.where = std::get<std::string>(value.data);
      if (name == "detail") error.message = std::get<std::string>(value.data);
    }
    return error;
  }
};

TEST_F(JobsApi, AcceptsAJobAndSaysWhereItIs) {
  const HttpReply reply = submit();
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.field("Location"), "/v1/jobs/job_1");
  EXPECT_EQ(shown(reply).spec, schema::from_json<schema::JobSpec>(kSpec));
  EXPECT_EQ(shown(client.get("/v1/jobs/job_1")).state, JobState::kQueued);
}

TEST_F(JobsApi, TakesAndGivesCapnp) {
  const auto bytes = schema::to_binary(schema::from_json<schema::JobSpec>(kSpec));
  const std::string_view body(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const HttpReply reply =
      client.request("POST", "/v1/jobs", body,
                     "Content-Type: application/vnd.kedge.capnp\r\nAccept: application/vnd.kedge.capnp\r\n");
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.field("Content-Type"), "application/vnd.kedge.capnp");
  const Job job = schema::from_binary<Job>(std::as_bytes(std::span(reply.body)));
  EXPECT_EQ(job.spec, schema::from_json<schema::JobSpec>(kSpec));
}

TEST_F(JobsApi, NamesThePathOfAWrongParameter) {
  const HttpReply reply = client.request(
      "POST", "/v1/jobs",
      R"({"dataset":{"builtin":"iris"},"pipeline":[{"estimator":"PCA"},)"
      R"({"estimator":"RandomForestClassifier","params":{"n_estimators":0}}],"task":{"fit":{}}})",
      kJsonField);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(problem(reply).code, schema::ErrorCode::kInvalidValue);
  EXPECT_EQ(problem(reply).where, "pipeline[1].params.n_estimators");
}

TEST_F(JobsApi, LooksAtNoJobForWhichThereIsNoRoom) {
  set_room(jobs, false);
  for (const std::string_view body : {std::string_view(kSpec), std::string_view("{")}) {
    const HttpReply reply = client.request("POST", "/v1/jobs", body, kJsonField);
    EXPECT_EQ(reply.status, 429);
    EXPECT_NE(reply.field("Retry-After"), "");
  }
  set_room(jobs, true);
  EXPECT_EQ(submit().status, 202);
}

TEST_F(JobsApi, RefusesMalformedBodies) {
  for (const char* body : {"{", "[]", "nonsense", R"({"datset":{}})", "{}\n{}", "\xff"}) {
    const HttpReply reply = client.request("POST", "/v1/jobs", body, kJsonField);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_EQ(reply.field("Content-Type"), "application/problem+json") << body;
  }
  EXPECT_EQ(client.request("POST", "/v1/jobs").status, 400) << "no body at all";
  EXPECT_EQ(client.get("/v1/jobs").body, "{\"jobs\":[]}\n") << "no job was left behind";
}

TEST_F(JobsApi, RefusesCapnpBombs) {
  const auto good = schema::to_binary(schema::from_json<schema::JobSpec>(kSpec));
  const std::string huge_list = std::string("\0\0\0\0\x02\0\0\0", 8) + std::string("\0\0\0\0\0\0\x01\0", 8) +
                                std::string("\x01\0\0\0\xff\xff\xff\xff", 8);
  const std::string many_segments = std::string(4096, '\xff');
  for (const std::string& body :
       {huge_list, many_segments, std::string(reinterpret_cast<const char*>(good.data()), good.size() / 2)})
    EXPECT_EQ(
        client.request("POST", "/v1/jobs", body, "Content-Type: application/vnd.kedge.capnp\r\n").status,
        400);
}

TEST_F(JobsApi, RefusesOtherMediaTypesAndUnknownQueryParameters) {
  EXPECT_EQ(client.request("POST", "/v1/jobs", kSpec, "Content-Type: text/csv\r\n").status, 415);
  EXPECT_EQ(client.request("POST", "/v1/jobs", kSpec).status, 415) << "a web page can send a body without a type";
  EXPECT_EQ(submit("Accept: text/html\r\n").status, 406);
  const HttpReply reply = submit({}, "?wiat=1s");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(problem(reply).message.find("did you mean 'wait'"), std::string::npos);
  for (const char* query :
       {"?wait=", "?wait=-1", "?wait=1h", "?wait=601s", "?wait=99999999999999999999", "?wait=1s&wait=2s"})
    EXPECT_EQ(submit({}, query).status, 400) << query;
  EXPECT_EQ(shown(submit()).id, "job_1") << "nothing refused was stored";
}

TEST_F(JobsApi, SaysThatTheDiskDoesNotTakeAJob) {
  set_ready(jobs, false);
  const HttpReply reply = submit();
  EXPECT_EQ(reply.status, 507);
  EXPECT_EQ(problem(reply).message, "the disk is full");
}

TEST_F(JobsApi, AnswersARepeatedKeyWithTheFirstJob) {
  const std::string first = shown(submit("Idempotency-Key: once\r\n")).id;
  EXPECT_EQ(shown(submit("Idempotency-Key: once\r\n")).id, first);
  EXPECT_NE(shown(submit("Idempotency-Key: twice\r\n")).id, first);
  EXPECT_EQ(submit("Idempotency-Key: once\r\nIdempotency-Key: twice\r\n").status, 400);
  EXPECT_EQ(submit("Idempotency-Key:\r\n").status, 400);
}

TEST_F(JobsApi, WaitsForTheEndOfASubmittedJob) {
  std::thread worker([this] {
    while (subscriber_count(jobs) == 0) std::this_thread::yield();
    succeed("job_1");
  });
  const HttpReply reply = submit({}, "?wait=20s");
  worker.join();
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(shown(reply).state, JobState::kSucceeded);
  EXPECT_EQ(shown(reply).result->nSamples, 150);
}

TEST_F(JobsApi, GivesTheUnfinishedJobWhenTheWaitIsOver) {
  EXPECT_EQ(submit({}, "?wait=30ms").status, 202);
  const HttpReply preferred = submit("Prefer: respond-async, wait=0\r\n");
  EXPECT_EQ(preferred.status, 202);
  EXPECT_EQ(preferred.field("Preference-Applied"), "wait");
}

TEST_F(JobsApi, WritesAJobLaterWhoseEndIsWaitedFor) {
  submit({}, "?wait=1ms");
  EXPECT_TRUE(last_options(jobs).ended);
  submit("Prefer: wait=1\r\n");
  EXPECT_TRUE(last_options(jobs).ended);
  for (const char* query : {"", "?wait=0"}) {
    submit({}, query);
    EXPECT_FALSE(last_options(jobs).ended) << query;
  }
}

TEST_F(JobsApi, LongPollsAJob) {
  const std::string id = submit_id();
  EXPECT_EQ(shown(client.get("/v1/jobs/" + id + "?wait=20ms")).state, JobState::kQueued);
  std::thread worker([&] {
    while (subscriber_count(jobs) == 0) std::this_thread::yield();
    succeed(id);
  });
  EXPECT_EQ(shown(client.get("/v1/jobs/" + id + "?wait=20s")).state, JobState::kSucceeded);
  worker.join();
}

TEST_F(JobsApi, ListsJobsByStateAndPage) {
  for (int i = 0; i < 3; ++i) submit_id();
  succeed("job_2");
  const auto page = [&](const char* query) {
    return schema::from_json<schema::JobPage>(client.get("/v1/jobs" + std::string(query)).body);
  };
  EXPECT_EQ(page("").jobs.size(), 3u);
  EXPECT_EQ(page("?state=succeeded").jobs.at(0).id, "job_2");
  EXPECT_EQ(page("?pageSize=2").nextPageToken, "job_2");
  EXPECT_EQ(page("?page_size=1").jobs.size(), 1u);
  for (const char* query : {"?state=done", "?pageSize=0", "?pageSize=501", "?pageSize=x", "?limit=3"})
    EXPECT_EQ(client.get("/v1/jobs" + std::string(query)).status, 400) << query;
}

TEST_F(JobsApi, GivesTheResultOnlyOnceThereIsOne) {
  const std::string id = submit_id();
  const HttpReply early = client.get("/v1/jobs/" + id + "/result");
  EXPECT_EQ(early.status, 409);
  EXPECT_EQ(problem(early).code, schema::ErrorCode::kConflict);
  succeed(id);
  EXPECT_EQ(schema::from_json<schema::Result>(client.get("/v1/jobs/" + id + "/result").body).nSamples, 150);
}

TEST_F(JobsApi, GivesTheErrorOfAFailedJobForItsResult) {
  const std::string id = submit_id();
  fail(id, schema::Error(schema::ErrorCode::kBadData, "row 3 has NaN", "dataset"));
  const HttpReply reply = client.get("/v1/jobs/" + id + "/result");
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(problem(reply), schema::Error(schema::ErrorCode::kBadData, "row 3 has NaN", "dataset"));
  EXPECT_EQ(client.get("/v1/jobs/" + id).status, 200) << "the job itself can be shown";
}

TEST_F(JobsApi, CancelsByPostAndByDelete) {
  const std::string first = submit_id(), second = submit_id();
  const HttpReply reply = client.request("POST", "/v1/jobs/" + first + "/cancel");
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(shown(reply).state, JobState::kCancelled);
  EXPECT_EQ(client.request("DELETE", "/v1/jobs/" + second).status, 202);
  EXPECT_EQ(client.request("DELETE", "/v1/jobs/" + second).status, 409) << "it has ended";
  EXPECT_EQ(client.get("/v1/jobs/" + second + "/result").status, 409);
}

TEST_F(JobsApi, SaysThatAJobIsNotThere) {
  for (const char* path :
       {"/v1/jobs/none", "/v1/jobs/none/result", "/v1/jobs/none/events", "/v1/jobs/none?wait=1s"})
    EXPECT_EQ(client.get(path).status, 404) << path;
  EXPECT_EQ(client.request("DELETE", "/v1/jobs/none").status, 404);
}

}  // namespace
}  // namespace kedge::tests
