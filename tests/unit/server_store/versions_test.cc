// Stores that older versions wrote are brought up to date; newer and damaged ones are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <iterator>

#include "server/store/registry_statements.h"
#include "server/store/schema.h"
#include "server/store/store.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::JobState;

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void run_sql(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

std::unique_ptr<Store> open(const tests::TempDir& dir) {
  return std::make_unique<Store>(dir.path(), [](const std::string&) {});
}

TEST(StoreVersions, HaveAFixtureForEachButTheNewest) {
  // Version 2 never left the workshop: its step is taken on the way from 1.
  EXPECT_EQ(schema_version(), 8)
      << "a new version: dump a store of the one before into tests/data/store, and open it here";
}

TEST(StoreVersions, OpensAStoreOfTheFirst) {
  const tests::TempDir dir;
  run_sql(dir / "kedge.db", read(std::filesystem::path(KEDGE_STORES) / "version_1.sql"));
  for (int round = 0; round < 2; ++round) {   // the second finds it up to date
    const auto store = open(dir);
    const schema::JobPage page = store->list({}, 50, {});
    ASSERT_EQ(page.jobs.size(), 9u);
    const auto in_state = [&](JobState state) { return std::ranges::count(page.jobs, state, &schema::Job::state); };
    EXPECT_EQ(in_state(JobState::kSucceeded), 1);
    EXPECT_EQ(in_state(JobState::kFailed), 1);
    EXPECT_EQ(in_state(JobState::kCancelled), 1);
    EXPECT_EQ(in_state(JobState::kQueued), 6);   // what was interrupted waits again
    EXPECT_EQ(store->take_open_jobs().size(), 6u);
    const schema::Job done = store->find(page.jobs.back().id).value();   // the oldest
    ASSERT_TRUE(done.result);
    EXPECT_GT(done.result->scores.at(0).second.mean, 0.9);
    std::int64_t seq = 0;
    for (const schema::Event& event : store->events(done.id, 0, 100)) EXPECT_EQ(event.id, ++seq);
    EXPECT_EQ(seq, 36);
  }
}

TEST(StoreVersions, OpensAStoreOfTheThird) {
  const tests::TempDir dir;
  run_sql(dir / "kedge.db", read(std::filesystem::path(KEDGE_STORES) / "version_3.sql"));
  for (int round = 0; round < 2; ++round) {
    const auto store = open(dir);
    const schema::JobPage page = store->list({}, 50, {});
    ASSERT_EQ(page.jobs.size(), 5u);
    EXPECT_EQ(store->take_open_jobs().size(), 1u);
    EXPECT_EQ(store->trace(page.jobs.front().id), "") << "it kept none";
    ASSERT_EQ(store->list_models(50, {}).models.size(), 2u);
    EXPECT_EQ(store->list_models(50, {}).models.front().sha256, "");
  }
}

TEST(StoreVersions, OpensAStoreOfTheFourth) {
  const tests::TempDir dir;
  run_sql(dir / "kedge.db", read(std::filesystem::path(KEDGE_STORES) / "version_4.sql"));
  for (int round = 0; round < 2; ++round) {
    const auto store = open(dir);
    EXPECT_EQ(store->list({}, 50, {}).jobs.size(), 6u);
    EXPECT_EQ(store->take_open_jobs().size(), 1u);
    EXPECT_EQ(store->list_models(50, {}).models.size(), 2u);
    EXPECT_TRUE(store->unsettled_models().empty()) << "their files were synced before their rows";
  }
}

TEST(StoreVersions, OpensAStoreOfTheFifth) {
  const tests::TempDir dir;
  run_sql(dir / "kedge.db", read(std::filesystem::path(KEDGE_STORES) / "version_5.sql"));
  for (int round = 0; round < 2; ++round) {
    const auto store = open(dir);
    EXPECT_EQ(store->list({}, 50, {}).jobs.size(), 6u);
    ASSERT_EQ(store->unsettled_models().size(), 1u);
    EXPECT_EQ(store->model_bytes(store->unsettled_models().front()), "kedge");
  }
}

TEST(StoreVersions, OpensAStoreOfTheSixth) {
  const tests::TempDir dir;
  run_sql(dir / "kedge.db", read(std::filesystem::path(KEDGE_STORES) / "version_6.sql"));
  for (int round = 0; round < 2; ++round) {
    const auto store = open(dir);
    EXPECT_EQ(store->list({}, 50, {}).jobs.size(), 6u);
    const JobChanges changes = store->changes(0, 50);
    ASSERT_EQ(changes.jobs.size(), 1u)
        << "what was interrupted has been queued again; the others have not changed since";
    EXPECT_EQ(changes.jobs.front().job.state, JobState::kQueued);
    EXPECT_EQ(changes.position, 1) << "the second start changes nothing";
  }
}

TEST(StoreVersions, OpensAStoreOfTheSeventh) {
  const tests::TempDir dir;
  run_sql(dir / "kedge.db", read(std::filesystem::path(KEDGE_STORES) / "version_7.sql"));
  for (int round = 0; round < 2; ++round) {
    const auto store = open(dir);
    EXPECT_EQ(store->list({}, 50, {}).jobs.size(), 6u);
    store->read_registry([](RegistryReader& registry) {
      EXPECT_TRUE(registry.list("", 50, "").models.empty());
      EXPECT_TRUE(registry.registered_models().empty());
    });
  }
}

TEST(StoreVersions, RefusesADamagedStoreAndNamesIt) {
  const tests::TempDir dir;
  run_sql(dir / "kedge.db", read(std::filesystem::path(KEDGE_STORES) / "version_1.sql"));
  {
    std::fstream file(dir / "kedge.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);   // the second page: a table's root
    file << std::string(2048, '\xff');
  }
  try {
    open(dir);
    FAIL() << "a damaged store was opened";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kUnavailable);
    EXPECT_THAT(error.message, testing::HasSubstr((dir / "kedge.db").string()));
  }
}

}  // namespace
}  // namespace kedge::server
