// What is removed when the cache is full: files that are not in use, the ones used longest ago first.
#include "server/data/cache_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/server_data/cache_fixture.h"

namespace kedge::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> evicted(CacheUses& uses, std::uintmax_t most) {
  std::vector<std::string> gone;
  uses.evict(most, [&](const std::string& file) { gone.push_back(file); });
  return gone;
}

TEST(CacheUses, LetsTheOnesGoThatWereUsedLongestAgo) {
  CacheUses uses;
  for (const char* file : {"a", "b", "c", "d"}) uses.add(file, 10);
  uses.hold("a");   // a use, and let go at once
  EXPECT_THAT(evicted(uses, 40), IsEmpty());
  EXPECT_THAT(evicted(uses, 25), ElementsAre("b", "c"));
  EXPECT_THAT(evicted(uses, 0), ElementsAre("d", "a"));
}

TEST(CacheUses, KeepsAFileUntilTheLastHoldEnds) {
  CacheUses uses;
  uses.add("a", 10);
  CacheHold one = uses.hold("a"), two = uses.hold("a");
  uses.add("b", 10);
  EXPECT_THAT(evicted(uses, 0), ElementsAre("b"));
  one.reset();
  EXPECT_THAT(evicted(uses, 0), IsEmpty());
  two.reset();
  EXPECT_THAT(evicted(uses, 0), ElementsAre("a"));
}

TEST(CacheUses, CountsAFileThatIsMadeAgainOnce) {
  CacheUses uses;
  uses.add("a", 10);
  uses.remove("a");
  uses.add("a", 30);
  uses.add("a", 20);
  uses.add("b", 10);
  EXPECT_THAT(evicted(uses, 30), IsEmpty());
  EXPECT_THAT(evicted(uses, 29), ElementsAre("a"));
}

TEST(CacheUses, HasBooksThatAHoldMayOutlive) {
  CacheHold hold;
  {
    CacheUses uses;
    uses.add("a", 10);
    hold = uses.hold("a");
  }
  hold.reset();
}

class Eviction : public CacheTest {
 protected:
  static constexpr int kRows = 4000;   // about 32 KB as a table
  static schema::DatasetRef table(int number) {
    std::string csv = "a,b\n";
    for (int i = 0; i < kRows; ++i) csv += std::to_string(i) + "," + std::to_string(number) + "\n";
    return {schema::InlineRef{.csv = std::move(csv), .target = "b"}};
  }
  DataOptions small() const {
    DataOptions options = this->options("http://127.0.0.1:1");
    options.max_cache_bytes = 100'000;
    return options;
  }
};

TEST_F(Eviction, KeepsTheCacheBelowItsBoundAndAFile) {
  DatasetCache cache(small());
  std::uintmax_t one = 0;
  for (int i = 0; i < 20; ++i) {
    acquire(cache, table(i));
    if (i == 0) one = cache.bytes();
    EXPECT_LE(cache.bytes(), small().max_cache_bytes + one);
  }
  EXPECT_LT(count_files(), 8);
  EXPECT_TRUE(acquire(cache, table(0)).cold) << "it went long ago, and is made again";
}

TEST_F(Eviction, UsesANewBoundFromTheNextDataSetOn) {
  DatasetCache cache(options("http://127.0.0.1:1"));
  for (int i = 0; i < 10; ++i) acquire(cache, table(i));
  EXPECT_GT(cache.bytes(), small().max_cache_bytes);
  cache.set_max_bytes(small().max_cache_bytes);
  acquire(cache, table(10));
  EXPECT_LE(cache.bytes(), small().max_cache_bytes);
}

TEST_F(Eviction, KeepsWhatAJobHas) {
  DatasetCache cache(small());
  const AcquiredDataset held = acquire(cache, table(0));
  for (int i = 1; i < 20; ++i) acquire(cache, table(i));
  EXPECT_TRUE(std::filesystem::exists(held.path));
  EXPECT_FALSE(acquire(cache, table(0)).cold);
}

TEST_F(Eviction, CountsWhatAnEarlierRunHasLeft) {
  {
    DatasetCache cache(options("http://127.0.0.1:1"));
    for (int i = 0; i < 10; ++i) acquire(cache, table(i));
    EXPECT_EQ(count_files(), 10) << "without a bound nothing goes";
  }
  DatasetCache cache(small());
  acquire(cache, table(99));
  EXPECT_LE(cache.bytes(), small().max_cache_bytes);
}

TEST_F(Eviction, LeavesUploadsAlone) {
  std::filesystem::create_directories(directory_.path() / "datasets");
  const std::filesystem::path upload = directory_.path() / "datasets" / ("stored-" + std::string(64, '0') + ".kds");
  std::ofstream(upload) << std::string(200'000, 'x');
  DatasetCache cache(small());
  for (int i = 0; i < 5; ++i) acquire(cache, table(i));
  EXPECT_TRUE(std::filesystem::exists(upload));
  EXPECT_GE(count_files(), 3) << "it does not count";
}

}   // namespace
}   // namespace kedge::server
