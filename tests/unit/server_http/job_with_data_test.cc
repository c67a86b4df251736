// Jobs that bring their data: parts in any order and of any size, and what is said of bodies that are not right.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "crypto/digest.h"
#include "tests/unit/server_http/api_server.h"

namespace kedge::server {
namespace {

using testing::HasSubstr;
using tests::HttpReply;

const std::string kJob = R"({"dataset":{"stored":"data"},"pipeline":[{"estimator":"GaussianNB"}],"task":{"fit":{}}})";
const std::string kTable = "a,b\n1,2\n3,4\n";
const std::string kForm = "Content-Type: multipart/form-data; boundary=edge\r\n";
const std::string kEnd = "\r\n--edge--\r\n";

std::string part(const std::string& name, const std::string& bytes, const std::string& more = {}) {
  return "--edge\r\nContent-Disposition: form-data; name=\"" + name + "\"" + more + "\r\n\r\n" + bytes;
}
std::string table_part(const std::string& bytes) {
  return part("data", bytes, "; filename=\"table.csv\"");
}
std::string joined(const std::string& first, const std::string& second) {
  return first + "\r\n" + second + kEnd;
}

// A request without the field Submit may not submit.
struct FieldKeeper final : http::Gatekeeper {
  http::Caller admit(const http::Request& request, const http::net::ip::address&, std::string_view, http::Access) override {
    if (request.field("Submit").empty()) throw schema::Error(schema::ErrorCode::kUnauthenticated, "no field Submit");
    return {.tenant = "alice"};
  }
  bool still_valid(const http::Caller&) override { return true; }
};

struct JobWithData : tests::ApiServer {
  JobWithData() { api.uploads = &uploads; }
  static std::filesystem::path fresh_directory() {
    const std::filesystem::path directory =
        testing::TempDir() + "kedge_job_with_data_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory);
    return directory;
  }
  HttpReply post(const std::string& body, const std::string& fields = kForm) {
    tests::HttpConnection own(kept.port());
    return own.request("POST", "/v1/jobs", body, "Submit: yes\r\n" + fields);
  }
  void expect_refusal(int status, const std::string& body, const std::string& said) {
    const HttpReply reply = post(body);
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_THAT(reply.body, HasSubstr(said));
    expect_nothing_left();
  }
  void expect_nothing_left() {
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory))
      EXPECT_TRUE(file.is_directory()) << file.path() << " is left";
    EXPECT_TRUE(uploads.jobs().empty());
    EXPECT_EQ(bytes.used("alice"), 0u);
  }

  const std::filesystem::path directory = fresh_directory();
  TenantBytes bytes;
  Uploads uploads{directory, bytes};
  FieldKeeper keeper;
  tests::RunningServer kept{http::ServerOptions{.gatekeeper = &keeper}, api::routes(api)};
};

TEST_F(JobWithData, RepeatedWithItsKeyIsOneJobAndOneUpload) {
  const std::string body = joined(part("spec", kJob), table_part(kTable)), key = kForm + "Idempotency-Key: one\r\n";
  const HttpReply first = post(body, key), again = post(body, key);
  EXPECT_EQ(first.status, 202);
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(uploads.jobs().size(), 1u);
  EXPECT_EQ(post(joined(part("spec", kJob), table_part(kTable + "5,6\n")), key).status, 422);
  EXPECT_EQ(uploads.jobs().size(), 1u);
  EXPECT_TRUE(uploads.list("alice").empty()) << "it has no name that a client could use";
}

// What a client sends to name its request must name nothing here.
TEST_F(JobWithData, LeavesTheUsersDataSetsAloneForAnyIdOfTheRequest) {
  for (const std::string id : {"abc", "prices.csv", "job-abc", "../x"}) {
    const auto upload = uploads.begin("alice", "job-abc", "csv");
    upload->write("a,b\n9,9\n");
    uploads.publish(upload->finish({}));
    const UploadInfo mine = *uploads.find("alice", "job-abc");
    const std::string fields = kForm + "X-Request-Id: " + id + "\r\nIdempotency-Key: " + (id == "../x" ? "x" : id) + "\r\n";
    EXPECT_EQ(post(joined(part("spec", kJob), table_part(kTable)), fields).status, 202);
    EXPECT_EQ(uploads.find("alice", "job-abc"), mine) << id;
    EXPECT_EQ(post(joined(part("spec", "{"), table_part(kTable)), fields).status, 400);
    EXPECT_EQ(uploads.find("alice", "job-abc"), mine) << "a job that was refused, called " << id;
    EXPECT_EQ(uploads.list("alice").size(), 1u);
  }
}

TEST_F(JobWithData, OfOneRequestIdHasDataOfItsOwnEachTime) {
  std::set<std::string> jobs;
  for (int i = 0; i < 20; ++i) {
    const HttpReply reply = post(joined(part("spec", kJob), table_part(kTable + fmt::format("{},1\n", i))), kForm + "X-Request-Id: abc\r\n");
    ASSERT_EQ(reply.status, 202) << reply.body;
    jobs.insert(schema::from_json<schema::Job>(reply.body).id);
  }
  const std::vector<std::string> with_data = uploads.jobs();
  EXPECT_EQ(std::set<std::string>(with_data.begin(), with_data.end()), jobs);
  for (const std::string& job : jobs) uploads.drop_job(job);
  expect_nothing_left();
}

TEST_F(JobWithData, TakesItsPartsInAnyOrderAndAsTheSameContent) {
  const auto digest = [](const HttpReply& reply) { return reply.body.substr(reply.body.find("\"stored\":\"sha256:"), 82); };
  const HttpReply spec_first = post(joined(part("spec", kJob), table_part(kTable))),
                  data_first = post(joined(table_part(kTable), part("spec", kJob)));
  EXPECT_EQ(spec_first.status, 202) << spec_first.body;
  EXPECT_EQ(data_first.status, 202) << data_first.body;
  EXPECT_EQ(digest(spec_first).size(), 82u);
  EXPECT_EQ(digest(spec_first), digest(data_first));
  EXPECT_EQ(uploads.jobs().size(), 2u);
}

// Line ends, dashes and beginnings of the boundary at every place of the reader's buffer and of the pieces that go to disk.
TEST_F(JobWithData, IsNotMisledByDataThatResemblesABoundary) {
  std::string table = "a,b\n";
  while (table.size() < 3'000'000) table += "\"\r\n--edg\",\"--edge\r\r\n--ed\"\n";
  const HttpReply reply = post(joined(table_part(table), part("spec", kJob)));
  EXPECT_EQ(reply.status, 202) << reply.body;
  ASSERT_EQ(uploads.jobs().size(), 1u);
  const auto stored = std::get<schema::StoredRef>(schema::from_json<schema::Job>(reply.body).spec.dataset.source);
  EXPECT_EQ(stored.name, "sha256:" + crypto::hex_digest(crypto::DigestKind::kSha256, "csv\n" + table));
}

TEST_F(JobWithData, MayComeInChunksOfOneByte) {
  std::string chunks;
  for (const char c : joined(table_part(kTable), part("spec", kJob))) chunks += std::string("1\r\n") + c + "\r\n";
  tests::HttpConnection own(kept.port());
  own.send("POST /v1/jobs HTTP/1.1\r\nHost: a\r\nSubmit: yes\r\n" + kForm + "Transfer-Encoding: chunked\r\n\r\n" + chunks +
           "0\r\n\r\n");
  EXPECT_EQ(own.read_reply().status, 202);
  EXPECT_EQ(own.get("/v1/jobs", "Submit: yes\r\n").status, 200) << "the connection stays open";
}

TEST_F(JobWithData, NamesAPartThatIsMissingDoubledOrUnknown) {
  expect_refusal(400, table_part(kTable) + kEnd, "has no part 'spec'");
  expect_refusal(400, part("spec", kJob) + kEnd, "has no part 'data'");
  expect_refusal(400, joined(table_part(kTable), table_part(kTable)), "part 'data': it comes twice");
  expect_refusal(400, joined(part("spec", kJob), part("spec", kJob)), "part 'spec': it comes twice");
  expect_refusal(400, joined(table_part(kTable), part("dada", kTable)), "part 'dada': a job has the parts 'spec' and 'data'");
  expect_refusal(400, joined(table_part(kTable), "--edge\r\n\r\nno fields"), "part 2 of the multipart body has no name");
}

TEST_F(JobWithData, SaysWhatIsWrongWithAPart) {
  expect_refusal(400, joined(table_part(kTable), part("spec", "{")), "part 'spec': ");
  expect_refusal(400, joined(table_part(kTable), part("spec", std::string(tests::kSpec))), "part 'spec': dataset must be");
  expect_refusal(413, joined(table_part(kTable), part("spec", std::string((1 << 20) + 1, ' '))),
                 "part 'spec': it has more than 1048576 bytes");
  expect_refusal(400, joined(part("spec", kJob), part("data", kTable)), "part 'data': its format is not known");
  expect_refusal(422, joined(part("spec", kJob), table_part("a,b\n1\n")), "part 'data': ");
  bytes.set_most(5);
  expect_refusal(429, joined(part("spec", kJob), table_part(kTable)), "part 'data': the data sets, models and artifacts of this tenant");
}

TEST_F(JobWithData, SaysWhereABoundaryIsBroken) {
  expect_refusal(400, table_part(kTable), "part 'data' of the multipart body ends without a boundary");
  expect_refusal(400, table_part(kTable) + "\r\n--edgewise\r\n", "the boundary behind part 'data' of the multipart body is not alone");
  expect_refusal(400, table_part(kTable) + "\r\n--edge", "closing boundary");
  expect_refusal(400,
                 joined(table_part(kTable), "--edge\r\nContent-Disposition: form-data; name=\"spec\"\r\nX: " + std::string(9000, 'x')),
                 "part 2 of");
  expect_refusal(400, "hello " + joined(table_part(kTable), part("spec", kJob)), "does not begin with its boundary");
  expect_refusal(400, "", "does not begin with its boundary");
  expect_refusal(400, joined(table_part(kTable), part("spec", kJob)) + std::string(200'000, 'x'), "follow the closing boundary");
  EXPECT_EQ(post(joined(table_part(kTable), part("spec", kJob)), "Content-Type: multipart/form-data\r\n").status, 400)
      << "no boundary is named";
}

TEST_F(JobWithData, LeavesNothingBehindWhenTheJobIsRefused) {
  tests::set_ready(jobs, false);
  EXPECT_EQ(post(joined(part("spec", kJob), table_part(kTable))).status, 507);
  expect_nothing_left();
}

TEST_F(JobWithData, LeavesNothingBehindWhenTheConnectionBreaks) {
  const std::string body = joined(table_part(kTable), part("spec", kJob));
  for (const std::size_t sent : {std::size_t{10}, body.find("3,4"), body.size() - kEnd.size(), body.size() - 1}) {
    tests::HttpConnection own(kept.port());
    own.send("POST /v1/jobs HTTP/1.1\r\nHost: a\r\nSubmit: yes\r\n" + kForm + "Content-Length: " + std::to_string(body.size()) +
             "\r\n\r\n" + body.substr(0, sent));
  }
  kept.stop();   // when every session has ended
  expect_nothing_left();
}

TEST_F(JobWithData, IsRefusedBeforeItsBodyIsReadWithoutALogin) {
  tests::HttpConnection own(kept.port());
  own.send("POST /v1/jobs HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n" + kForm + "Content-Length: 200000000\r\n\r\n");
  EXPECT_EQ(own.read_reply().status, 401);
}

}   // namespace
}   // namespace kedge::server
