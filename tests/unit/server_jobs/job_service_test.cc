// The whole service with a fake worker: jobs from submit to end.
#include "server/jobs/job_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using schema::Job;
using schema::JobState;
using testing::HasSubstr;
using tests::job_spec;

class JobServiceTest : public testing::Test {
 protected:
  JobServiceOptions options() const { return tests::service_options(dir_.path(), KEDGE_FAKE_WORKER); }
  std::unique_ptr<JobService> start(JobServiceOptions options) { return std::make_unique<JobService>(std::move(options)); }
  std::unique_ptr<JobService> start() { return start(options()); }
  // True once the devices are known.
  static bool wait_for_devices(const JobService& service) {
    return tests::Waiter().until([&] { return !service.devices().empty(); });
  }
  static ErrorCode code_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const schema::Error& error) {
      return error.code;
    }
    ADD_FAILURE() << "no error was thrown";
    return ErrorCode::kInternal;
  }
  tests::TempDir dir_;
};

TEST_F(JobServiceTest, RunsAJobAndStoresItsStory) {
  const auto service = start();
  EXPECT_TRUE(service->ready());
  const Job submitted = tests::submit(*service, job_spec("Succeed"));
  EXPECT_TRUE(submitted.id.starts_with("job_"));
  EXPECT_EQ(submitted.state, JobState::kQueued);
  const Job job = tests::wait_for_end(*service, submitted.id);
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_EQ(job.attempts, 1);
  EXPECT_EQ(job.spec, submitted.spec);
  EXPECT_LE(job.created, job.started);
  EXPECT_LE(job.started, job.ended);
  ASSERT_TRUE(job.result);
  EXPECT_EQ(job.result->scores.at(0).second.mean, 0.75);
  EXPECT_EQ(tests::story(*service, job.id), "queued fetching running progress metric timing finalizing result succeeded");
}

TEST_F(JobServiceTest, StoresTheSameStoryOfAJobWhoseEndIsAwaited) {
  const auto service = start();
  std::promise<JobEnd> end;
  Job submitted = tests::submit(*service, job_spec("Succeed"), {.ended = [&](JobEnd told) { end.set_value(std::move(told)); }});
  EXPECT_TRUE(service->find(submitted.id)) << "it is on disk";
  end.get_future().get().complete(submitted);
  EXPECT_EQ(submitted.state, JobState::kSucceeded);
  EXPECT_EQ(service->find(submitted.id), submitted) << "the answer is what is on disk";
  EXPECT_EQ(tests::story(*service, submitted.id), "queued fetching running progress metric timing finalizing result succeeded");
}

// A tenth of them at least, as a busy machine may be slow; without that patience one of fifty is.
TEST_F(JobServiceTest, StoresABriefJobWhoseEndIsAwaitedAtOnceWithItsEnd) {
  struct Commits : JobObserver {
    void store_committed(double) override { ++count; }
    std::atomic<int> count = 0;
  } commits;
  JobServiceOptions given = options();
  given.observer = &commits;
  const auto service = start(given);
  int at_once = 0;
  for (int tried = 0; tried < 100 && at_once < 10; ++tried) {
    const int before = commits.count;
    std::promise<void> end;
    tests::submit(*service, job_spec("Succeed"), {.ended = [&](const JobEnd&) { end.set_value(); }});
    end.get_future().get();
    at_once += commits.count == before + 1;
  }
  EXPECT_EQ(at_once, 10);
}

TEST_F(JobServiceTest, StoresAJobWhoseEndIsAwaitedThoughThatIsFar) {
  const auto service = start();
  std::promise<JobEnd> end;
  Job submitted = tests::submit(*service, job_spec("WaitForCancel"), {.ended = [&](JobEnd told) { end.set_value(std::move(told)); }});
  EXPECT_TRUE(service->find(submitted.id));
  service->cancel(submitted.id);
  end.get_future().get().complete(submitted);
  EXPECT_EQ(submitted.state, JobState::kCancelled);
  EXPECT_EQ(service->find(submitted.id), submitted);
}

TEST_F(JobServiceTest, ReportsTheEndOfAJobThatFailsAndIsTriedAgain) {
  const auto service = start();
  for (const char* what : {"Fail", "CrashAlways"}) {
    std::promise<JobEnd> end;
    Job submitted = tests::submit(*service, job_spec(what), {.ended = [&](JobEnd told) { end.set_value(std::move(told)); }});
    end.get_future().get().complete(submitted);
    EXPECT_EQ(submitted.state, JobState::kFailed) << what;
    EXPECT_EQ(service->find(submitted.id), submitted) << what;
  }
}

TEST_F(JobServiceTest, AddsTheServersTimings) {
  JobServiceOptions given = options();
  given.acquire = [](const schema::DatasetRef&, const std::function<void(schema::EventBody)>& emit, std::stop_token, const DataCaller&) {
    emit(schema::ProgressEvent{.phase = "download", .done = 5, .total = 10, .unit = "bytes"});
    return AcquiredDataset{.path = "/dev/null", .download_seconds = 2.5, .parse_seconds = 0.5, .cold = true};
  };
  const auto service = start(given);
  const Job job = tests::wait_for_end(*service, tests::submit(*service, job_spec("Succeed")).id);
  ASSERT_TRUE(job.result);
  EXPECT_EQ(job.result->timings.download, 2.5);
  EXPECT_EQ(job.result->timings.parse, 0.5);
  EXPECT_TRUE(job.result->timings.cold);
  EXPECT_GT(job.result->timings.queued, 0);
  EXPECT_GE(job.result->timings.total, job.result->timings.queued);
  EXPECT_EQ(tests::story(*service, job.id),
            "queued fetching progress timing timing running progress metric timing finalizing result succeeded");
}

TEST_F(JobServiceTest, FailsAJobWithTheWorkersReason) {
  const auto service = start();
  const Job job = tests::wait_for_end(*service, tests::submit(*service, job_spec("Fail")).id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.reason, "BAD_DATA");
  ASSERT_TRUE(job.error);
  EXPECT_EQ(job.error->message, "one class only");
  EXPECT_FALSE(job.result);
}

TEST_F(JobServiceTest, FailsAJobWhoseDataCannotBeFetched) {
  JobServiceOptions given = options();
  given.acquire = [](const schema::DatasetRef&, const std::function<void(schema::EventBody)>&,
                     std::stop_token, const DataCaller&) -> AcquiredDataset {
    throw schema::Error(ErrorCode::kDatasetUnavailable, "the data's server is down");
  };
  const auto service = start(given);
  const Job job = tests::wait_for_end(*service, tests::submit(*service, job_spec("Succeed")).id);
  EXPECT_EQ(job.reason, "DATASET_UNAVAILABLE");
  EXPECT_EQ(job.attempts, 0);
  EXPECT_EQ(tests::story(*service, job.id), "queued fetching failed");
}

TEST_F(JobServiceTest, LeavesOutAModelForWhichItsTenantHasNoRoom) {
  JobServiceOptions given = options();
  given.limits.tenants.bytes = 60;   // one model of the fake worker has 40 bytes and more
  auto service = start(given);
  schema::JobSpec spec = job_spec("Succeed");
  spec.task = schema::Fit{};
  const Job first = tests::wait_for_end(*service, tests::submit(*service, spec, {.tenant = "alice"}).id);
  EXPECT_FALSE(first.result->model.empty());
  const std::uint64_t used = service->tenant_bytes().used("alice");
  EXPECT_EQ(used, static_cast<std::uint64_t>(service->find_model(first.result->model)->bytes));
  const Job second = tests::wait_for_end(*service, tests::submit(*service, spec, {.tenant = "alice"}).id);
  EXPECT_EQ(second.state, JobState::kSucceeded);
  EXPECT_TRUE(second.result->model.empty());
  EXPECT_THAT(second.result->warnings, testing::Contains(HasSubstr("was not stored: the data sets, models and artifacts of this tenant")));
  EXPECT_EQ(service->list_models(10, {}).models.size(), 1u);
  EXPECT_FALSE(tests::wait_for_end(*service, tests::submit(*service, spec, {.tenant = "bob"}).id).result->model.empty());
  service.reset();
  service = start(given);
  EXPECT_EQ(service->tenant_bytes().used("alice"), used) << "a restart counts them again";
  service->delete_model(first.result->model);
  EXPECT_EQ(service->tenant_bytes().used("alice"), 0u);
}

TEST_F(JobServiceTest, KeepsTheDataThatCameWithAJobUntilItsEnd) {
  const std::string marker = dir_ / "go";
  auto service = start();
  const auto begin = [&](const std::string& how) {
    const auto upload = service->uploads().begin_for_job("alice", "csv");
    upload->write("a,b\n1,2\n3," + std::to_string(how.size()) + "\n");
    const std::string id = service->new_id();
    service->uploads().give_to_job(id, upload->finish({}));
    return tests::submit(*service, job_spec(how, marker), {.tenant = "alice", .id = id}).id;
  };
  EXPECT_EQ(tests::wait_for_end(*service, begin("Succeed")).state, JobState::kSucceeded);
  EXPECT_TRUE(tests::Waiter().until([&] { return service->uploads().jobs().empty(); }));
  const std::string open = begin("Hold");
  EXPECT_TRUE(tests::wait_for_state(*service, open, JobState::kRunning));
  service.reset();
  service = start();
  EXPECT_EQ(service->uploads().jobs(), std::vector{open}) << "a restart keeps it while the job is open";
  std::ofstream(marker) << "go";
  EXPECT_EQ(tests::wait_for_end(*service, open).state, JobState::kSucceeded);
  EXPECT_TRUE(tests::Waiter().until([&] { return service->uploads().jobs().empty() && service->tenant_bytes().used("alice") == 0; }));
}

TEST_F(JobServiceTest, RefusesABadSpecWithoutStoringIt) {
  JobServiceOptions given = options();
  given.validate = [](const schema::JobSpec&, std::stop_token) { throw schema::Error(ErrorCode::kInvalidValue, "no", "pipeline[0]"); };
  const auto service = start(given);
  EXPECT_EQ(code_of([&] { tests::submit(*service, job_spec("Succeed")); }), ErrorCode::kInvalidValue);
  EXPECT_TRUE(service->list({}).jobs.empty());
}

TEST_F(JobServiceTest, RefusesAMissingDeviceWithTheReason) {
  const auto service = start();
  ASSERT_TRUE(wait_for_devices(*service));
  try {
    tests::submit(*service, job_spec("Succeed", "", "cuda"));
    FAIL() << "accepted";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kDeviceUnavailable);
    EXPECT_EQ(error.where, "device");
    EXPECT_THAT(error.message, HasSubstr("no NVIDIA driver"));
  }
}

TEST_F(JobServiceTest, FailsJobsForAMissingDeviceThatCameBeforeItWasKnown) {
  JobServiceOptions given = options();
  given.worker_program = dir_ / "no-such-worker";
  const auto service = start(given);
  std::string id;
  try {
    id = tests::submit(*service, job_spec("Succeed")).id;
  } catch (const schema::Error& error) {   // the devices were known first
    EXPECT_EQ(error.code, ErrorCode::kDeviceUnavailable);
    EXPECT_THAT(error.message, HasSubstr("no-such-worker"));
    return;
  }
  const Job job = tests::wait_for_end(*service, id);
  EXPECT_EQ(job.reason, "DEVICE_UNAVAILABLE");
  EXPECT_THAT(job.error->message, HasSubstr("no-such-worker"));
}

TEST_F(JobServiceTest, GivesEachDeviceTheJobsThatRequestIt) {
  ::setenv("KEDGE_FAKE_DEVICES", R"({"devices":[{"id":"cpu"},{"id":"cuda:0"},{"id":"cuda:1"}]})", 1);
  const auto service = start();
  ASSERT_TRUE(wait_for_devices(*service));
  ::unsetenv("KEDGE_FAKE_DEVICES");
  const std::string marker = dir_ / "go";
  // Three jobs that hold their workers can run at the same time only on three workers.
  std::vector<std::string> ids;
  for (const char* wish : {"cuda:1", "cpu", "auto"}) ids.push_back(tests::submit(*service, job_spec("Hold", marker, wish)).id);
  for (const std::string& id : ids) EXPECT_TRUE(tests::wait_for_state(*service, id, JobState::kRunning));
  const std::string fourth = tests::submit(*service, job_spec("Succeed", "", "cuda")).id;
  std::ofstream(marker) << "go";
  for (const std::string& id : ids) EXPECT_EQ(tests::wait_for_end(*service, id).state, JobState::kSucceeded);
  EXPECT_EQ(tests::wait_for_end(*service, fourth).state, JobState::kSucceeded);
}

TEST_F(JobServiceTest, RunsReadyJobsWhileOthersDownload) {
  JobServiceOptions given = options();
  std::atomic<bool> arrived = false;
  given.acquire = [&](const schema::DatasetRef& ref, const std::function<void(schema::EventBody)>&, std::stop_token, const DataCaller&) {
    if (std::get<schema::BuiltinRef>(ref.source).name == "slow") arrived.wait(false);
    return AcquiredDataset{.path = "/dev/null"};
  };
  const auto service = start(given);
  schema::JobSpec slow = job_spec("Succeed");
  slow.dataset.source = schema::BuiltinRef{"slow"};
  std::vector<std::string> slow_ids;
  for (int i = 0; i < 5; ++i) slow_ids.push_back(tests::submit(*service, slow).id);
  EXPECT_EQ(tests::wait_for_end(*service, tests::submit(*service, job_spec("Succeed")).id).state, JobState::kSucceeded);
  EXPECT_EQ(service->find(slow_ids[0])->state, JobState::kFetching);
  arrived = true;
  arrived.notify_all();
  for (const std::string& id : slow_ids) EXPECT_EQ(tests::wait_for_end(*service, id).state, JobState::kSucceeded);
}

TEST_F(JobServiceTest, ListsNewestFirstInPagesAndByState) {
  const auto service = start();
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(tests::submit(*service, job_spec(i == 2 ? "Fail" : "Succeed")).id);
  for (const std::string& id : ids) tests::wait_for_end(*service, id);
  std::vector<std::string> listed;
  JobFilter filter{.page_size = 2};
  do {
    const schema::JobPage page = service->list(filter);
    EXPECT_LE(page.jobs.size(), 2u);
    for (const Job& job : page.jobs) {
      listed.push_back(job.id);
      EXPECT_EQ(job.result.has_value(), job.state == JobState::kSucceeded);
      EXPECT_TRUE(!job.result || job.result->fitted.empty()) << "a headline alone";
    }
    filter.page_token = page.nextPageToken;
  } while (!filter.page_token.empty());
  EXPECT_EQ(listed, std::vector<std::string>(ids.rbegin(), ids.rend()));
  const schema::JobPage failed = service->list({.state = JobState::kFailed});
  ASSERT_EQ(failed.jobs.size(), 1u);
  EXPECT_EQ(failed.jobs[0].id, ids[2]);
}

TEST_F(JobServiceTest, RefusesBadPages) {
  const auto service = start();
  EXPECT_EQ(code_of([&] { service->list({.page_size = 0}); }), ErrorCode::kInvalidValue);
  EXPECT_EQ(code_of([&] { service->list({.page_size = 501}); }), ErrorCode::kInvalidValue);
  EXPECT_EQ(code_of([&] { service->list({.page_token = "' OR 1"}); }), ErrorCode::kInvalidValue);
  EXPECT_EQ(code_of([&] { service->list_models(10, "mdl_1"); }), ErrorCode::kInvalidValue);
  EXPECT_TRUE(service->list_models(10, "mdl_01M8105NCEXC2ZGB6BH5ACHVBX").models.empty());
}

TEST_F(JobServiceTest, ASubscriberMissesNoEvent) {
  const auto service = start();
  for (int round = 0; round < 20; ++round) {
    const std::string id = tests::submit(*service, job_spec("Succeed")).id;
    // Follows as an event stream does: reads what is there, then waits to be woken.
    tests::Waiter waiter;
    std::atomic<bool> woken = true;
    const auto subscription = service->subscribe(id, [&] {
      woken = true;
      waiter.touch();
    });
    std::vector<schema::Event> seen;
    const auto ended = [&] {
      const auto* state = seen.empty() ? nullptr : std::get_if<schema::StateEvent>(&seen.back().body);
      return state && schema::is_final(state->state);
    };
    while (!ended()) {
      ASSERT_TRUE(waiter.until([&] { return woken.exchange(false); })) << "not woken after event " << seen.size();
      for (const schema::Event& event : service->events(id, static_cast<std::int64_t>(seen.size()), 100)) {
        ASSERT_EQ(event.id, static_cast<std::int64_t>(seen.size()) + 1);
        seen.push_back(event);
      }
    }
    EXPECT_EQ(seen, service->events(id, 0, 100));
  }
}

TEST_F(JobServiceTest, ASubscriptionEndsWithItsHandle) {
  const auto service = start();
  const std::string id = tests::submit(*service, job_spec("WaitForCancel")).id;
  std::atomic<int> calls = 0;
  auto subscription = service->subscribe(id, [&] { ++calls; });
  std::shared_ptr<void> ends_itself;
  std::atomic<bool> ended = false;
  ends_itself = service->subscribe(id, [&] {
    ends_itself.reset();
    ended = true;
  });
  subscription.reset();
  const int calls_then = calls;
  service->cancel(id);
  tests::wait_for_end(*service, id);
  EXPECT_EQ(calls, calls_then);
  EXPECT_TRUE(tests::Waiter().until([&] { return ended.load(); }));
}

TEST_F(JobServiceTest, AHandleMayOutliveTheService) {
  auto service = start();
  const auto subscription = service->subscribe("job_1", [] {});
  service.reset();
  SUCCEED();
}

TEST_F(JobServiceTest, StoresAtMostTenProgressEventsASecond) {
  const auto service = start();
  const auto start_time = std::chrono::steady_clock::now();
  const Job job = tests::wait_for_end(*service, tests::submit(*service, job_spec("Flood")).id);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time).count();
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_LE(static_cast<double>(service->events(job.id, 0, 100'000).size()), 10 + 10 * seconds);
}

TEST_F(JobServiceTest, DiscardsReportsWithAStaleLease) {
  const auto service = start();
  const Job job = tests::wait_for_end(*service, tests::submit(*service, job_spec("StaleToken")).id);
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_TRUE(job.result->warnings.empty());
  EXPECT_EQ(tests::story(*service, job.id), "queued fetching running progress metric timing finalizing result succeeded");
}

TEST_F(JobServiceTest, TakesSubmitsFromManyThreads) {
  const auto service = start();
  constexpr int kThreads = 16, kEach = 20;
  std::vector<std::jthread> threads;
  std::atomic<int> stored = 0;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) stored += service->find(tests::submit(*service, job_spec("Succeed")).id).has_value();
    });
  threads.clear();
  EXPECT_EQ(stored, kThreads * kEach);
  EXPECT_TRUE(tests::Waiter().until([&] {
    return service->list({.state = JobState::kSucceeded, .page_size = 500}).jobs.size() == kThreads * kEach;
  }));
}

}  // namespace
}  // namespace kedge::server
