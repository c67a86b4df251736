// The table of job states: its counts, its steps, and what it leaves in the store.
#include "server/jobs/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/error.h"
#include "tests/unit/server_jobs/job_parts.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::JobState;
using testing::ElementsAre;
using testing::HasSubstr;

struct JobTableTest : testing::Test {
  tests::TempDir dir;
  std::optional<tests::JobParts> parts{std::in_place, dir.path()};
  JobTable& table = parts->table;
};

TEST_F(JobTableTest, CountsTheOpenJobsOfEachTenant) {
  const JobPointer first = parts->add("job_1", "alice");
  parts->add("job_2", "alice"), parts->add("job_3", "bob");
  const TableLock held = table.lock();
  EXPECT_EQ(table.open_jobs(held, "alice"), 2u);
  table.finish(held, first, {.state = JobState::kCancelled});
  EXPECT_EQ(table.open_jobs(held, "alice"), 1u) << "a job that has ended is not open";
  EXPECT_EQ(table.open_jobs(held, "bob"), 1u);
  EXPECT_EQ(table.open_jobs(held, "carol"), 0u);
}

TEST_F(JobTableTest, KnowsAJobUntilItsEndIsOnDisk) {
  const JobPointer job = parts->add("job_1");
  {
    const TableLock held = table.lock();
    table.fail(held, job, Error(ErrorCode::kInternal, "broken"));
    EXPECT_EQ(table.find(held, "job_1"), job) << "the lock is held, so its end cannot have been noted yet";
  }
  parts->settle();
  EXPECT_EQ(table.find(table.lock(), "job_1"), nullptr);
  EXPECT_EQ(parts->store.find("job_1")->reason, "INTERNAL");
}

TEST_F(JobTableTest, ReportsTheEndToTheSubmitterOnceItIsOnDisk) {
  const JobPointer job = parts->add("job_1");
  std::optional<JobEnd> end;
  job->ended = [&](JobEnd reported) { end = std::move(reported); };
  {
    const TableLock held = table.lock();
    table.change(held, job, {.state = JobState::kRunning, .new_lease = table.next_lease(held), .starts_attempt = true});
    table.fail(held, job, Error(ErrorCode::kInvalidValue, "too large", "task.cv"));
  }
  parts->settle();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->state, JobState::kFailed);
  EXPECT_EQ(end->attempts, 1);
  EXPECT_EQ(end->error->where, "task.cv");
}

TEST_F(JobTableTest, DoesNotReportAnEndThatTheStoreRefused) {
  const JobPointer job = parts->add("job_1");
  bool reported = false;
  job->ended = [&](JobEnd) { reported = true; };
  {
    const TableLock held = table.lock();
    table.change(held, job, {.state = JobState::kRunning, .new_lease = table.next_lease(held)});
    table.finish(held, job,
                 {.state = JobState::kSucceeded, .held_lease = table.next_lease(held)});   // of another attempt
  }
  parts->settle();
  EXPECT_FALSE(reported);
  EXPECT_EQ(parts->store.find("job_1")->state, JobState::kRunning);
}

TEST_F(JobTableTest, TakesAJobThatEndsOutOfTheQueue) {
  const JobPointer job = parts->add("job_1");
  const TableLock held = table.lock();
  table.queue(held).push(job->id, job->queue_key());
  table.finish(held, job, {.state = JobState::kCancelled});
  EXPECT_EQ(table.queue(held).take_to_fetch(), std::nullopt);
}

TEST_F(JobTableTest, ReportsStepsInTheOrderOfDecisions) {
  const JobPointer first = parts->add("job_1"), second = parts->add("job_2");
  const TableLock held = table.lock();
  table.change(held, second, {.state = JobState::kFetching});
  table.change(held, first, {.state = JobState::kFetching});
  table.finish(held, second, {.state = JobState::kCancelled});
  EXPECT_THAT(parts->recorder.steps(), ElementsAre("job_2 fetching", "job_1 fetching", "job_2 cancelled"));
}

TEST_F(JobTableTest, ForgetsAJobThatWasNeverStored) {
  const JobPointer job = parts->add("job_1", "alice");
  const TableLock held = table.lock();
  table.remove(held, job);
  EXPECT_EQ(table.find(held, "job_1"), nullptr);
  EXPECT_EQ(table.open_jobs(held, "alice"), 0u);
}

TEST_F(JobTableTest, CountsJobsByStateAndTheOldestThatWaits) {
  const JobPointer waiting = parts->add("job_1"), running = parts->add("job_2"), ended = parts->add("job_3");
  const TableLock held = table.lock();
  waiting->waiting_since -= std::chrono::hours(1);
  running->waiting_since -= std::chrono::hours(2);
  table.change(held, running, {.state = JobState::kRunning});
  table.finish(held, ended, {.state = JobState::kCancelled});
  Load load;
  table.count(held, load);
  EXPECT_EQ(load.jobs.at("queued"), 1u);
  EXPECT_EQ(load.jobs.at("running"), 1u);
  EXPECT_EQ(load.jobs.at("fetching"), 0u);
  EXPECT_GE(load.oldest_wait_seconds, 3600);
  EXPECT_LT(load.oldest_wait_seconds, 7200) << "what runs waits no more";
}

TEST_F(JobTableTest, StartsNoWorkOnceItDrains) {
  const TableLock held = table.lock();
  EXPECT_TRUE(table.starts_work(held));
  table.begin_drain(held);
  EXPECT_FALSE(table.starts_work(held));
  EXPECT_FALSE(table.is_stopping(held));
  table.begin_stop(held);
  table.begin_drain(held);
  EXPECT_TRUE(table.is_stopping(held)) << "a drain does not take the stop back";
}

TEST_F(JobTableTest, StoresProgressAtMostTenTimesASecond) {
  const JobPointer job = parts->add("job_1");
  {
    const TableLock held = table.lock();
    for (int i = 0; i < 5; ++i) table.append(held, job, schema::ProgressEvent{.phase = "fit", .done = i, .total = 10});
  }
  parts->settle();
  EXPECT_EQ(parts->store.events("job_1", 0, 100).size(), 2u) << "its submit, and the first of the progress";
}

TEST_F(JobTableTest, QueuesInterruptedJobsAgainWhenItCloses) {
  const JobPointer running = parts->add("job_1"), cancelled = parts->add("job_2"), waiting = parts->add("job_3");
  {
    const TableLock held = table.lock();
    table.change(held, running, {.state = JobState::kRunning, .new_lease = table.next_lease(held)});
    table.change(held, cancelled, {.state = JobState::kRunning, .new_lease = table.next_lease(held)});
    cancelled->cancel_requested = true;
  }
  parts.reset();
  Store store(dir.path(), [](const std::string&) {});
  EXPECT_EQ(store.find("job_1")->state, JobState::kQueued);
  EXPECT_EQ(store.find("job_1")->reason, "SERVER_STOPPED");
  EXPECT_EQ(store.find("job_2")->state, JobState::kCancelled) << "a cancel that was acknowledged holds";
  EXPECT_EQ(store.find("job_3")->state, JobState::kQueued);
  EXPECT_GT(store.last_lease(), 2) << "each number is used once";
}

TEST(JobDeadlines, NamesTheDeadlineOfWhatTheJobDoes) {
  ActiveJob job;
  job.limit = 3;
  EXPECT_EQ(JobDeadlines::error(job).where, "deadlines.queue");
  job.state = JobState::kFetching;
  EXPECT_EQ(JobDeadlines::error(job).where, "deadlines.fetch");
  job.spec.emplace();
  EXPECT_EQ(JobDeadlines::error(job).where, "deadlines.queue") << "its data is there, so it waits for a worker";
  job.state = JobState::kRunning;
  EXPECT_EQ(JobDeadlines::error(job).where, "deadlines.run");
  EXPECT_THAT(JobDeadlines::error(job).message, HasSubstr("3 s"));
}

TEST(JobDeadlines, TakesTheShorterOfTheJobsAndTheServers) {
  JobDeadlines deadlines([](const std::string&) {});
  ActiveJob job;
  job.id = "job_1", job.deadlines = {.queue = 0, .fetch = 500, .run = 2000};
  deadlines.set_limits({.queue = 0, .fetch = 1000, .run = 1000});
  deadlines.set_fetch(job);
  EXPECT_EQ(job.limit, 500);
  deadlines.set_run(job);
  EXPECT_EQ(job.limit, 1000);
  EXPECT_FALSE(JobDeadlines::has_passed(job));
  job.waiting_since = ActiveJob::Clock::now();
  deadlines.set_wait(job);
  EXPECT_EQ(job.deadline, ActiveJob::Clock::time_point::max()) << "neither has one for waiting";
}

TEST(JobDeadlines, CountEarlierWaits) {
  JobDeadlines deadlines([](const std::string&) {});
  ActiveJob job;
  job.id = "job_1", job.deadlines.queue = 1000, job.queued_seconds = 2000, job.waiting_since = ActiveJob::Clock::now();
  deadlines.set_wait(job);
  EXPECT_TRUE(JobDeadlines::has_passed(job));
}

TEST(CrashHistory, CountsEachTenantsDescriptions) {
  ActiveJob job, of_another;
  job.tenant = "alice", job.digest = of_another.digest = "d", of_another.tenant = "bob";
  CrashHistory history({{"alice\nd", 2}});   // as the store has it
  history.add(job);
  EXPECT_EQ(history.count(job), 3);
  EXPECT_EQ(history.count(of_another), 0);
  history.forget(job);
  EXPECT_EQ(history.count(job), 0);
}

}   // namespace
}   // namespace kedge::server
