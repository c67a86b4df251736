// How jobs are let in, stored, queued and taken out again, without a worker.
#include "server/jobs/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <memory>

#include "schemas/error.h"
#include "schemas/quota.h"
#include "tests/unit/server_jobs/job_parts.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::JobState;
using testing::HasSubstr;

NewJob new_job(const std::string& id, const std::string& tenant = {}, const std::string& device = "auto") {
  return {.job = {.id = id, .spec = tests::job_spec("Succeed", {}, device)},
          .tenant = tenant,
          .idempotency_key = {},
          .digest = "d"};
}

// What a submit is answered with. Shared with its callbacks.
struct Answer {
  std::promise<schema::Job> submitted;
  std::promise<Error> failed;
  std::promise<JobEnd> ended;
};

struct AdmissionTest : testing::Test {
  std::shared_ptr<Answer> submit(NewJob job) {
    auto answer = std::make_shared<Answer>();
    parts->admission.submit(
        std::move(job), {.submitted = [answer](schema::Job stored) { answer->submitted.set_value(std::move(stored)); },
                         .failed = [answer](const Error& error) { answer->failed.set_value(error); },
                         .ended = [answer](JobEnd end) { answer->ended.set_value(std::move(end)); }});
    return answer;
  }
  // Jobs stay in the queue.
  void hold_the_queue() { parts->table.begin_drain(parts->table.lock()); }
  std::size_t open_jobs(const std::string& tenant) { return parts->table.open_jobs(parts->table.lock(), tenant); }

  tests::TempDir dir;
  std::optional<tests::JobParts> parts{std::in_place, dir.path()};
};

TEST_F(AdmissionTest, AnswersWhenTheJobIsOnDisk) {
  const schema::Job job = tests::kept(submit(new_job("job_1", "alice"))->submitted);
  EXPECT_EQ(job.id, "job_1");
  EXPECT_EQ(job.state, JobState::kQueued);
  EXPECT_EQ(parts->store.find("job_1")->created, job.created);
  EXPECT_EQ(parts->store.tenant("job_1"), "alice");
}

TEST_F(AdmissionTest, RefusesAJobOfATenantThatHasAsManyAsItMay) {
  parts->admission.set_limit(parts->table.lock(), 1);
  hold_the_queue();
  submit(new_job("job_1", "alice"));
  EXPECT_THROW(parts->admission.require_room("alice"), schema::QuotaExceeded);
  EXPECT_THROW(submit(new_job("job_2", "alice")), schema::QuotaExceeded);
  EXPECT_EQ(open_jobs("alice"), 1u);
  tests::kept(submit(new_job("job_3", "bob"))->submitted);
  EXPECT_TRUE(parts->admission.cancel("job_1"));
  tests::kept(submit(new_job("job_4", "alice"))->submitted);   // there is room again
}

TEST_F(AdmissionTest, GivesTheRoomBackWhereTheStoreRefusesTheJob) {
  hold_the_queue();
  parts->store.close();
  const auto answer = submit(new_job("job_1", "alice"));
  EXPECT_EQ(tests::kept(answer->failed).code, ErrorCode::kUnavailable);
  EXPECT_EQ(open_jobs("alice"), 0u);
}

// A job behind others waits for its row, because a run of its would only delay the sync that they share.
TEST_F(AdmissionTest, BeginsAfterTheRowWhereTheStoreIsBusy) {
  std::latch entered(1), release(1);
  parts->store.enqueue({.apply = [&](StoreWriter&) { entered.count_down(), release.wait(); }});
  entered.wait();
  parts->store.enqueue({.apply = [](StoreWriter&) {}});   // waits behind the first
  const auto answer = submit(new_job("job_1"));
  const JobPointer job = parts->table.find(parts->table.lock(), "job_1");
  EXPECT_EQ(parts->state_of(job), JobState::kQueued);
  release.count_down();
  tests::kept(answer->submitted);
  EXPECT_EQ(parts->state_of(job), JobState::kFetching);
}

TEST_F(AdmissionTest, HandsAJobToFetchingWhichHandsItOn) {
  const auto answer = submit(new_job("job_1"));
  tests::kept(answer->submitted);
  const JobPointer job = parts->table.find(parts->table.lock(), "job_1");
  EXPECT_TRUE(tests::Waiter().until([&] {
    const TableLock held = parts->table.lock();
    return job->spec.has_value();
  }));
  const TableLock held = parts->table.lock();
  EXPECT_EQ(parts->table.queue(held).take_ready([](std::string_view) { return true; }), "job_1")
      << "it waits for a worker";
}

TEST_F(AdmissionTest, FailsADescriptionThatKilledItsWorkersWithoutRunningIt) {
  ActiveJob like;
  like.tenant = "alice", like.digest = "d";
  for (std::int64_t i = 0; i < CrashHistory::kMost; ++i) {
    const TableLock held = parts->table.lock();
    parts->table.crashes(held).add(like);
  }
  const JobEnd end = tests::kept(submit(new_job("job_1", "alice"))->ended);
  EXPECT_EQ(end.reason, "WORKER_CRASHED");
  EXPECT_THAT(end.error->message, HasSubstr("not run: the last 3 jobs"));
  EXPECT_EQ(end.attempts, 0);
  EXPECT_EQ(open_jobs("alice"), 0u);
}

TEST_F(AdmissionTest, FailsAJobThatNoDeviceOfTheHostServes) {
  hold_the_queue();
  parts->running.devices_known({{.id = "cpu"}});
  const JobEnd end = tests::kept(submit(new_job("job_1", {}, "cuda:7"))->ended);
  EXPECT_EQ(end.reason, "DEVICE_UNAVAILABLE");
  EXPECT_EQ(end.error->where, "device");
}

TEST_F(AdmissionTest, CancelsAJobThatWaits) {
  hold_the_queue();
  const auto answer = submit(new_job("job_1"));
  tests::kept(answer->submitted);
  EXPECT_TRUE(parts->admission.cancel("job_1"));
  EXPECT_EQ(tests::kept(answer->ended).state, JobState::kCancelled);
  parts->settle();
  EXPECT_FALSE(parts->admission.cancel("job_1")) << "its end is on disk, so the store answers";
}

TEST_F(AdmissionTest, KnowsNoJobThatWasNotSubmitted) {
  EXPECT_FALSE(parts->admission.cancel("job_0"));
}

TEST_F(AdmissionTest, StopsTheFetchOfAJobThatIsCancelled) {
  std::promise<void> begun;
  parts.reset();
  parts.emplace(dir.path(),
                DataSource{.acquire = [&](const schema::DatasetRef&, const std::function<void(schema::EventBody)>&,
                                          std::stop_token stop, const DataCaller&) -> AcquiredDataset {
                  std::latch stopped(1);
                  const std::stop_callback wake(stop, [&] { stopped.count_down(); });
                  begun.set_value();
                  stopped.wait();
                  throw Error(ErrorCode::kCancelled, "stopped");
                }});
  const auto answer = submit(new_job("job_1"));
  tests::kept(begun);
  EXPECT_TRUE(parts->admission.cancel("job_1"));
  EXPECT_EQ(tests::kept(answer->ended).state, JobState::kCancelled);
}

TEST_F(AdmissionTest, TakesUpTheOpenJobsOfTheStore) {
  hold_the_queue();
  tests::kept(submit(new_job("job_1", "alice"))->submitted);
  tests::kept(submit(new_job("job_2", "alice"))->submitted);
  parts.reset();
  parts.emplace(dir.path());
  hold_the_queue();
  const TableLock held = parts->table.lock();
  parts->admission.recover(held);
  EXPECT_EQ(parts->table.open_jobs(held, "alice"), 2u);
  EXPECT_EQ(parts->table.queue(held).take_to_fetch(), "job_1");
  EXPECT_EQ(parts->table.queue(held).take_to_fetch(), "job_2");
}

}   // namespace
}   // namespace kedge::server
