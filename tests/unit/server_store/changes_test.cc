// The changes of the list of jobs: each is seen once, none is lost, and no position is given out twice; and searching
// the list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "server/store/store.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::JobState;
using testing::ElementsAre;

struct Changes : testing::Test {
  void write(std::function<void(StoreWriter&)> apply) {
    std::promise<void> done;
    store->enqueue({.apply = std::move(apply), .committed = [&] { done.set_value(); }});
    done.get_future().get();
  }
  void insert(const std::string& id, const std::string& tenant = {}) {
    write([&](StoreWriter& w) {
      w.insert({.job = {.id = id, .spec = tests::job_spec("Succeed"), .created = "t0"}, .tenant = tenant});
    });
  }
  void change(const std::string& id, JobState state) {
    write([&](StoreWriter& w) { w.change({.job = id, .state = state, .time = "t1"}); });
  }
  std::vector<std::string> since(std::int64_t after, std::optional<std::string> tenant = {}) {
    std::vector<std::string> ids;
    for (const auto& changed : store->changes(after, 100, tenant).jobs) ids.push_back(changed.job.id);
    return ids;
  }
  std::int64_t position() { return store->changes(0, 100).position; }
  void reopen() {
    store.reset();
    store = std::make_unique<Store>(dir.path(), [this](const std::string& job) { woken.push_back(job); });
  }

  const tests::TempDir dir;
  std::vector<std::string> woken;   // by the writer, which is at rest when a write has been committed
  std::unique_ptr<Store> store = std::make_unique<Store>(dir.path(), [](const std::string&) {});
};

TEST_F(Changes, TellEachJobOnceInTheOrderOfItsLastChange) {
  insert("job_1");
  insert("job_2");
  const std::int64_t both = position();
  EXPECT_THAT(since(0), ElementsAre("job_1", "job_2"));
  change("job_1", JobState::kFetching);
  change("job_1", JobState::kRunning);
  EXPECT_THAT(since(0), ElementsAre("job_2", "job_1"));
  EXPECT_THAT(since(both), ElementsAre("job_1"));
  EXPECT_EQ(store->changes(both, 100).jobs.front().job.state, JobState::kRunning);
  EXPECT_THAT(since(position()), ElementsAre());
}

TEST_F(Changes, AreThoseOfStatesAndNotOfOtherEvents) {
  insert("job_1");
  const std::int64_t before = position();
  write([](StoreWriter& w) {
    w.append("job_1", 0, "t1", schema::ProgressEvent{.phase = "fold", .done = 1, .total = 5});
  });
  EXPECT_EQ(position(), before);
}

TEST_F(Changes, ComeInPiecesWithoutAGap) {
  for (int i = 0; i < 10; ++i) insert("job_" + std::to_string(i));
  std::vector<std::string> seen;
  for (JobChanges next{.jobs = {}, .more = true}; next.more;) {
    next = store->changes(next.position, 3);
    for (const auto& changed : next.jobs) seen.push_back(changed.job.id);
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(seen, since(0));
}

TEST_F(Changes, AreATenantsOwn) {
  insert("job_1", "alice");
  insert("job_2", "bob");
  EXPECT_THAT(since(0, "alice"), ElementsAre("job_1"));
  EXPECT_THAT(since(0), ElementsAre("job_1", "job_2"));
  EXPECT_EQ(store->changes(0, 100, "alice").position, position()) << "what others do is not looked at again";
}

TEST_F(Changes, NeverHaveAPositionTwiceThoughTheJobIsRemovedAndTheStoreReopened) {
  insert("job_1");
  change("job_1", JobState::kCancelled);
  const std::int64_t last = position();
  write([](StoreWriter& w) { w.remove("job_1"); });
  reopen();
  EXPECT_EQ(position(), last);
  insert("job_2");
  EXPECT_GT(position(), last);
  EXPECT_THAT(since(last), ElementsAre("job_2"));
}

TEST_F(Changes, WakeThoseWhoWaitForTheList) {
  reopen();
  insert("job_1");
  store->close();   // the writer has called all by now
  EXPECT_THAT(woken, testing::Contains(""));
}

TEST_F(Changes, DoNotWakeForProgress) {
  insert("job_1");
  reopen();
  write([](StoreWriter& w) {
    w.append("job_1", 0, "t1", schema::ProgressEvent{.phase = "fold", .done = 1, .total = 5});
  });
  store->close();
  EXPECT_THAT(woken, testing::Not(testing::Contains("")));
}

TEST_F(Changes, SearchFindsJobsWithAllWords) {
  insert("job_1");
  insert("job_2");
  change("job_2", JobState::kCancelled);
  const auto found = [&](std::string_view words, std::int64_t page_size = 50) {
    std::vector<std::string> ids;
    for (const auto& job : store->search(words, {}, page_size, {}).jobs) ids.push_back(job.id);
    return ids;
  };
  EXPECT_THAT(found("SUCCEED"), ElementsAre("job_2", "job_1"));
  EXPECT_THAT(found("succeed cancelled"), ElementsAre("job_2"));
  EXPECT_THAT(found("succeed nothing"), ElementsAre());
  EXPECT_THAT(found("succeed", 1), ElementsAre("job_2"));
  const schema::JobPage first = store->search("succeed", {}, 1, {});
  EXPECT_EQ(store->search("succeed", {}, 1, first.nextPageToken).jobs.front().id, "job_1");
}

}   // namespace
}   // namespace kedge::server
