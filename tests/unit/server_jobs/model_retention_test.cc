// Which models are removed when there are too many.
#include "server/jobs/model_retention.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <future>

#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kBytes = 1000;   // of each model

class Models : public testing::Test {
 protected:
  // Of a job, or uploaded; last used so many seconds ago.
  void add(const std::string& id, std::int64_t age, const std::string& tenant = "alice", const std::string& job = "job_1") {
    std::ofstream(files_.model_path(id)) << std::string(kBytes, 'x');
    set_age(id, age);
    std::promise<void> done;
    store_.enqueue({.apply = [&](StoreWriter& writer) { writer.insert_model({.info = {.id = id, .job = job, .bytes = kBytes}}, tenant); },
                    .committed = [&] { done.set_value(); }});
    done.get_future().get();
  }
  void set_age(const std::string& id, std::int64_t age) {
    const std::time_t then = std::time(nullptr) - age;
    const timespec times[] = {{.tv_sec = then}, {.tv_sec = then}};
    ASSERT_EQ(::utimensat(AT_FDCWD, files_.model_path(id).c_str(), times, 0), 0);
  }
  std::vector<std::string> removed_by(ModelBounds bounds) {
    bounds.interval = std::chrono::hours(1);
    std::vector<std::string> removed;
    ModelRetention(store_, files_, bounds, [&](const std::string& id) { removed.push_back(id); }).sweep();
    return removed;
  }

  const tests::TempDir dir_;
  const JobFiles files_{dir_.path()};
  Store store_{dir_.path(), [](const std::string&) {}};
};

TEST_F(Models, ThatWereUsedLongestAgoGoFirst) {
  add("mdl_1", 4000), add("mdl_2", 9000), add("mdl_3", 2000), add("mdl_4", 3000);
  EXPECT_THAT(removed_by({.all_bytes = 2 * kBytes, .tenant_bytes = 0}), ElementsAre("mdl_2", "mdl_1"));
  EXPECT_THAT(removed_by({.all_bytes = 4 * kBytes, .tenant_bytes = 0}), IsEmpty()) << "as many as may be";
  EXPECT_THAT(removed_by({.all_bytes = 0, .tenant_bytes = 0}), IsEmpty()) << "no bound";
}

TEST_F(Models, OfATenantHaveABoundOfTheirOwn) {
  add("mdl_1", 9000, "alice"), add("mdl_2", 8000, "bob"), add("mdl_3", 7000, "alice"), add("mdl_4", 6000, "alice");
  EXPECT_THAT(removed_by({.all_bytes = 0, .tenant_bytes = 2 * kBytes}), ElementsAre("mdl_1"));
  EXPECT_THAT(removed_by({.all_bytes = 2 * kBytes, .tenant_bytes = 2 * kBytes}), ElementsAre("mdl_1", "mdl_2"));
}

TEST_F(Models, ThatWereUploadedStay) {
  add("mdl_1", 9000, "alice", ""), add("mdl_2", 8000), add("mdl_3", 7000);
  EXPECT_THAT(removed_by({.all_bytes = kBytes, .tenant_bytes = 0}), ElementsAre("mdl_2"));
}

TEST_F(Models, ThatAreInUseStay) {
  add("mdl_1", 9000), add("mdl_2", 100), add("mdl_3", 8000);
  ModelRetention::note_use(files_.model_path("mdl_1"));
  EXPECT_THAT(removed_by({.all_bytes = 1, .tenant_bytes = 1}), ElementsAre("mdl_3"));
}

TEST_F(Models, AUseIsNotedWithTheDigestOfTheFile) {
  add("mdl_1", 9000);
  const auto written = std::filesystem::last_write_time(files_.model_path("mdl_1"));
  ModelRetention::note_use(files_.model_path("mdl_1"));
  EXPECT_EQ(std::filesystem::last_write_time(files_.model_path("mdl_1")), written) << "else its digest would be computed again";
  ModelRetention::note_use(files_.model_path("mdl_none"));
}

TEST_F(Models, AreRemovedByTheServiceWithoutBeingAsked) {
  const std::string first = "mdl_00000000000000000000000001", second = "mdl_00000000000000000000000002";
  std::promise<std::string> removed;
  add(first, 9000), add(second, 8000);
  ModelRetention retention(store_, files_, {.all_bytes = 0, .tenant_bytes = 0, .interval = std::chrono::hours(1)},
                           [&](const std::string& id) { removed.set_value(id); });
  retention.set_bounds({.all_bytes = kBytes, .tenant_bytes = 0, .interval = std::chrono::hours(1)});
  auto gone = removed.get_future();
  ASSERT_EQ(gone.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(gone.get(), first);
}

}  // namespace
}  // namespace kedge::server
