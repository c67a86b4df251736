// Web pages of other sites: what they can send through a browser is refused, other programs and the server's own pages are not.
#include "server/http/site_rules.h"

#include <gtest/gtest.h>

#include "schemas/error.h"
#include "server/http/server.h"
#include "tests/support/http_client.h"
#include "tests/unit/server_http/running_server.h"

namespace kedge::server::http {
namespace {

using tests::HttpConnection;
using tests::HttpReply;

net::awaitable<Response> count(Request) {
  Response response;
  response.fields.emplace_back("Location", "/there");
  co_return response;
}

// "Host: localhost:80" comes with every request.
Request request(std::string method, Fields fields) {
  fields.emplace_back("Host", "localhost:80");
  return {.method = std::move(method), .fields = std::move(fields)};
}

const SiteRules kRules({"https://Notes.example", "http://localhost:8888"});

bool admits(std::string method, Fields fields) { return kRules.admits(request(std::move(method), std::move(fields))); }

TEST(SiteRules, AdmitProgramsThatAreNoBrowsers) {
  EXPECT_TRUE(admits("POST", {}));
  EXPECT_TRUE(admits("GET", {}));
}

TEST(SiteRules, AdmitTheServersOwnPagesAndTheUsersTyping) {
  EXPECT_TRUE(admits("POST", {{"Origin", "http://localhost:80"}, {"Sec-Fetch-Site", "same-origin"}}));
  EXPECT_TRUE(admits("POST", {{"Origin", "https://LOCALHOST:80"}}));   // a TLS proxy is in front
  EXPECT_TRUE(admits("GET", {{"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Mode", "navigate"}}));
}

TEST(SiteRules, RefuseOtherSites) {
  for (const char* site : {"cross-site", "same-site", "anything"})
    for (const char* method : {"GET", "POST", "PUT", "DELETE", "OPTIONS"}) EXPECT_FALSE(admits(method, {{"Sec-Fetch-Site", site}})) << method << site;
  for (const char* origin : {"null", "http://localhost:81", "http://localhost", "https://notes.example.evil", "http://evil/localhost:80", "localhost:80", "x"})
    EXPECT_FALSE(admits("POST", {{"Origin", origin}})) << origin;
  EXPECT_FALSE(admits("POST", {{"Origin", "http://localhost:80"}, {"Sec-Fetch-Site", "cross-site"}}));
}

TEST(SiteRules, AdmitALinkThatTheUserFollowsAndNoForm) {
  const Fields link{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}};
  EXPECT_TRUE(admits("GET", link));
  EXPECT_FALSE(admits("POST", link));
  EXPECT_FALSE(admits("GET", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "iframe"}}));
  EXPECT_FALSE(admits("GET", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}, {"Sec-Fetch-Dest", "image"}}));
}

TEST(SiteRules, AdmitTheOriginsThatAreAllowed) {
  EXPECT_TRUE(admits("POST", {{"Origin", "https://notes.example"}, {"Sec-Fetch-Site", "cross-site"}}));
  EXPECT_TRUE(admits("DELETE", {{"Origin", "http://localhost:8888"}, {"Sec-Fetch-Site", "same-site"}}));
  EXPECT_FALSE(admits("POST", {{"Origin", "http://notes.example"}}));
}

TEST(SiteRules, AreMadeOfOrigins) {
  for (const char* wrong : {"", "*", "null", "notes.example", "https://", "https://a/", "https://a?b", "ftp://a", "https://*.a", "https://u@a"})
    EXPECT_THROW(SiteRules({wrong}), schema::Error) << wrong;
}

struct SitesOfAServer : testing::Test {
  static ServerOptions options() {
    ServerOptions options;
    options.sites = kRules;
    return options;
  }
  tests::RunningServer server{options(), {{"GET", "/it", count}, {"POST", "/it", count}}};
  HttpConnection client{server.port()};
};

TEST_F(SitesOfAServer, AreRefusedBeforeAnythingIsDone) {
  const HttpReply refused = client.request("POST", "/it", {}, "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("Origin is 'https://evil.example'"), std::string::npos) << refused.body;
  EXPECT_EQ(refused.field("Access-Control-Allow-Origin"), "");
  EXPECT_EQ(client.request("OPTIONS", "/it", {}, "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n").status, 403);
  EXPECT_EQ(client.request("POST", "/it", {}, "Sec-Fetch-Site: same-site\r\n").status, 403);
  EXPECT_EQ(client.request("POST", "/it").status, 200);
}

TEST_F(SitesOfAServer, GetTheCorsFieldsWhereTheyAreAllowed) {
  const std::string origin = "Origin: https://notes.example\r\nSec-Fetch-Site: cross-site\r\n";
  const HttpReply preflight = client.request("OPTIONS", "/it", {}, origin + "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Private-Network: true\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.field("Access-Control-Allow-Origin"), "https://notes.example");
  EXPECT_NE(preflight.field("Access-Control-Allow-Methods").find("POST"), std::string::npos);
  EXPECT_NE(preflight.field("Access-Control-Allow-Headers").find("Authorization"), std::string::npos);
  EXPECT_EQ(preflight.field("Access-Control-Allow-Private-Network"), "true");
  const HttpReply answer = client.request("POST", "/it", {}, origin);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Access-Control-Allow-Origin"), "https://notes.example");
  EXPECT_NE(answer.field("Access-Control-Expose-Headers").find("Location"), std::string::npos);
  EXPECT_EQ(answer.field("Vary"), "Origin");
  EXPECT_EQ(client.get("/nothing", origin).field("Access-Control-Allow-Origin"), "https://notes.example") << "a page may read what is wrong";
  EXPECT_EQ(client.get("/it").field("Access-Control-Allow-Origin"), "");
}

}   // namespace
}   // namespace kedge::server::http
