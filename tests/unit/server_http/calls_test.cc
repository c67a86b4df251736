// Health, information, catalogue, index; and what holds for every row of the routes.
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

TEST_F(CallsApi, TellsVersionDevicesAndDataSets) {
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

// Whatever a row does, it answers, keeps to the contract for errors, and refuses what it does not know.
TEST_F(CallsApi, EveryRowRefusesUnknownMethodsAndAnswersOptions) {
  for (const auto& route : server::api::routes(api)) {
    const HttpReply put = client.request(
        "PUT", route.path.find('{') == std::string_view::npos ? route.path : "/v1/jobs/x/cancel");
    EXPECT_EQ(put.status, 405) << route.path;
    EXPECT_FALSE(put.field("Allow").empty()) << route.path;
    const HttpReply options = client.request("OPTIONS", route.path);
    EXPECT_EQ(options.status, 204) << route.path;
    EXPECT_NE(options.field("Allow").find(route.method), std::string::npos) << route.path;
  }
}

}  // namespace
}  // namespace kedge::tests
