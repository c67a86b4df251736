// Deadlines, specs that kill workers, keys through the service, and the end of the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>

#include "server/jobs/job_service.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using schema::Job;
using schema::JobState;
using testing::HasSubstr;
using tests::job_spec;

constexpr double kSoon = 0.05;   // seconds

class LimitsTest : public testing::Test {
 protected:
  JobServiceOptions options() const { return tests::service_options(dir_.path(), KEDGE_FAKE_WORKER); }
  static Job run(JobService& service, schema::JobSpec spec) {
    return tests::wait_for_end(service, tests::submit(service, std::move(spec)).id);
  }
  static void expect_late(const Job& job, const char* what) {
    EXPECT_EQ(job.state, JobState::kFailed);
    EXPECT_EQ(job.reason, "DEADLINE_EXCEEDED");
    ASSERT_TRUE(job.error);
    EXPECT_EQ(job.error->where, std::string("deadlines.") + what);
    EXPECT_THAT(job.error->message, HasSubstr("0.05 s"));
  }
  tests::TempDir dir_;
};

TEST_F(LimitsTest, EndsARunThatMeetsItsDeadline) {
  JobService service(options());
  for (const char* how : {"WaitForCancel", "IgnoreCancel"}) {
    schema::JobSpec spec = job_spec(how);
    spec.deadlines.run = kSoon;
    expect_late(run(service, spec), "run");
  }
  EXPECT_EQ(run(service, job_spec("Succeed")).state, JobState::kSucceeded);
}

TEST_F(LimitsTest, EndsAFetchThatMeetsTheServersDeadline) {
  JobServiceOptions given = options();
  given.limits.deadlines.fetch = kSoon;
  given.acquire = [](const schema::DatasetRef&, const std::function<void(schema::EventBody)>&,
                     std::stop_token stop, const DataCaller&) -> AcquiredDataset {
    std::atomic<bool> stopped = false;
    const std::stop_callback wake(stop, [&] {
      stopped = true;
      stopped.notify_all();
    });
    stopped.wait(false);
    throw schema::Error(ErrorCode::kCancelled, "stopped");
  };
  JobService service(std::move(given));
  schema::JobSpec spec = job_spec("Succeed");
  spec.deadlines.fetch = 1000;   // the server's is shorter
  expect_late(run(service, spec), "fetch");
}

TEST_F(LimitsTest, EndsAWaitThatMeetsItsDeadline) {
  JobService service(options());
  const std::string first = tests::submit(service, job_spec("Hold", dir_ / "go")).id;
  ASSERT_TRUE(tests::wait_for_state(service, first, JobState::kRunning));
  schema::JobSpec spec = job_spec("Succeed");
  spec.deadlines.queue = kSoon;
  expect_late(run(service, spec), "queue");
  std::ofstream(dir_ / "go") << "go";
  EXPECT_EQ(tests::wait_for_end(service, first).state, JobState::kSucceeded);
}

TEST_F(LimitsTest, TakesNewLimitsForWhatComes) {
  JobService service(options());
  const std::string first = tests::submit(service, job_spec("Hold", dir_ / "go")).id;
  ASSERT_TRUE(tests::wait_for_state(service, first, JobState::kRunning));
  service.set_limits({.tenants = {.open_jobs = 1}, .deadlines = {.queue = 0, .fetch = 0, .run = kSoon}});
  EXPECT_THROW(tests::submit(service, job_spec("Succeed")), schema::Error) << "one is open, and one may be";
  service.set_limits({.deadlines = {.queue = 0, .fetch = 0, .run = kSoon}});
  const std::string second = tests::submit(service, job_spec("WaitForCancel")).id;
  std::ofstream(dir_ / "go") << "go";
  EXPECT_EQ(tests::wait_for_end(service, first).state, JobState::kSucceeded) << "it ran before there was a deadline";
  expect_late(tests::wait_for_end(service, second), "run");
}

TEST_F(LimitsTest, ForgetsJobsByANewBoundWithoutWaiting) {
  JobServiceOptions given = options();
  given.limits.retention = {.jobs = std::chrono::seconds(0), .interval = std::chrono::hours(1)};
  JobService service(given);
  const std::string id = run(service, job_spec("Succeed")).id;
  service.set_limits({.retention = {.store_bytes = 1}});
  tests::Waiter waiter;
  EXPECT_TRUE(waiter.until([&] { return !service.find(id); }));
}

TEST_F(LimitsTest, RefusesADeadlineThatIsNone) {
  JobService service(options());
  schema::JobSpec spec = job_spec("Succeed");
  spec.deadlines.run = -1;
  EXPECT_THROW(tests::submit(service, spec), schema::Error);
}

TEST_F(LimitsTest, DoesNotRunASpecThatKilledItsWorkersThreeTimes) {
  auto service = std::make_unique<JobService>(options());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(*service, job_spec("CrashAlways")).attempts, 2);
  for (int round = 0; round < 2; ++round) {   // the second after a restart
    const Job job = run(*service, job_spec("CrashAlways"));
    EXPECT_EQ(job.attempts, 0);
    EXPECT_EQ(job.reason, "WORKER_CRASHED");
    EXPECT_THAT(job.error->message, HasSubstr("not run"));
    EXPECT_EQ(run(*service, job_spec("Succeed")).state, JobState::kSucceeded);
    service.reset();
    service = std::make_unique<JobService>(options());
  }
}

TEST_F(LimitsTest, AnswersASecondSubmitWithTheFirstJob) {
  JobService service(options());
  std::promise<Job> first, second;
  std::promise<schema::Error> refused;
  const auto into = [](std::promise<Job>& promise) { return [&promise](Job job) { promise.set_value(std::move(job)); }; };
  service.submit(job_spec("Succeed"), into(first), {}, {.idempotency_key = "once"});
  const Job job = first.get_future().get();
  tests::wait_for_end(service, job.id);
  service.submit(job_spec("Succeed"), into(second), {}, {.idempotency_key = "once"});
  EXPECT_EQ(second.get_future().get(), job);   // as it was answered then
  service.submit(job_spec("Fail"), {}, [&](const schema::Error& error) { refused.set_value(error); }, {.idempotency_key = "once"});
  EXPECT_EQ(refused.get_future().get().code, ErrorCode::kIdempotencyKeyReused);
  EXPECT_EQ(service.list({}).jobs.size(), 1u);
  EXPECT_THROW(service.submit(job_spec("Succeed"), {}, {}, {.idempotency_key = "with space"}), schema::Error);
}

// The second may have begun before the first is on disk.
TEST_F(LimitsTest, DropsTheSecondOfTwoThatCameAtOnceWithOneKey) {
  JobService service(options());
  constexpr std::size_t kRounds = 50;
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::promise<Job> first, second;
    const std::string key = std::to_string(round);
    service.submit(job_spec("WaitForCancel"), [&](Job job) { first.set_value(std::move(job)); }, {}, {.idempotency_key = key});
    service.submit(job_spec("WaitForCancel"), [&](Job job) { second.set_value(std::move(job)); }, {}, {.idempotency_key = key});
    const Job job = first.get_future().get();
    ASSERT_EQ(second.get_future().get(), job);
    service.cancel(job.id);
    ASSERT_EQ(tests::wait_for_end(service, job.id).state, JobState::kCancelled);
  }
  EXPECT_EQ(service.list({}).jobs.size(), kRounds);
  EXPECT_EQ(run(service, job_spec("Succeed")).state, JobState::kSucceeded);   // nothing keeps the worker
}

TEST_F(LimitsTest, DrainsWhatRunsAndKeepsTheRest) {
  std::string running, waiting;
  {
    JobService service(options());
    running = tests::submit(service, job_spec("Hold", dir_ / "go")).id;
    ASSERT_TRUE(tests::wait_for_state(service, running, JobState::kRunning));
    waiting = tests::submit(service, job_spec("Succeed")).id;
    service.begin_drain();
    EXPECT_THAT(service.unready_reason(), HasSubstr("stopping"));
    std::ofstream(dir_ / "go") << "go";
    service.drain(tests::kPatience);
    EXPECT_EQ(tests::wait_for_end(service, running).state, JobState::kSucceeded);
    EXPECT_FALSE(schema::is_final(service.find(waiting)->state));
  }
  JobService service(options());
  EXPECT_EQ(tests::wait_for_end(service, waiting).state, JobState::kSucceeded);
}

TEST_F(LimitsTest, AJobThatComesBeforeTheDevicesAreKnownWaitsForThem) {
  ::setenv("KEDGE_FAKE_LIST_GATE", (dir_ / "listed").c_str(), 1);
  ::setenv("KEDGE_FAKE_DEVICES", R"({"devices":[{"id":"cpu"},{"id":"cuda:0"}]})", 1);
  JobService service(options());
  const std::string id = tests::submit(service, job_spec("Succeed", "", "cuda:0")).id;
  EXPECT_TRUE(service.devices().empty());
  std::ofstream(dir_ / "listed") << "go";
  EXPECT_EQ(tests::wait_for_end(service, id).state, JobState::kSucceeded);
  ::unsetenv("KEDGE_FAKE_LIST_GATE");
  ::unsetenv("KEDGE_FAKE_DEVICES");
}

}  // namespace
}  // namespace kedge::server
