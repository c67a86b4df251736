// The exposition format: every line well formed, counts that add up, nothing that a client chose.
#include "server/observe/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

namespace kedge::server::observe {
namespace {

using testing::HasSubstr;

TEST(Metrics, CountRequestsByRouteMethodAndStatus) {
  Metrics metrics;
  for (int i = 0; i < 3; ++i)
    metrics.request({.method = "GET", .path = "/v1/jobs/job_1", .route = "/v1/jobs/{id}", .status = 200, .took = std::chrono::milliseconds(3)});
  metrics.request({.method = "POST", .path = "/v1/jobs", .route = "/v1/jobs", .status = 202});
  metrics.request({.status = 400});
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("kedge_http_requests_total{route=\"/v1/jobs/{id}\",method=\"GET\",code=\"200\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("kedge_http_requests_total{route=\"none\",method=\"none\",code=\"400\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kedge_http_request_duration_seconds_bucket{route=\"/v1/jobs/{id}\",le=\"0.0025\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("kedge_http_request_duration_seconds_bucket{route=\"/v1/jobs/{id}\",le=\"0.005\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("kedge_http_request_duration_seconds_count{route=\"/v1/jobs/{id}\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("kedge_jobs_submitted_total 1\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("job_1"))) << "else the number of series had no bound";
}

TEST(Metrics, CountJobsThatEnd) {
  Metrics metrics;
  metrics.job_ended("failed", "BAD_DATA", 0.1, 2);
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_jobs_finished_total{outcome=\"failed\",reason=\"BAD_DATA\"} 1\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_job_duration_seconds_sum 2\n"));
}

TEST(Metrics, AreLinesThatPrometheusReads) {
  Metrics metrics;
  metrics.set_build("0\"1\\2\n3");
  metrics.request({.method = "GET", .route = "/", .status = 200});
  metrics.gauge("kedge_ready", "One.", [] { return 1.0; });
  const std::regex line(R"re(# HELP [a-z_]+ .+|# TYPE [a-z_]+ (counter|gauge|histogram)|[a-z_]+(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})? [-+0-9.e]+)re");
  std::istringstream text(metrics.text());
  for (std::string one; std::getline(text, one);) EXPECT_TRUE(std::regex_match(one, line)) << one;
}

}  // namespace
}  // namespace kedge::server::observe
