// The contract and the list of routes say the same.
#include "server/api/openapi.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/server_http/api_server.h"

namespace kedge::server {
namespace {

const schema::Value* member(const schema::Value& value, std::string_view key) {
  const auto* map = std::get_if<schema::ValueMap>(&value.data);
  if (!map) return nullptr;
  for (const auto& [name, entry] : *map)
    if (name == key) return &entry;
  return nullptr;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// "GET /path" -> scope, by openapi.json.
std::map<std::string, std::string> documented() {
  const schema::Value document = schema::value_from_json(api::openapi_json());
  std::map<std::string, std::string> calls;
  for (const auto& [path, operations] : std::get<schema::ValueMap>(member(document, "paths")->data))
    for (const auto& [method, operation] : std::get<schema::ValueMap>(operations.data))
      calls[upper(method) + " " + path] = std::get<std::string>(member(operation, "x-kedge-scope")->data);
  return calls;
}

std::map<std::string, std::string> offered(const api::Api& api) {
  std::map<std::string, std::string> calls;
  for (const http::Route& route : api::routes(api))
    calls[std::string(route.method) + " " + std::string(route.path)] = route.access == http::Access::kPublic   ? "public"
                                                                      : route.access == http::Access::kRead   ? "read"
                                                                      : route.access == http::Access::kSubmit ? "submit"
                                                                                                              : "admin";
  return calls;
}

struct OpenApi : tests::ApiServer {};

TEST_F(OpenApi, NamesExactlyTheRoutesAndTheirScopes) {
  EXPECT_EQ(documented(), offered(api));
  EXPECT_GE(documented().size(), 10u);
}

TEST_F(OpenApi, IsServed) {
  const auto reply = client.get("/openapi.json");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Content-Type"), "application/json");
  EXPECT_EQ(reply.body, api::openapi_json());
}

}  // namespace
}  // namespace kedge::server
