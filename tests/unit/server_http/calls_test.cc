// Health, information, catalogue, index; and what holds for every row of the routes.
#include <algorithm>

#include "tests/unit/server_http/api_server.h"

namespace kedge::tests {
namespace {

struct CallsApi : ApiServer {};

TEST_F(CallsApi, IsAliveAndReadyAsLongAsTheServiceIs) {
  EXPECT_EQ(client.get("/livez").status, 200);
  EXPECT_EQ(client.get("/readyz").body, "{\"status\":\"ready\"}\n");
  set_ready(jobs, false);
  const HttpReply reply = client.get("/readyz");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.field("Retry-After"), "1");
  EXPECT_EQ(client.get("/livez").status, 200);
}

TEST_F(CallsApi, ShowsVersionDevicesAndDataSets) {
  const auto info = schema::from_json<schema::ServerInfo>(client.get("/v1/info").body);
  EXPECT_EQ(info.version, "1.2.3");
  ASSERT_EQ(info.devices.size(), 1u);
  EXPECT_EQ(info.devices[0].id, "cpu");
  EXPECT_EQ(info.builtinDatasets, std::vector<std::string>{"iris"});
}

TEST_F(CallsApi, ShowsTheCatalogueAndOneEstimator) {
  EXPECT_EQ(schema::from_json<schema::Catalogue>(client.get("/v1/estimators").body), api.catalogue);
  EXPECT_EQ(schema::from_json<schema::EstimatorInfo>(client.get("/v1/estimators/PCA").body),
            api.catalogue.estimators[1]);
  const HttpReply missing = client.get("/v1/estimators/GausianNB");
  EXPECT_EQ(missing.status, 404);
  EXPECT_NE(missing.body.find("did you mean 'GaussianNB'"), std::string::npos);
}

TEST_F(CallsApi, ShowsTheJsonSchemaOfAnEstimatorsParameters) {
  const HttpReply reply = client.get("/v1/estimators/PCA", "Accept: application/schema+json\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Content-Type"), "application/schema+json");
  EXPECT_NE(reply.body.find("$schema"), std::string::npos) << reply.body;
}

TEST_F(CallsApi, ListsEveryCallInItsIndex) {
  const std::string index = client.get("/").body;
  for (const auto& route : server::api::routes(api))
    EXPECT_NE(index.find("\"" + std::string(route.method) + " " + std::string(route.path) + "\""),
              std::string::npos)
        << route.path;
}

TEST_F(CallsApi, ShowsAPageToBrowsersAndJsonToOthers) {
  const HttpReply page = client.get("/", "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(page.field("Content-Security-Policy").find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.body.find("<script"), std::string::npos);
  for (std::size_t at = 0; (at = page.body.find("href=\"", at)) != std::string::npos; ++at) {
    const std::string target = page.body.substr(at + 6, page.body.find('"', at + 6) - at - 6);
    EXPECT_NE(client.get(target).status, 500) << target;
    const auto has_row = [&](const auto& route) { return route.method == "GET" && route.path == target; };
    EXPECT_TRUE(std::ranges::any_of(server::api::routes(api), has_row)) << target;
  }
  EXPECT_EQ(client.get("/").field("Content-Type"), "application/json");
  EXPECT_EQ(client.get("/", "Accept: */*\r\n").field("Content-Type"), "application/json");
}

TEST_F(CallsApi, ShowsEveryCallInItsDocs) {
  const HttpReply page = client.get("/docs");
  EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
  for (const auto& route : server::api::routes(api))
    EXPECT_NE(page.body.find("<code>" + std::string(route.method) + "</code></td><td><code>" + std::string(route.path) + "</code>"), std::string::npos)
        << route.path;
}

// Every row answers, keeps to the contract for errors, and refuses what it does not know.
TEST_F(CallsApi, EveryRowRefusesUnknownMethodsAndAnswersOptions) {
  for (const auto& route : server::api::routes(api)) {
    const bool is_patched = std::ranges::any_of(server::api::routes(api), [&](const auto& other) {
      return other.path == route.path && other.method == "PATCH";
    });
    const HttpReply other = client.request(is_patched ? "PUT" : "PATCH", route.path);   // which no row of the path has
    EXPECT_EQ(other.status, 405) << route.path;
    EXPECT_FALSE(other.field("Allow").empty()) << route.path;
    const HttpReply options = client.request("OPTIONS", route.path);
    EXPECT_EQ(options.status, 204) << route.path;
    EXPECT_NE(options.field("Allow").find(route.method), std::string::npos) << route.path;
  }
}

}  // namespace
}  // namespace kedge::tests
