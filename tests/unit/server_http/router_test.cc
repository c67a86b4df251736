// Routes, escapes and problems.
#include "server/http/router.h"

#include <gtest/gtest.h>

#include "schemas/codec.h"
#include "schemas/error.h"
#include "server/http/problem.h"
#include "server/http/url.h"

namespace kedge::server::http {
namespace {

Router sample() {
  const Handler none = nullptr;
  return Router({{"GET", "/", none},
                 {"GET", "/v1/jobs", none},
                 {"POST", "/v1/jobs", none},
                 {"GET", "/v1/jobs/{id}", none},
                 {"POST", "/v1/jobs/{id}/cancel", none},
                 {"POST", "/v1/jobs/summary", none}});
}

TEST(Router, CapturesDecodedSegments) {
  const Router router = sample();
  const Match match = router.find("GET", "/v1/jobs/a%20b");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.captures, (Fields{{"id", "a b"}}));
}

TEST(Router, TakesHeadForGet) {
  const Router router = sample();
  EXPECT_NE(router.find("HEAD", "/v1/jobs").route, nullptr);
  EXPECT_EQ(router.find("HEAD", "/v1/jobs/x/cancel").route, nullptr);
}

TEST(Router, DistinguishesAWrongMethodFromAWrongPath) {
  const Router router = sample();
  EXPECT_EQ(router.find("PUT", "/v1/jobs").allow, "GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(router.find("GET", "/v1/jobs/x/cancel").allow, "POST, OPTIONS");
  for (const char* path :
       {"/v1", "/v1/jobs/", "/v1/jobs//cancel", "/v1/jobs/x/y", "//", "/v1/jobs/x/cancel/"})
    EXPECT_EQ(router.find("GET", path).allow, "") << path;
}

TEST(Router, TakesARouteThatIsSpelledOutBeforeOneWithAName) {
  const Router router = sample();
  EXPECT_EQ(router.find("POST", "/v1/jobs/summary").route->path, "/v1/jobs/summary");
  EXPECT_EQ(router.find("GET", "/v1/jobs/summary").route, nullptr);
  EXPECT_EQ(router.find("GET", "/v1/jobs/summary").allow, "POST, OPTIONS");
  EXPECT_EQ(router.find("GET", "/v1/jobs/{id}").captures, (Fields{{"id", "{id}"}}));
}

TEST(Router, RefusesBrokenEscapes) {
  const Router router = sample();
  for (const char* path : {"/v1/jobs/%", "/v1/jobs/%4", "/v1/jobs/%zz", "/v1/jobs/a%00"})
    EXPECT_THROW(router.find("GET", path), schema::Error) << path;
}

TEST(Target, SplitsIntoPathAndDecodedQuery) {
  std::string path;
  Fields query;
  split_target("/a%20b?x=1%2B1&y=a+b&z&=&&x=2", path, query);
  EXPECT_EQ(path, "/a%20b");
  EXPECT_EQ(query, (Fields{{"x", "1+1"}, {"y", "a b"}, {"z", ""}, {"", ""}, {"x", "2"}}));
}

TEST(Problem, CarriesCodePathAndPointer) {
  const schema::Error error(schema::ErrorCode::kInvalidValue, "n_estimators is 0, must be at least 1",
                            "pipeline[1].params.n_estimators");
  const Response response = problem(error, "r-1");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(
      response.body,
      R"({"type":"urn:kedge:problem:invalid-value","title":"Bad Request","status":400,)"
      R"("detail":"n_estimators is 0, must be at least 1","instance":"r-1","code":"INVALID_VALUE",)"
      R"("where":"pipeline[1].params.n_estimators","errors":[{"pointer":"/pipeline/1/params/n_estimators",)"
      R"("code":"INVALID_VALUE","message":"n_estimators is 0, must be at least 1"}],"retryable":false})"
      "\n");
}

}  // namespace
}  // namespace kedge::server::http
