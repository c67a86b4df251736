// What /metrics says: counts that add up, lines that Prometheus reads, nothing that a client chose.
#include "server/observe/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "server/observe/gpus.h"

namespace kedge::server::observe {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Metrics, CountRequestsByRouteMethodAndStatus) {
  Metrics metrics;
  for (int i = 0; i < 3; ++i)
    metrics.request({.method = "GET",
                     .path = "/v1/jobs/job_1",
                     .route = "/v1/jobs/{id}",
                     .status = 200,
                     .took = std::chrono::milliseconds(3)});
  metrics.request({.status = 400});
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("kedge_http_requests_total{route=\"/v1/jobs/{id}\",method=\"GET\",code=\"200\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("kedge_http_requests_total{route=\"none\",method=\"none\",code=\"400\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kedge_http_request_duration_seconds_bucket{route=\"/v1/jobs/{id}\",le=\"0.0025\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("kedge_http_request_duration_seconds_bucket{route=\"/v1/jobs/{id}\",le=\"0.005\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("kedge_http_request_duration_seconds_count{route=\"/v1/jobs/{id}\"} 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("job_1"))) << "else the number of series had no bound";
}

TEST(Metrics, CountJobsThatEndAndNoOtherStep) {
  Metrics metrics;
  metrics.job_submitted();
  metrics.job_step({.state = schema::JobState::kRunning});
  metrics.job_step({.state = schema::JobState::kFailed, .reason = "BAD_DATA", .queued_seconds = 0.1, .total_seconds = 2});
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("kedge_jobs_submitted_total 1\n"));
  EXPECT_THAT(text, HasSubstr("kedge_jobs_finished_total{outcome=\"failed\",reason=\"BAD_DATA\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("outcome=\"running\"")));
  EXPECT_THAT(text, HasSubstr("kedge_job_duration_seconds_sum 2\n"));
}

TEST(Metrics, TellTheStagesOfARun) {
  Metrics metrics;
  metrics.job_ran({.download = 7, .fit = 3}, 0.25);
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_job_run_seconds_sum{stage=\"fit\"} 3\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_job_run_seconds_sum{stage=\"publish\"} 0.25\n"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("stage=\"fetch\""))) << "another job has downloaded it";
}

TEST(Metrics, ShowATenantToItselfAndToAdminsAlone) {
  Metrics metrics;
  metrics.device_used("cuda:0", "alice", 2);
  metrics.device_used("cuda:0", "bob", 3);
  metrics.device_used("cpu", "bob", 5);
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_gpu_busy_seconds_total{tenant=\"alice\"} 2\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_gpu_busy_seconds_total{tenant=\"bob\"} 3\n"));
  EXPECT_THAT(metrics.text("alice"), HasSubstr("{tenant=\"alice\"} 2\n"));
  EXPECT_THAT(metrics.text("alice"), Not(HasSubstr("bob")));
  EXPECT_THAT(metrics.text("alice"), HasSubstr("kedge_device_busy_seconds_total{device=\"cuda:0\"} 5\n"));
}

TEST(Metrics, ShowTheShareOfATenantWithItsTime) {
  Metrics metrics;
  metrics.set_tenant_weights({{"alice", 4}, {"away", 2}});
  metrics.device_used("cpu", "alice", 8);
  metrics.device_used("cpu", "bob", 2);
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_tenant_busy_seconds_total{tenant=\"alice\"} 8\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_tenant_weight{tenant=\"alice\"} 4\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_tenant_weight{tenant=\"bob\"} 1\n"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("away")));
  EXPECT_THAT(metrics.text("bob"), Not(HasSubstr("alice")));
}

TEST(Metrics, CountManyTenantsTogether) {
  Metrics metrics;
  for (int i = 0; i < 1000; ++i) metrics.device_used("cuda:0", "tenant-" + std::to_string(i), 1);
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_gpu_busy_seconds_total{tenant=\"(others)\"} 800\n"));
}

TEST(Metrics, CountWorkersThatAreReplaced) {
  Metrics metrics;
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_worker_restarts_total{reason=\"signal\"} 0\n")) << "so that the first is seen";
  metrics.worker_lost(WorkerEnd::kSignal, true);
  metrics.worker_lost(WorkerEnd::kNotStarted, false);
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_worker_restarts_total{reason=\"signal\"} 1\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_worker_restarts_total{reason=\"not_started\"} 1\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("kedge_leases_expired_total 1\n"));
}

void expect_readable(const std::string& text) {
  const std::regex line(
      R"re(# HELP [a-z_]+ .+|# TYPE [a-z_]+ (counter|gauge|histogram)|[a-z_]+(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})? [-+0-9.e]+)re");
  std::istringstream lines(text);
  for (std::string one; std::getline(lines, one);) EXPECT_TRUE(std::regex_match(one, line)) << one;
}

TEST(Metrics, AreLinesThatPrometheusReads) {
  Metrics metrics;
  metrics.set_build({.version = "0\"1\\2\n3"});
  metrics.request({.method = "GET", .route = "/", .status = 200});
  metrics.gauge("kedge_ready", "One.", [] { return 1.0; });
  metrics.downloaded("ok", 5, 1);
  metrics.device_used("cuda:0", "quo\"te\n", 2);
  expect_readable(metrics.text());
}

std::string figures(Gpus& gpus) {
  Exposition out;
  gpus.append(out);
  return out.take();
}

TEST(Gpus, SayWhatNvmlAnswers) {
  Gpus gpus(KEDGE_FAKE_NVML);
  ASSERT_TRUE(gpus.available()) << gpus.problem();
  const std::string text = figures(gpus);
  expect_readable(text);
  EXPECT_THAT(text, HasSubstr("kedge_gpu_utilization_ratio{gpu=\"0\",uuid=\"GPU-0\"} 0.75\n"));
  EXPECT_THAT(text, HasSubstr("kedge_gpu_memory_used_bytes{gpu=\"0\",uuid=\"GPU-0\"} 1024\n"));
  EXPECT_THAT(text, HasSubstr("kedge_gpu_memory_total_bytes{gpu=\"1\",uuid=\"GPU-1\"} 4096\n"));
  EXPECT_THAT(text, HasSubstr("kedge_gpu_power_watts{gpu=\"0\",uuid=\"GPU-0\"} 71.5\n"));
  EXPECT_THAT(text, HasSubstr("kedge_gpu_energy_joules_total{gpu=\"0\",uuid=\"GPU-0\"} 12.25\n"));
  EXPECT_THAT(text, HasSubstr("kedge_gpu_temperature_celsius{gpu=\"0\",uuid=\"GPU-0\"} 60\n"));
}

TEST(Gpus, LeaveOutWhatAGpuDoesNotKnow) {
  Gpus gpus(KEDGE_FAKE_NVML);
  EXPECT_THAT(figures(gpus), Not(HasSubstr("kedge_gpu_power_watts{gpu=\"1\"")));
}

TEST(Gpus, CountErrorsOnceEach) {
  Gpus gpus(KEDGE_FAKE_NVML);
  EXPECT_THAT(figures(gpus), HasSubstr("kedge_gpu_errors_total{gpu=\"1\",uuid=\"GPU-1\",xid=\"79\"} 2\n"));
  EXPECT_THAT(figures(gpus), HasSubstr("kedge_gpu_errors_total{gpu=\"1\",uuid=\"GPU-1\",xid=\"79\"} 2\n"));
}

TEST(Gpus, HaveNoFiguresWithoutNvmlAndSayWhy) {
  Gpus none(""), absent("libkedge_no_such_library.so"), wrong("libc.so.6");
  EXPECT_EQ(none.problem(), "");
  EXPECT_THAT(absent.problem(), HasSubstr("cannot be loaded"));
  EXPECT_THAT(wrong.problem(), HasSubstr("it has no nvmlInit_v2"));
  for (Gpus* gpus : {&none, &absent, &wrong}) EXPECT_EQ(figures(*gpus), "");
}

}   // namespace
}   // namespace kedge::server::observe
