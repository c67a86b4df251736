// Tenants over the API: each sees only its own jobs and data sets; streams are counted; uploads.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "crypto/digest.h"
#include "tests/unit/server_http/api_server.h"

namespace kedge::server {
namespace {

using schema::from_json;
using testing::HasSubstr;
using tests::HttpReply;

// Takes the field "Tenant" for true; "root" is an administrator.
struct FieldKeeper final : http::Gatekeeper {
  http::Caller admit(const http::Request& request, const http::net::ip::address&, std::string_view, http::Access) override {
    const std::string tenant(request.field("Tenant"));
    return {.tenant = tenant, .token = std::string(request.field("Token")), .admin = tenant == "root"};
  }
  bool still_valid(const http::Caller&) override { return true; }
};

struct Tenants : tests::ApiServer {
  Tenants() {
    api.streams = &streams;
    api.uploads = &uploads;
  }
  static std::filesystem::path fresh_directory() {
    const std::filesystem::path directory = testing::TempDir() + "kedge_tenants_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory);
    return directory;
  }
  HttpReply as(std::string_view tenant, std::string_view method, std::string_view target, std::string_view body = {}, std::string_view fields = {}) {
    tests::HttpConnection own(kept.port());
    return own.request(method, target, body, "Tenant: " + std::string(tenant) + "\r\n" + std::string(fields));
  }
  std::string submit_as(std::string_view tenant) {
    return from_json<schema::Job>(as(tenant, "POST", "/v1/jobs", tests::kSpec, tests::kJsonField).body).id;
  }

  const std::filesystem::path directory = fresh_directory();
  TenantBytes bytes{20'000};
  Uploads uploads{directory, bytes};
  api::StreamCounts streams{1};
  FieldKeeper keeper;
  tests::RunningServer kept{http::ServerOptions{.gatekeeper = &keeper}, api::routes(api)};
};

TEST_F(Tenants, FindTheirOwnJobsAloneOnEveryCall) {
  const std::string id = submit_as("alice");
  ASSERT_FALSE(id.empty());
  const std::pair<const char*, std::string> calls[] = {{"GET", "/v1/jobs/" + id}, {"GET", "/v1/jobs/" + id + "?wait=10ms"}, {"GET", "/v1/jobs/" + id + "/result"},
                                                       {"GET", "/v1/jobs/" + id + "/events"}, {"POST", "/v1/jobs/" + id + "/cancel"}, {"DELETE", "/v1/jobs/" + id}};
  for (const auto& [method, target] : calls) {
    const HttpReply other = as("bob", method, target);
    EXPECT_EQ(other.status, 404) << method << " " << target;
    EXPECT_THAT(other.body, HasSubstr("there is no job '" + id + "'"));
  }
  EXPECT_EQ(as("alice", "GET", "/v1/jobs/" + id).status, 200);
  EXPECT_EQ(as("root", "GET", "/v1/jobs/" + id).status, 200);
  EXPECT_EQ(as("alice", "POST", "/v1/jobs/" + id + "/cancel").status, 202);
}

TEST_F(Tenants, ListTheirOwnJobsAlone) {
  submit_as("alice"), submit_as("bob"), submit_as("alice");
  const auto count = [&](std::string_view tenant) { return from_json<schema::JobPage>(as(tenant, "GET", "/v1/jobs").body).jobs.size(); };
  EXPECT_EQ(count("alice"), 2u);
  EXPECT_EQ(count("bob"), 1u);
  EXPECT_EQ(count("carol"), 0u);
  EXPECT_EQ(count("root"), 3u);
}

TEST_F(Tenants, MayHaveSoManyEventStreamsOpen) {
  const std::string id = submit_as("alice"), of_bob = submit_as("bob");
  tests::HttpConnection first(kept.port());
  first.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: a\r\nTenant: alice\r\n\r\n");
  EXPECT_THAT(first.read_head(), HasSubstr("200 OK"));
  const HttpReply second = as("alice", "GET", "/v1/jobs/" + id + "/events");
  EXPECT_EQ(second.status, 429);
  EXPECT_EQ(second.field("Retry-After"), "1");
  EXPECT_EQ(second.field("RateLimit"), "\"streams\";r=0");
  EXPECT_EQ(second.field("RateLimit-Policy"), "\"streams\";q=1;qu=\"concurrent-requests\"");
  tests::HttpConnection bob(kept.port());
  bob.send("GET /v1/jobs/" + of_bob + "/events HTTP/1.1\r\nHost: a\r\nTenant: bob\r\n\r\n");
  EXPECT_THAT(bob.read_head(), HasSubstr("200 OK"));
}

TEST_F(Tenants, ListTheirDataSetsInPages) {
  for (const char* name : {"c", "a", "b"}) EXPECT_EQ(as("alice", "PUT", std::string("/v1/datasets/") + name + "?format=csv", "x,y\n1,2\n").status, 201);
  EXPECT_THAT(as("alice", "GET", "/v1/datasets?pageSize=2").body, testing::AllOf(HasSubstr("\"name\":\"a\""), HasSubstr("\"nextPageToken\":\"b\"")));
  const std::string last = as("alice", "GET", "/v1/datasets?pageSize=2&pageToken=b").body;
  EXPECT_THAT(last, testing::AllOf(HasSubstr("\"name\":\"c\""), testing::Not(HasSubstr("\"name\":\"b\"")), testing::Not(HasSubstr("nextPageToken"))));
  EXPECT_EQ(as("alice", "GET", "/v1/datasets?pageSize=5001").status, 400);
  EXPECT_THAT(as("alice", "GET", "/v1/datasets?pageToken=.b").body, HasSubstr("\"where\":\"pageToken\""));
}

// What is refused does nothing.
TEST_F(Tenants, StoreNoJobWhoseStreamIsRefused) {
  const std::string id = submit_as("alice");
  tests::HttpConnection first(kept.port());
  first.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: a\r\nTenant: alice\r\n\r\n");
  EXPECT_THAT(first.read_head(), HasSubstr("200 OK"));
  const auto count = [&] { return from_json<schema::JobPage>(as("alice", "GET", "/v1/jobs").body).jobs.size(); };
  const std::string fields = std::string(tests::kJsonField) + "Accept: text/event-stream\r\n";
  EXPECT_EQ(as("alice", "POST", "/v1/jobs", tests::kSpec, fields).status, 429);
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(as("alice", "POST", "/v1/jobs", tests::kSpec, tests::kJsonField).status, 202) << "a job alone is taken";
}

// Of several pieces, the last of which arrives together with the next request.
TEST_F(Tenants, UploadTheSameWithAndWithoutChunks) {
  std::string table = "a,b\n";
  while (table.size() < 3'000'000) table += "1.5,2\n";
  bytes.set_most(0);
  tests::HttpConnection alice(kept.port());
  const std::string next = "GET /v1/datasets/plain.csv HTTP/1.1\r\nHost: a\r\nTenant: alice\r\n\r\n";
  alice.send("PUT /v1/datasets/plain.csv HTTP/1.1\r\nHost: a\r\nTenant: alice\r\nContent-Length: " + std::to_string(table.size()) + "\r\n\r\n" + table + next);
  EXPECT_EQ(alice.read_reply().status, 201);
  const std::string plain = alice.read_reply().body;
  std::string chunks;
  for (std::size_t at = 0; at < table.size(); at += 70'000) {
    const std::string piece = table.substr(at, 70'000);
    chunks += fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
  }
  alice.send("PUT /v1/datasets/plain.csv HTTP/1.1\r\nHost: a\r\nTenant: alice\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n" + next);
  EXPECT_EQ(alice.read_reply().status, 200);
  const std::string chunked = alice.read_reply().body;
  const auto digest = [](const std::string& body) { return body.substr(body.find("\"digest\""), 80); };
  EXPECT_EQ(digest(plain), digest(chunked));
  EXPECT_THAT(plain, HasSubstr("\"bytes\":" + std::to_string(table.size())));
}

TEST_F(Tenants, UploadListAndDeleteTheirOwnDataSets) {
  const HttpReply made = as("alice", "PUT", "/v1/datasets/prices.csv", "a,b\n1,2\n3,4\n");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.field("Location"), "/v1/datasets/prices.csv");
  EXPECT_THAT(made.body, HasSubstr("\"rows\":2,\"columns\":2"));
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/prices.csv", "a,b\n1,2\n").status, 200) << "replaced";
  EXPECT_THAT(as("alice", "GET", "/v1/datasets").body, HasSubstr("\"prices.csv\""));
  EXPECT_THAT(as("alice", "GET", "/v1/datasets/prices.csv").body, HasSubstr("\"rows\":1"));
  EXPECT_EQ(as("bob", "GET", "/v1/datasets").body, "{\"datasets\":[]}\n");
  EXPECT_EQ(as("bob", "GET", "/v1/datasets/prices.csv").status, 404);
  EXPECT_EQ(as("bob", "DELETE", "/v1/datasets/prices.csv").status, 404);
  EXPECT_EQ(as("alice", "DELETE", "/v1/datasets/prices.csv").status, 204);
  EXPECT_EQ(as("alice", "GET", "/v1/datasets/prices.csv").status, 404);
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) EXPECT_TRUE(file.is_directory()) << file.path() << " is left";
}

// SHA-256 of "csv", a line feed and "a,b\n1,2\n3,4\n".
const std::string kByContent =
    "/v1/datasets/sha256:" + crypto::hex_digest(crypto::DigestKind::kSha256, "csv\na,b\n1,2\n3,4\n");

TEST_F(Tenants, SendEqualContentOnce) {
  EXPECT_EQ(as("alice", "HEAD", kByContent).status, 404);
  const HttpReply made = as("alice", "PUT", kByContent + "?format=csv", "a,b\n1,2\n3,4\n");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.field("Location"), kByContent);
  EXPECT_EQ(as("alice", "HEAD", kByContent).status, 200);
  EXPECT_EQ(as("bob", "HEAD", kByContent).status, 404);
  EXPECT_EQ(as("alice", "PUT", kByContent + "?format=csv").status, 200) << "no body is needed";
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/sha256:" + std::string(64, '0') + "?format=csv", "a,b\n1,2\n").status, 422)
      << "another digest";
  EXPECT_EQ(as("alice", "GET", "/v1/datasets?pageToken=" + kByContent.substr(13)).status, 200);
}

// Of several pieces of what goes to disk at once.
std::string long_table() {
  std::string table = "a,b\n";
  while (table.size() < 3'500'000) table += "1.5,2\n";
  return table;
}

// Bytes that wait for the rest, once the server has noticed that the connection is gone.
std::string offset_of(const std::function<HttpReply()>& ask) {
  for (int i = 0; i < 2000; ++i) {
    const std::string offset(ask().field("Upload-Offset"));
    if (!offset.empty()) return offset;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return "";
}

TEST_F(Tenants, GoOnWithAnUploadWhoseConnectionBroke) {
  bytes.set_most(0);
  const std::string table = long_table();
  const std::string path = "/v1/datasets/sha256:" + crypto::hex_digest(crypto::DigestKind::kSha256, "csv\n" + table),
                    target = path + "?format=csv";
  {
    tests::HttpConnection broken(kept.port());
    broken.send("PUT " + target + " HTTP/1.1\r\nHost: a\r\nTenant: alice\r\nContent-Length: " +
                std::to_string(table.size()) + "\r\n\r\n" + table.substr(0, 2'500'000));
  }
  const std::string offset = offset_of([&] { return as("alice", "HEAD", path); });
  ASSERT_EQ(offset, std::to_string(2 << 20)) << "whole pieces are kept";
  EXPECT_EQ(as("bob", "HEAD", path).field("Upload-Offset"), "") << "it is not bob's";
  const std::size_t at = std::stoul(offset);
  const auto range = [&](std::size_t first) {
    return fmt::format("Content-Range: bytes {}-{}/{}\r\n", first, table.size() - 1, table.size());
  };
  const HttpReply elsewhere = as("alice", "PUT", target, table.substr(at + 1), range(at + 1));
  EXPECT_EQ(elsewhere.status, 409);
  EXPECT_EQ(elsewhere.field("Upload-Offset"), offset);
  const HttpReply made = as("alice", "PUT", target, table.substr(at), range(at));
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_THAT(made.body, HasSubstr("\"bytes\":" + std::to_string(table.size())));
  EXPECT_EQ(as("alice", "HEAD", path).field("Upload-Offset"), "");
}

TEST_F(Tenants, AreToldWhatIsWrongWithARange) {
  for (const char* range : {"bytes 3-1/12", "bytes 0-5/12", "bytes 2-11/12", "bytes 0-11/*", "lines 0-11/12",
                            "bytes 0-11/12x", "bytes 0-99999999999999999999/1"})
    EXPECT_EQ(
        as("alice", "PUT", kByContent + "?format=csv", "a,b\n1,2\n3,4\n", fmt::format("Content-Range: {}\r\n", range))
            .status,
        400)
        << range;
  EXPECT_EQ(
      as("alice", "PUT", kByContent + "?format=csv", "a,b\n1,2\n3,4\n", "Content-Range: bytes 0-11/12\r\n").status,
      201);
  EXPECT_EQ(as("alice", "POST", "/v1/jobs", "{}", "Content-Range: bytes 0-1/4\r\n").status, 400);
  EXPECT_THAT(as("alice", "PUT", "/v1/datasets/named.csv", "a,b\n1,2\n", "Content-Range: bytes 0-7/8\r\n").body,
              HasSubstr("only an upload by content"));
}

TEST_F(Tenants, NameContentThatIsThere) {
  const std::string named = "/v1/datasets/prices?content=" + kByContent.substr(13);
  EXPECT_EQ(as("alice", "PUT", named).status, 404);
  ASSERT_EQ(as("alice", "PUT", kByContent + "?format=csv", "a,b\n1,2\n3,4\n").status, 201);
  EXPECT_EQ(as("alice", "PUT", named).status, 201);
  EXPECT_EQ(as("alice", "PUT", named).status, 200);
  EXPECT_EQ(as("alice", "GET", "/v1/datasets/prices").status, 200);
  EXPECT_EQ(as("alice", "PUT", named, "a,b\n1,2\n").status, 400) << "a body as well";
  EXPECT_THAT(as("alice", "PUT", named, "", "Content-Range: {\r\n").body, HasSubstr("only an upload by content"));
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/prices?content=sha256:12").status, 400);
  EXPECT_EQ(as("bob", "PUT", named).status, 404);
}

TEST_F(Tenants, GetWhatIsWrongWithAnUpload) {
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/x.csv", "a,b\n1\n").status, 422);
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/x.npy", "a,b\n1,2\n").status, 422);
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/x", "PK\x03\x04").status, 400) << "which format?";
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/x?format=xls", "a,b\n1,2\n").status, 400);
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/..%2f..%2fx.csv", "a,b\n1,2\n").status, 400);
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/.csv", "a,b\n1,2\n").status, 400);
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/x?format=csv", "a,b\n1,2\n").status, 201);
}

TEST_F(Tenants, MayStoreSoManyBytes) {
  std::string text = "a,b\n";
  while (text.size() < 6000) text += "1,2\n";   // 1499 rows: 12 kB of numbers and 4 kB of head
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/one.csv", text).status, 201);
  std::uint64_t on_disk = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory))
    if (file.path().extension() == ".kds") on_disk += file.file_size();
  EXPECT_EQ(bytes.used("alice"), on_disk) << "what is stored counts, not what was sent";
  const HttpReply refused = as("alice", "PUT", "/v1/datasets/two.csv", text);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.field("RateLimit"), fmt::format("\"bytes\";r={}", 20'000 - on_disk));
  EXPECT_EQ(refused.field("RateLimit-Policy"), "\"bytes\";q=20000;qu=\"content-bytes\"");
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/three.csv", "a\n1\n").status, 429) << "its table is larger than its text";
  EXPECT_EQ(bytes.used("alice"), on_disk) << "what was refused does not count";
  EXPECT_EQ(as("bob", "PUT", "/v1/datasets/two.csv", text).status, 201);
  EXPECT_EQ(as("alice", "DELETE", "/v1/datasets/one.csv").status, 204);
  EXPECT_EQ(bytes.used("alice"), 0u);
  EXPECT_EQ(as("alice", "PUT", "/v1/datasets/two.csv", text).status, 201);
}

// Each fits alone, all together do not.
TEST_F(Tenants, StoreNoMoreThanTheyMayWithManyUploadsAtOnce) {
  std::string text = "a,b\n";
  while (text.size() < 3000) text += "1,2\n";   // becomes 10 kB
  std::atomic<int> stored = 0;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 20; ++i)
      clients.emplace_back([&, i] { stored += as("alice", "PUT", fmt::format("/v1/datasets/set{}.csv", i), text).status == 201; });
  }
  EXPECT_LE(bytes.used("alice"), 20'000u);
  EXPECT_EQ(uploads.list("alice").size(), static_cast<std::size_t>(stored));
  EXPECT_LE(stored, 1);
}

// A length that is announced is kept free before the bytes come.
TEST_F(Tenants, AreRefusedAnUploadBeforeItComesIfItIsTooLarge) {
  tests::HttpConnection own(kept.port());
  own.send("PUT /v1/datasets/x.csv HTTP/1.1\r\nHost: a\r\nTenant: alice\r\nExpect: 100-continue\r\nContent-Length: 20001\r\n\r\n");
  EXPECT_EQ(own.read_reply().status, 429);
}

TEST_F(Tenants, RunJobsOnTheirOwnUploadsPinnedToTheContent) {
  ASSERT_EQ(as("alice", "PUT", "/v1/datasets/prices.csv", "a,b\n1,2\n3,4\n").status, 201);
  const std::string spec = R"({"dataset":{"stored":"prices.csv"},"pipeline":[{"estimator":"GaussianNB"}],"task":{"fit":{}}})";
  const HttpReply reply = as("alice", "POST", "/v1/jobs", spec, tests::kJsonField);
  EXPECT_EQ(reply.status, 202) << reply.body;
  const auto pinned = std::get<schema::StoredRef>(from_json<schema::Job>(reply.body).spec.dataset.source).name;
  EXPECT_THAT(pinned, testing::MatchesRegex("sha256:[0-9a-f]{64}"));
  EXPECT_EQ(as("bob", "POST", "/v1/jobs", spec, tests::kJsonField).status, 422) << "it is not bob's";
  std::string by_digest = spec;
  by_digest.replace(by_digest.find("prices.csv"), 10, pinned);
  EXPECT_EQ(as("alice", "POST", "/v1/jobs", by_digest, tests::kJsonField).status, 202);
  EXPECT_EQ(as("bob", "POST", "/v1/jobs", by_digest, tests::kJsonField).status, 422) << "knowing the digest does not help";
}

TEST_F(Tenants, SeeTheirOwnTokenAndAnAdministratorAll) {
  api.tokens = [] {
    return std::vector<api::TokenInfo>{
        {.id = "tok_alice", .tenant = "alice", .name = "laptop", .read = true, .submit = true, .created = 0},
        {.id = "tok_root", .tenant = "ops", .admin = true, .created = 86'400, .expires = 172'800, .revoked = true}};
  };
  EXPECT_EQ(
      as("alice", "GET", "/v1/tokens", {}, "Token: tok_alice\r\n").body,
      R"({"caller":{"tenant":"alice","scopes":["read","submit"],"token":"tok_alice"},"tokens":[{"id":"tok_alice",)"
      R"("tenant":"alice","name":"laptop","scopes":["read","submit"],"created":"1970-01-01T00:00:00Z","revoked":false}]})"
      "\n");
  EXPECT_THAT(as("bob", "GET", "/v1/tokens").body, HasSubstr(R"("tokens":[])"));
  EXPECT_THAT(as("root", "GET", "/v1/tokens").body,
              testing::AllOf(HasSubstr(R"("id":"tok_alice")"),
                             HasSubstr(R"("expires":"1970-01-03T00:00:00Z","revoked":true)")));
  EXPECT_EQ(as("root", "GET", "/v1/tokens?all=1").status, 400);
  EXPECT_EQ(as("root", "GET", "/v1/tokens", {}, "Accept: text/csv\r\n").status, 406);
}

TEST_F(Tenants, LeaveNothingBehindWhenAnUploadBreaksOff) {
  {
    tests::HttpConnection client(kept.port());
    client.send("PUT /v1/datasets/x.csv HTTP/1.1\r\nHost: a\r\nTenant: alice\r\nContent-Length: 500\r\n\r\na,b\n1,2\n");
  }
  kept.stop();   // when every session has ended
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) EXPECT_TRUE(file.is_directory()) << file.path();
  EXPECT_TRUE(uploads.list("alice").empty());
}

}  // namespace
}  // namespace kedge::server
