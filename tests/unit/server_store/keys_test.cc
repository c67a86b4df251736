// Idempotency keys, and what is forgotten when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "server/store/store.h"
#include "server/store/retention.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using schema::JobState;

constexpr std::string_view kLongAgo = "2020-01-02T03:04:05.678Z";

// Long after anything that a test does by itself.
constexpr RetentionOptions kNever{.jobs = std::chrono::seconds(0),
                                  .events = std::chrono::seconds(0),
                                  .events_per_job = 0,
                                  .store_bytes = 0,
                                  .interval = std::chrono::hours(1)};

class StoreKeysTest : public testing::Test {
 protected:
  void write(std::function<void(StoreWriter&)> apply) {
    std::promise<void> done;
    store_.enqueue({.apply = std::move(apply), .committed = [&] { done.set_value(); }});
    done.get_future().get();
  }
  static NewJob job(const std::string& id, const std::string& key = {}, const std::string& digest = {}) {
    return {.job = {.id = id, .spec = tests::job_spec("Succeed"), .created = std::string(kLongAgo)},
            .idempotency_key = key,
            .digest = digest};
  }
  // A job that has ended at `time`, with ten events.
  void add_ended(const std::string& id, std::string_view time) {
    write([&](StoreWriter& w) {
      w.insert(job(id));
      for (int i = 0; i < 7; ++i) w.append(id, 0, time, schema::LogEvent{"info", "x"});
      w.change({.job = id, .state = JobState::kSucceeded, .time = std::string(time), .result = schema::Result{.nSamples = 5}});
    });
  }
  tests::TempDir dir_;
  Store store_{dir_.path(), [](const std::string&) {}};
};

TEST_F(StoreKeysTest, TheSameKeyAndBodyGivesTheFirstJobAgain) {
  std::optional<schema::Job> first, second;
  write([&](StoreWriter& w) { first = w.insert(job("job_1", "key", "digest")); });
  write([&](StoreWriter& w) { second = w.insert(job("job_2", "key", "digest")); });
  EXPECT_FALSE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->id, "job_1");
  EXPECT_FALSE(store_.find("job_2"));
}

TEST_F(StoreKeysTest, TheSameKeyWithAnotherBodyIsRefused) {
  write([&](StoreWriter& w) { w.insert(job("job_1", "key", "digest")); });
  std::promise<ErrorCode> refused;
  store_.enqueue({.apply = [&](StoreWriter& w) { w.insert(job("job_2", "key", "other")); },
                  .refused = [&](const schema::Error& error) { refused.set_value(error.code); }});
  EXPECT_EQ(refused.get_future().get(), ErrorCode::kIdempotencyKeyReused);
  EXPECT_FALSE(store_.find("job_2"));
}

TEST_F(StoreKeysTest, AKeyOfAForgottenJobSaysSoAndMakesNoOther) {
  write([&](StoreWriter& w) { w.insert(job("job_1", "key", "digest")); });
  write([&](StoreWriter& w) { w.change({.job = "job_1", .state = JobState::kSucceeded, .time = std::string(kLongAgo)}); });
  write([&](StoreWriter& w) { w.remove("job_1"); });
  std::promise<schema::Error> refused;
  store_.enqueue({.apply = [&](StoreWriter& w) { w.insert(job("job_2", "key", "digest")); },
                  .refused = [&](const schema::Error& error) { refused.set_value(error); }});
  const schema::Error error = refused.get_future().get();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.where, "Idempotency-Key");
  EXPECT_THAT(error.message, testing::HasSubstr("the job job_1, which has been forgotten since"));
  EXPECT_FALSE(store_.find("job_2"));
}

TEST_F(StoreKeysTest, AnotherTenantsKeyIsAnotherKey) {
  NewJob other = job("job_2", "key", "other");
  other.tenant = "bob";
  write([&](StoreWriter& w) { w.insert(job("job_1", "key", "digest")); });
  write([&](StoreWriter& w) { EXPECT_FALSE(w.insert(other)); });
  EXPECT_TRUE(store_.find("job_2"));
}

TEST_F(StoreKeysTest, ForgetsOldJobsAndKeepsOpenOnes) {
  add_ended("job_1", kLongAgo);
  add_ended("job_2", "2999-01-01T00:00:00.000Z");
  write([&](StoreWriter& w) { w.insert(job("job_3")); });
  RetentionOptions options = kNever;
  options.jobs = std::chrono::hours(24);
  Retention(store_, options).sweep();
  EXPECT_FALSE(store_.find("job_1"));
  EXPECT_TRUE(store_.events("job_1", 0, 100).empty());
  EXPECT_TRUE(store_.find("job_2"));
  EXPECT_TRUE(store_.find("job_3"));
}

TEST_F(StoreKeysTest, ForgetsTheOldestWhenTheStoreIsTooBig) {
  add_ended("job_1", kLongAgo);
  write([&](StoreWriter& w) { w.insert(job("job_2")); });
  RetentionOptions options = kNever;
  options.store_bytes = 1;
  Retention(store_, options).sweep();
  EXPECT_FALSE(store_.find("job_1"));
  EXPECT_TRUE(store_.find("job_2"));   // open jobs are never forgotten
}

TEST_F(StoreKeysTest, CountsTransactionsThatRemoveJobs) {
  add_ended("job_1", kLongAgo);
  EXPECT_EQ(store_.removals(), 0u);
  write([&](StoreWriter& w) { w.trim_events("job_1", 2); });
  EXPECT_EQ(store_.removals(), 0u) << "the job itself is as it was";
  write([&](StoreWriter& w) { w.remove("job_1"); });
  EXPECT_EQ(store_.removals(), 1u);
  write([&](StoreWriter& w) { w.insert(job("job_2")); });
  EXPECT_EQ(store_.removals(), 1u);
}

TEST_F(StoreKeysTest, SaysWhichEventsAreNoLongerKept) {
  add_ended("job_1", kLongAgo);
  RetentionOptions options = kNever;
  options.events = std::chrono::hours(24);
  Retention(store_, options).sweep();
  const auto events = store_.events("job_1", 2, 100);
  ASSERT_EQ(events.size(), 3u);
  const auto gap = std::get<schema::GapEvent>(events[0].body);
  EXPECT_EQ(events[0].id, 8);   // reading continues after it
  EXPECT_EQ(gap.from, 3);
  EXPECT_EQ(gap.to, 8);
  EXPECT_EQ(gap.job.state, JobState::kSucceeded);
  EXPECT_EQ(gap.job.result->nSamples, 5);
  EXPECT_TRUE(std::holds_alternative<schema::ResultEvent>(events[1].body));
  EXPECT_EQ(events[2].id, 10);
}

TEST_F(StoreKeysTest, BoundsTheEventsOfAJobThatRuns) {
  write([&](StoreWriter& w) {
    w.insert(job("job_1"));
    for (int i = 0; i < 19; ++i) w.append("job_1", 0, "t", schema::LogEvent{"info", "x"});
  });
  RetentionOptions options = kNever;
  options.events_per_job = 5;
  Retention(store_, options).sweep();
  const auto events = store_.events("job_1", 0, 100);
  ASSERT_EQ(events.size(), 6u);   // a gap and five
  EXPECT_EQ(std::get<schema::GapEvent>(events[0].body).to, 15);
  EXPECT_EQ(events[1].id, 16);
}

}  // namespace
}  // namespace kedge::server
