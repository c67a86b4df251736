// The store alone: what is written together, what is refused, what is found again.
#include "server/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>

#include "crypto/digest.h"
#include "schemas/codec.h"
#include "server/data/inline_data.h"
#include "server/store/pages.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using schema::JobState;
using testing::HasSubstr;

NewJob new_job(const std::string& id, const std::string& key = {}, const std::string& digest = {}) {
  return {.job = {.id = id, .spec = tests::job_spec("Succeed"), .created = "2026-01-02T03:04:05.678Z"},
          .idempotency_key = key,
          .digest = digest};
}

// Writes and waits for the commit.
void write(Store& store, std::function<void(StoreWriter&)> apply) {
  std::promise<void> done;
  store.enqueue({.apply = std::move(apply), .committed = [&] { done.set_value(); }});
  done.get_future().get();
}

class StoreTest : public testing::Test {
 protected:
  std::unique_ptr<Store> open() { return std::make_unique<Store>(dir_.path(), [](const std::string&) {}); }
  tests::TempDir dir_;
};

TEST_F(StoreTest, KeepsAJobWithItsFirstEvent) {
  const auto store = open();
  write(*store, [](StoreWriter& w) { w.insert(new_job("job_1")); });
  const schema::Job job = store->find("job_1").value();
  EXPECT_EQ(job.state, JobState::kQueued);
  EXPECT_EQ(job.spec, tests::job_spec("Succeed"));
  EXPECT_EQ(job.created, "2026-01-02T03:04:05.678Z");
  const auto events = store->events("job_1", 0, 10);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0], (schema::Event{.id = 1, .time = job.created, .body = schema::StateEvent{}}));
  EXPECT_EQ(store->find("job_2"), std::nullopt);
}

// `shown`: as the service submits it; without, as older servers have stored it.
NewJob job_with_data(const std::string& id, const std::string& csv, bool shown) {
  NewJob job = new_job(id);
  job.job.spec.dataset.source = schema::InlineRef{.csv = csv, .target = "y"};
  if (shown) {
    describe_data(job.job.spec);
    job.shown = without_long_data(job.job.spec);
  }
  return job;
}

schema::InlineRef data_of(const schema::Job& job) { return std::get<schema::InlineRef>(job.spec.dataset.source); }

TEST_F(StoreTest, ShowsLongDataBySizeAndDigestAndKeepsThemForTheRun) {
  const std::string csv(kLongestShownData + 1, '1');
  const auto store = open();
  for (const bool shown : {true, false}) {
    const std::string id = shown ? "job_1" : "job_2";
    write(*store, [&](StoreWriter& w) { w.insert(job_with_data(id, csv, shown)); });
    const schema::InlineRef told = data_of(store->find(id).value());
    EXPECT_EQ(told.csv, "");
    EXPECT_EQ(told.bytes, static_cast<std::int64_t>(csv.size()));
    EXPECT_EQ(told.sha256, crypto::sha256_hex(csv));
    EXPECT_EQ(std::get<schema::InlineRef>(store->spec(id)->dataset.source).csv, csv);
  }
}

TEST_F(StoreTest, ShowsShortDataWithTheirJobButNotInLists) {
  const auto store = open();
  write(*store, [](StoreWriter& w) { w.insert(job_with_data("job_1", "a,y\n1,2\n", true)); });
  EXPECT_EQ(data_of(store->find("job_1").value()).csv, "a,y\n1,2\n");
  const schema::InlineRef listed = data_of(store->list({}, 50, {}).jobs.at(0));
  EXPECT_EQ(listed.csv, "");
  EXPECT_EQ(listed.bytes, 8);
  EXPECT_EQ(listed.sha256, crypto::sha256_hex("a,y\n1,2\n"));
}

TEST_F(StoreTest, EndsAPageBeforeItGrowsLarge) {
  const auto store = open();
  write(*store, [](StoreWriter& w) {
    for (int i = 0; i < 9; ++i) {
      NewJob job = new_job("job_" + std::to_string(i));
      job.job.spec.pipeline[0].params = {{"text", schema::Value(std::string(1 << 20, 'x'))}};
      w.insert(job);
    }
  });
  std::vector<std::string> ids;
  std::string before;
  do {
    const schema::JobPage page = store->list({}, 500, before);
    EXPECT_LE(page.jobs.size(), 4u) << "of a MiB each";
    for (const schema::Job& job : page.jobs) ids.push_back(job.id);
    before = page.nextPageToken;
  } while (!before.empty());
  EXPECT_THAT(ids, testing::ElementsAre("job_8", "job_7", "job_6", "job_5", "job_4", "job_3", "job_2", "job_1", "job_0"));
}

TEST_F(StoreTest, PublishesAResultWithItsEventsOnce) {
  const auto store = open();
  const schema::Result result{.nSamples = 150, .seed = 42};
  bool first = false, second = true;
  write(*store, [&](StoreWriter& w) {
    w.insert(new_job("job_1"));
    w.change({.job = "job_1", .state = JobState::kRunning, .time = "t1", .new_lease = 7, .starts_attempt = true});
    first = w.change({.job = "job_1", .state = JobState::kSucceeded, .time = "t2", .held_lease = 7, .result = result});
    second = w.change({.job = "job_1", .state = JobState::kSucceeded, .time = "t3", .held_lease = 7, .result = result});
  });
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  const schema::Job job = store->find("job_1").value();
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_EQ(job.result, result);
  EXPECT_EQ(job.attempts, 1);
  EXPECT_EQ(job.started, "t1");
  EXPECT_EQ(job.ended, "t2");
  const auto events = store->events("job_1", 0, 10);
  ASSERT_EQ(events.size(), 4u);
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].id, static_cast<std::int64_t>(i) + 1);
  EXPECT_EQ(events[2].body, schema::EventBody(schema::ResultEvent{result}));
  EXPECT_EQ(std::get<schema::StateEvent>(events[3].body).state, JobState::kSucceeded);
}

TEST_F(StoreTest, DiscardsWhatCarriesAStaleLease) {
  const auto store = open();
  bool appended = true, changed = true;
  write(*store, [&](StoreWriter& w) {
    w.insert(new_job("job_1"));
    w.change({.job = "job_1", .state = JobState::kRunning, .time = "t1", .new_lease = 7});
    w.change({.job = "job_1", .state = JobState::kQueued, .time = "t2", .new_lease = 8, .crashed = true});
    appended = w.append("job_1", 7, "t3", schema::LogEvent{"info", "late"});
    changed = w.change({.job = "job_1", .state = JobState::kSucceeded, .time = "t3", .held_lease = 7});
  });
  EXPECT_FALSE(appended);
  EXPECT_FALSE(changed);
  EXPECT_EQ(store->find("job_1")->state, JobState::kQueued);
  EXPECT_EQ(store->events("job_1", 0, 10).size(), 3u);
}

TEST_F(StoreTest, ReadsEventsAfterAnyPoint) {
  const auto store = open();
  write(*store, [](StoreWriter& w) {
    w.insert(new_job("job_1"));
    for (int i = 0; i < 9; ++i) w.append("job_1", 0, "t", schema::LogEvent{"info", std::to_string(i)});
  });
  const auto events = store->events("job_1", 4, 3);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].id, 5);
  EXPECT_EQ(std::get<schema::LogEvent>(events[2].body).message, "5");
  EXPECT_TRUE(store->events("job_1", 10, 3).empty());
  EXPECT_TRUE(store->events("job_2", 0, 3).empty());
}

TEST_F(StoreTest, QueuesInterruptedJobsAgainWhenOpened) {
  auto store = open();
  write(*store, [](StoreWriter& w) {
    for (const char* id : {"job_1", "job_2", "job_3", "job_4"}) w.insert(new_job(id));
    w.change({.job = "job_2", .state = JobState::kRunning, .time = "t", .new_lease = 5, .starts_attempt = true});
    w.change({.job = "job_3", .state = JobState::kRunning, .time = "t", .new_lease = 6, .starts_attempt = true});
    w.request_cancel("job_3");
    w.change({.job = "job_4", .state = JobState::kFailed, .time = "t"});
  });
  store.reset();
  store = open();
  const auto open_jobs = store->take_open_jobs();
  ASSERT_EQ(open_jobs.size(), 2u);
  EXPECT_EQ(open_jobs[0].id, "job_1");
  EXPECT_EQ(open_jobs[1].id, "job_2");
  EXPECT_EQ(store->find("job_2")->state, JobState::kQueued);
  EXPECT_EQ(store->find("job_2")->attempts, 1);
  EXPECT_EQ(store->events("job_2", 0, 10).back().id, 3);
  EXPECT_EQ(store->find("job_3")->state, JobState::kCancelled);
  EXPECT_EQ(store->find("job_4")->state, JobState::kFailed);
  EXPECT_EQ(store->events("job_1", 0, 10).size(), 1u);   // it was queued and is: nothing to say
  EXPECT_GE(store->last_lease(), 6);
  EXPECT_EQ(store->last_job_id(), "job_4");
}

TEST_F(StoreTest, DropsAWrongWriteAndKeepsItsNeighbours) {
  const auto store = open();
  std::promise<schema::Error> refused;
  write(*store, [](StoreWriter& w) { w.insert(new_job("job_1")); });
  store->enqueue({.apply = [](StoreWriter& w) { w.insert(new_job("job_1")); },
                  .refused = [&](const schema::Error& error) { refused.set_value(error); }});
  write(*store, [](StoreWriter& w) { w.insert(new_job("job_2")); });
  EXPECT_EQ(refused.get_future().get().code, ErrorCode::kInternal);
  EXPECT_TRUE(store->find("job_2"));
  EXPECT_FALSE(store->failure());
}

TEST_F(StoreTest, RefusesASecondServer) {
  const auto store = open();
  try {
    open();
    FAIL() << "a second store was opened";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_THAT(error.message, HasSubstr("in use by another kedged (process " + std::to_string(::getpid())));
  }
}

TEST_F(StoreTest, RefusesAStoreThatANewerVersionWrote) {
  open().reset();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open_v2((dir_ / "kedge.db").c_str(), &db, SQLITE_OPEN_READWRITE, checked_pages()), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "INSERT INTO schema_version VALUES (99)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  try {
    open();
    FAIL() << "a newer store was opened";
  } catch (const schema::Error& error) {
    EXPECT_THAT(error.message, HasSubstr("use a newer kedged"));
  }
}

TEST_F(StoreTest, RefusesAFileThatIsNoStore) {
  std::ofstream(dir_ / "kedge.db") << std::string(8192, 'x');
  try {
    open();
    FAIL() << "garbage was opened";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  }
}

TEST_F(StoreTest, KeepsAWriteAheadLog) {
  open().reset();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((dir_ / "kedge.db").c_str(), &db), SQLITE_OK);
  std::string mode;
  const auto read = [](void* text, int, char** values, char**) {
    *static_cast<std::string*>(text) = values[0];
    return 0;
  };
  sqlite3_exec(db, "PRAGMA journal_mode", read, &mode, nullptr);
  sqlite3_close(db);
  EXPECT_EQ(mode, "wal");
}

TEST_F(StoreTest, HasItsLogBeforeItIsNeeded) {
  const auto store = open();
  const auto length = std::filesystem::file_size(dir_ / "kedge.db-wal");
  EXPECT_GE(length, 4u << 20);
  write(*store, [](StoreWriter& w) { w.insert(new_job("job_1")); });
  EXPECT_EQ(std::filesystem::file_size(dir_ / "kedge.db-wal"), length);
}

// More than SQLite keeps in memory, writes at once, and has in its log before it begins anew.
TEST_F(StoreTest, KeepsTransactionsOfAnySize) {
  constexpr std::size_t kStep = 64 << 10, kSteps = 40;
  auto store = open();
  write(*store, [](StoreWriter& w) { w.insert(new_job("job_1")); });
  const auto append = [](StoreWriter& w, std::size_t i) { w.append("job_1", 0, "t", schema::LogEvent{"info", std::string(i * kStep, char('a' + i % 26))}); };
  for (std::size_t i = 0; i < kSteps; ++i) {
    int tried = 0;
    write(*store, [&](StoreWriter& w) {
      append(w, i);
      if (++tried == 1 && i % 8 == 7) throw schema::Error(ErrorCode::kInternal, "the first time");   // taken back, and written again
    });
  }
  const auto expect_all = [&] {
    const auto events = store->events("job_1", 1, 2 * kSteps);
    ASSERT_EQ(events.size(), kSteps);
    for (std::size_t i = 0; i < kSteps; ++i)
      EXPECT_EQ(std::get<schema::LogEvent>(events[i].body).message, std::string(i * kStep, char('a' + i % 26))) << i;
  };
  expect_all();
  store.reset();
  store = open();
  expect_all();
}

// SQLite's words become an error of the disk.
TEST_F(StoreTest, KeepsStateChangesAndRefusesNewJobsWhileTheDiskTakesNothing) {
  const auto store = open();
  write(*store, [](StoreWriter& w) { w.insert(new_job("job_1")); });
  std::atomic<bool> disk_full = true;
  std::promise<schema::Error> refused;
  std::promise<void> kept;
  store->enqueue({.apply =
                      [&](StoreWriter& w) {
                        w.append("job_1", 0, "t", schema::LogEvent{"info", "kept"});
                        if (disk_full) throw schema::Error(ErrorCode::kUnavailable, "database or disk is full");
                      },
                  .committed = [&] { kept.set_value(); }});
  store->enqueue({.apply = [](StoreWriter& w) { w.insert(new_job("job_2")); },
                  .refused = [&](const schema::Error& error) { refused.set_value(error); }});
  tests::Waiter waiter;
  ASSERT_TRUE(waiter.until([&] { return store->failure().has_value(); }));
  EXPECT_TRUE(store->find("job_1"));   // reading still works
  std::promise<schema::Error> refused_at_once;
  store->enqueue({.apply = [](StoreWriter& w) { w.insert(new_job("job_3")); },
                  .refused = [&](const schema::Error& error) { refused_at_once.set_value(error); }});
  EXPECT_EQ(refused_at_once.get_future().get().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store->events("job_1", 0, 10).size(), 1u);
  disk_full = false;
  kept.get_future().get();
  EXPECT_EQ(store->events("job_1", 0, 10).size(), 2u);   // once, however often it was tried
  EXPECT_TRUE(waiter.until([&] { return !store->failure(); }));
}

// A transaction that fails is tried again write by write; what comes meanwhile waits for its turn, or would go with a write that is not it.
TEST_F(StoreTest, LosesNothingThatComesWhileAFailedTransactionIsTriedAgain) {
  std::atomic<int> tried = 0, tried_late = 0;
  std::promise<void> kept;
  const auto store = open();
  auto late = [&](StoreWriter&) {
    if (++tried_late == 1) throw schema::Error(ErrorCode::kUnavailable, "database or disk is full");
  };
  store->enqueue({.apply = [&](StoreWriter&) {
    if (++tried == 1) throw schema::Error(ErrorCode::kInternal, "the first time");
    if (tried == 2)
      store->enqueue({.apply = late, .committed = [&] { kept.set_value(); }});
  }});
  EXPECT_EQ(kept.get_future().wait_for(tests::kPatience), std::future_status::ready);
}

TEST_F(StoreTest, WritesWithinMomentsWhatHasTimeOrNoWaitingCaller) {
  std::promise<void> told;
  const auto store = open();
  store->enqueue({.apply = [](StoreWriter& w) { w.insert(new_job("job_1")); }, .committed = [&] { told.set_value(); }, .has_time = true});
  EXPECT_EQ(told.get_future().wait_for(tests::kPatience), std::future_status::ready);
  store->enqueue({.apply = [](StoreWriter& w) { w.append("job_1", 0, "t", schema::LogEvent{"info", "kept"}); }});
  EXPECT_TRUE(tests::Waiter().until([&] { return store->events("job_1", 0, 10).size() == 2; }));
}

}  // namespace
}  // namespace kedge::server
