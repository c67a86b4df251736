// Workers that crash, hang and fall silent; cancel in every state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>

#include "server/jobs/job_service.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using schema::Job;
using schema::JobState;
using testing::HasSubstr;
using tests::job_spec;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kForcedCancel{3};   // the promise of the design

class SupervisionTest : public testing::Test {
 protected:
  JobServiceOptions options() const { return tests::service_options(dir_.path(), KEDGE_FAKE_WORKER); }
  std::unique_ptr<JobService> start(JobServiceOptions options) { return std::make_unique<JobService>(std::move(options)); }
  std::unique_ptr<JobService> start() { return start(options()); }
  void expect_next_job_runs(JobService& service) {
    EXPECT_EQ(tests::wait_for_end(service, tests::submit(service, job_spec("Succeed")).id).state, JobState::kSucceeded);
  }
  static ErrorCode cancel_error(JobService& service, const std::string& id) {
    try {
      service.cancel(id);
    } catch (const schema::Error& error) {
      return error.code;
    }
    ADD_FAILURE() << "the cancel was accepted";
    return ErrorCode::kInternal;
  }
  tests::TempDir dir_;
};

TEST_F(SupervisionTest, TriesAJobAgainWhenItsWorkerDies) {
  const auto service = start();
  const Job job = tests::wait_for_end(*service, tests::submit(*service, job_spec("CrashOnce", dir_ / "crashed")).id);
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_EQ(job.attempts, 2);
  EXPECT_EQ(tests::story(*service, job.id),
            "queued fetching running queued running progress metric timing finalizing result succeeded");
  const auto events = service->events(job.id, 0, 100);
  EXPECT_EQ(std::get<schema::StateEvent>(events.at(2).body).device, "cpu");
  const auto& lost = std::get<schema::StateEvent>(events.at(3).body);
  ASSERT_TRUE(lost.error);
  EXPECT_THAT(lost.error->message, HasSubstr("signal 6"));
  EXPECT_FALSE(job.error) << "of an attempt, not of the job";
}

TEST_F(SupervisionTest, FailsAJobThatKillsItsWorkerTwice) {
  const auto service = start();
  const std::string poison = tests::submit(*service, job_spec("CrashAlways")).id;
  const std::string next = tests::submit(*service, job_spec("Succeed")).id;
  const Job job = tests::wait_for_end(*service, poison);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.reason, "WORKER_CRASHED");
  EXPECT_EQ(job.attempts, 2);
  EXPECT_THAT(job.error->message, HasSubstr("signal 6"));
  EXPECT_EQ(tests::wait_for_end(*service, next).state, JobState::kSucceeded);
}

TEST_F(SupervisionTest, ReplacesAWorkerThatFallsSilent) {
  JobServiceOptions given = options();
  given.heartbeat_timeout = std::chrono::milliseconds(500);
  const auto service = start(given);
  const Job job = tests::wait_for_end(*service, tests::submit(*service, job_spec("Mute")).id);
  EXPECT_EQ(job.reason, "WORKER_CRASHED");
  EXPECT_THAT(job.error->message, HasSubstr("no sign of life"));
  expect_next_job_runs(*service);
}

TEST_F(SupervisionTest, FencesAWorkerThatWasSuspended) {
  JobServiceOptions given = options();
  given.heartbeat_timeout = std::chrono::milliseconds(500);
  const auto service = start(given);
  const std::string id = tests::submit(*service, job_spec("Hold", dir_ / "go")).id;
  ASSERT_TRUE(tests::wait_for_state(*service, id, JobState::kRunning));
  const std::vector<pid_t> workers = tests::children();
  ASSERT_EQ(workers.size(), 1u);
  ::kill(workers[0], SIGSTOP);
  EXPECT_TRUE(tests::wait_for(*service, id, [](const Job& job) { return job.attempts == 2; }));
  ::kill(workers[0], SIGCONT);
  std::ofstream(dir_ / "go") << "go";
  EXPECT_EQ(tests::wait_for_end(*service, id).state, JobState::kSucceeded);
  EXPECT_EQ(tests::story(*service, id),
            "queued fetching running queued running progress metric timing finalizing result succeeded");
  EXPECT_FALSE(tests::is_alive(workers[0]));
}

TEST_F(SupervisionTest, SurvivesWorkersThatAreKilledAtAnyMoment) {
  const auto service = start();
  for (int round = 0; round < 20; ++round) {
    const std::string id = tests::submit(*service, job_spec("Succeed")).id;
    tests::wait_for(*service, id, [&](const Job&) {
      return service->events(id, 0, 100).size() > static_cast<std::size_t>(round % 8);
    });
    for (const pid_t worker : tests::children()) ::kill(worker, SIGKILL);
    const Job job = tests::wait_for_end(*service, id);
    EXPECT_EQ(job.state, JobState::kSucceeded) << round << ": " << (job.error ? job.error->message : "");
    EXPECT_LE(job.attempts, 3);   // one more if it was given to the worker that the round before killed
  }
}

TEST_F(SupervisionTest, LeavesNoProcessBehind) {
  auto service = start();
  const std::string id = tests::submit(*service, job_spec("IgnoreCancel")).id;
  ASSERT_TRUE(tests::wait_for_state(*service, id, JobState::kRunning));
  ASSERT_FALSE(tests::children().empty());
  service.reset();
  EXPECT_TRUE(tests::children().empty());
}

TEST_F(SupervisionTest, KeepsAWorkerThatIsBusyButAlive) {
  JobServiceOptions given = options();
  given.heartbeat_timeout = std::chrono::milliseconds(500);   // ten heartbeats
  const auto service = start(given);
  const std::string id = tests::submit(*service, job_spec("Hold", dir_ / "go")).id;
  ASSERT_TRUE(tests::wait_for_state(*service, id, JobState::kRunning));
  const auto later = Clock::now() + 3 * given.heartbeat_timeout;
  ASSERT_TRUE(tests::Waiter().until([&] { return Clock::now() > later; }));
  std::ofstream(dir_ / "go") << "go";
  EXPECT_EQ(tests::wait_for_end(*service, id).attempts, 1);
}

TEST_F(SupervisionTest, FailsJobsWhenNoWorkerStarts) {
  ::setenv("KEDGE_FAKE_START", "crash", 1);
  auto service = start();
  std::string id;
  try {
    id = tests::submit(*service, job_spec("Succeed")).id;
    const Job job = tests::wait_for_end(*service, id);
    EXPECT_EQ(job.reason, "DEVICE_UNAVAILABLE");
    EXPECT_THAT(job.error->message, HasSubstr("exit code 9"));
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kDeviceUnavailable);
  }
  ::unsetenv("KEDGE_FAKE_START");
  ASSERT_TRUE(tests::Waiter().until([&] { return service->devices().at(0).missing.empty(); }));   // it continues to try
  expect_next_job_runs(*service);
}

TEST_F(SupervisionTest, CancelsAQueuedJobAtOnce) {
  const auto service = start();
  const std::string running = tests::submit(*service, job_spec("WaitForCancel")).id;
  ASSERT_TRUE(tests::wait_for_state(*service, running, JobState::kRunning));
  std::vector<std::string> waiting;   // more than have their data fetched ahead
  for (int i = 0; i < 10; ++i) waiting.push_back(tests::submit(*service, job_spec("Succeed")).id);
  service->cancel(waiting.back());
  EXPECT_EQ(service->find(waiting.back())->state, JobState::kCancelled);
  EXPECT_EQ(tests::story(*service, waiting.back()), "queued cancelled");
  service->cancel(waiting.front());   // this one is ready and waits for the worker
  EXPECT_EQ(service->find(waiting.front())->state, JobState::kCancelled);
  service->cancel(running);
  EXPECT_EQ(tests::wait_for_end(*service, waiting[1]).state, JobState::kSucceeded);
}

TEST_F(SupervisionTest, CancelsAFetch) {
  JobServiceOptions given = options();
  std::atomic<bool> stopped = false;
  given.acquire = [&](const schema::DatasetRef&, const std::function<void(schema::EventBody)>& emit,
                      std::stop_token stop, const DataCaller&) -> AcquiredDataset {
    std::atomic<bool> wake = false;
    const std::stop_callback on_stop(stop, [&] {
      wake = true;
      wake.notify_all();
    });
    wake.wait(false);
    emit(schema::ProgressEvent{.phase = "download", .done = 1});   // too late to be heard
    stopped = true;
    throw schema::Error(ErrorCode::kCancelled, "cancelled");
  };
  const auto service = start(given);
  const std::string id = tests::submit(*service, job_spec("Succeed")).id;
  ASSERT_TRUE(tests::wait_for_state(*service, id, JobState::kFetching));
  service->cancel(id);
  EXPECT_EQ(service->find(id)->state, JobState::kCancelled);
  EXPECT_TRUE(tests::Waiter().until([&] { return stopped.load(); }));
  EXPECT_EQ(tests::story(*service, id), "queued fetching cancelled");
}

TEST_F(SupervisionTest, CancelsARunningJobThatAnswers) {
  const auto service = start();
  const std::string id = tests::submit(*service, job_spec("WaitForCancel")).id;
  ASSERT_TRUE(tests::wait_for_state(*service, id, JobState::kRunning));
  const auto begin = Clock::now();
  service->cancel(id);
  EXPECT_EQ(tests::wait_for_end(*service, id).state, JobState::kCancelled);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
  EXPECT_EQ(tests::story(*service, id), "queued fetching running cancelled");
  expect_next_job_runs(*service);
}

TEST_F(SupervisionTest, KillsAWorkerThatIgnoresACancel) {
  const auto service = start();
  const std::string id = tests::submit(*service, job_spec("IgnoreCancel")).id;
  ASSERT_TRUE(tests::wait_for_state(*service, id, JobState::kRunning));
  const auto begin = Clock::now();
  service->cancel(id);
  service->cancel(id);   // twice is once, and does not put off the kill
  EXPECT_EQ(tests::wait_for_end(*service, id).state, JobState::kCancelled);
  EXPECT_LT(Clock::now() - begin, kForcedCancel);
  expect_next_job_runs(*service);
}

TEST_F(SupervisionTest, RefusesToCancelWhatHasEndedOrNeverWas) {
  const auto service = start();
  const std::string id = tests::submit(*service, job_spec("Succeed")).id;
  tests::wait_for_end(*service, id);
  EXPECT_EQ(cancel_error(*service, id), ErrorCode::kConflict);
  EXPECT_EQ(cancel_error(*service, "job_01ARYZ6S410000000000000000"), ErrorCode::kNotFound);
  EXPECT_EQ(service->find(id)->state, JobState::kSucceeded);
}

TEST_F(SupervisionTest, ACancelEndsInExactlyOneState) {
  const auto service = start();
  for (int round = 0; round < 50; ++round) {
    const std::string id = tests::submit(*service, job_spec("Succeed")).id;
    // A moment that differs from round to round: after a number of events.
    tests::wait_for(*service, id, [&](const Job&) {
      return service->events(id, 0, 100).size() > static_cast<std::size_t>(round % 8);
    });
    bool accepted = true;
    try {
      service->cancel(id);
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, ErrorCode::kConflict);
      accepted = false;
    }
    const Job job = tests::wait_for_end(*service, id);
    EXPECT_EQ(job.state, accepted ? JobState::kCancelled : JobState::kSucceeded);
    EXPECT_EQ(job.result.has_value(), !accepted);
  }
}

}  // namespace
}  // namespace kedge::server
