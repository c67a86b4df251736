// Long checks of jobs: what the server does meanwhile, what ends them, and how many there may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <thread>

#include "tests/unit/server_http/api_server.h"

namespace kedge::tests {
namespace {

// The fake service checks grid searches for as long as the test wants.
constexpr std::string_view kSearch =
    R"({"dataset":{"builtin":"iris"},"pipeline":[{"estimator":"GaussianNB"}],"task":{"gridSearch":{"paramGrid":{"var_smoothing":[1e-9]}}}})";

// The field "Tenant" says whose a request is.
struct FieldKeeper final : server::http::Gatekeeper {
  server::http::Caller admit(const server::http::Request& request, const server::http::net::ip::address&, std::string_view,
                             server::http::Access) override {
    return {.tenant = std::string(request.field("Tenant"))};
  }
  bool still_valid(const server::http::Caller&) override { return true; }
};

struct LongChecks : ApiServer {
  LongChecks() {
    api.checks = &desk;
    hold_checks(jobs, true);
  }
  ~LongChecks() override { hold_checks(jobs, false); }

  static server::http::ServerOptions options(server::http::Gatekeeper& keeper) {
    server::http::ServerOptions options;
    options.gatekeeper = &keeper;
    return options;
  }
  // Sends a search and does not wait for its answer.
  HttpConnection& start(std::string_view tenant = {}) {
    HttpConnection& connection = connections.emplace_back(kept.port());
    connection.send("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTenant: " + std::string(tenant) + "\r\n" + std::string(kJsonField) +
                    "Content-Length: " + std::to_string(kSearch.size()) + "\r\n\r\n" + std::string(kSearch));
    return connection;
  }
  HttpReply search(std::string_view tenant) {
    HttpConnection own(kept.port());
    return own.request("POST", "/v1/jobs", kSearch, std::string(kJsonField) + "Tenant: " + std::string(tenant) + "\r\n");
  }
  // Until a condition holds; false after a deadline that no passing test comes near.
  template <class Holds>
  static bool eventually(Holds holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return holds();
  }
  bool n_are_held(std::size_t n) {
    return eventually([&] { return held_checks(jobs).n_held == n; });
  }

  FieldKeeper keeper;
  server::api::CheckDesk desk{jobs, {.threads = 2, .in_all = 4, .per_tenant = 3}};
  RunningServer kept{options(keeper), server::api::routes(api)};
  std::deque<HttpConnection> connections;
};

TEST_F(LongChecks, KeepNoOtherRequestWaiting) {
  start("a"), start("a"), start("b");
  ASSERT_TRUE(n_are_held(2));
  HttpConnection own(kept.port());
  const HttpReply reply = own.request("POST", "/v1/jobs", kSpec, kJsonField);
  EXPECT_EQ(reply.status, 202);
  const std::string id = schema::from_json<schema::Job>(reply.body).id;
  EXPECT_EQ(own.get("/v1/jobs/" + id).status, 200);
  EXPECT_EQ(own.request("POST", "/v1/jobs/" + id + "/cancel").status, 202);
  EXPECT_EQ(held_checks(jobs).n_held, 2u);
}

TEST_F(LongChecks, EndInAJobThatIsNotCheckedAgain) {
  HttpConnection& connection = start();
  ASSERT_TRUE(n_are_held(1));
  hold_checks(jobs, false);
  const HttpReply reply = connection.read_reply();
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(schema::from_json<schema::Job>(reply.body).spec, schema::from_json<schema::JobSpec>(kSearch));
  EXPECT_TRUE(last_options(jobs).is_valid);
}

TEST_F(LongChecks, StopWhenTheClientGoes) {
  HttpConnection& connection = start();
  ASSERT_TRUE(n_are_held(1));
  connection.close();
  EXPECT_TRUE(eventually([&] { return held_checks(jobs).n_stopped == 1; }));
}

TEST_F(LongChecks, StopWithTheServer) {
  HttpConnection& connection = start();
  ASSERT_TRUE(n_are_held(1));
  kept.stop();
  EXPECT_EQ(held_checks(jobs).n_stopped, 1u);
  const int status = connection.read_reply().status;
  EXPECT_TRUE(status == 503 || status == 0) << status;
}

TEST_F(LongChecks, AreBoundedByTenantAndInAll) {
  start("a"), start("a"), start("a");
  ASSERT_TRUE(eventually([&] { return desk.size() == 3; }));
  const HttpReply too_many = search("a");
  EXPECT_EQ(too_many.status, 429);
  EXPECT_NE(too_many.field("Retry-After"), "");
  start("b");
  ASSERT_TRUE(eventually([&] { return desk.size() == 4; }));
  const HttpReply full = search("c");
  EXPECT_EQ(full.status, 503);
  EXPECT_NE(full.field("Retry-After"), "");
  hold_checks(jobs, false);
  for (HttpConnection& connection : connections) EXPECT_EQ(connection.read_reply().status, 202);
  EXPECT_TRUE(eventually([&] { return desk.size() == 0; }));
}

}  // namespace
}  // namespace kedge::tests
