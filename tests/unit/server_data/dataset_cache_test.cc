// The cache without a network: built-in and inline data, restarts, leftovers, damage, forbidden addresses.
#include "server/data/dataset_cache.h"

#include <gmock/gmock.h>

#include <fstream>

#include "engine/core/dataset_file.h"
#include "tests/unit/server_data/cache_fixture.h"

namespace kedge::server {
namespace {

using schema::BuiltinRef;
using schema::ErrorCode;
using schema::InlineRef;
using schema::UrlRef;
using testing::HasSubstr;

constexpr const char* kNoServer = "http://127.0.0.1:1";   // nothing listens on port 1

using DatasetCacheTest = CacheTest;

TEST_F(DatasetCacheTest, ParsesABuiltinOnceAndFindsItAfterARestart) {
  std::filesystem::path path;
  {
    DatasetCache cache(options(kNoServer));
    const AcquiredDataset first = acquire(cache, {BuiltinRef{"iris"}});
    EXPECT_TRUE(first.cold);
    EXPECT_FALSE(acquire(cache, {BuiltinRef{"iris"}}).cold);
    path = first.path;
  }
  DatasetCache cache(options(kNoServer));
  const AcquiredDataset again = acquire(cache, {BuiltinRef{"iris"}});
  EXPECT_FALSE(again.cold);
  EXPECT_EQ(again.path, path);
  EXPECT_EQ(engine::DatasetFile(again.path).meta().n_rows, 150);
}

TEST_F(DatasetCacheTest, MakesADamagedFileAgain) {
  DatasetCache cache(options(kNoServer));
  const auto path = acquire(cache, {BuiltinRef{"iris"}}).path;
  std::filesystem::resize_file(path, 5000);
  EXPECT_TRUE(acquire(cache, {BuiltinRef{"iris"}}).cold);
  EXPECT_EQ(engine::DatasetFile(path).meta().n_rows, 150);
}

TEST_F(DatasetCacheTest, MakesAFileWithOneChangedBitAgain) {
  const auto flip = [](const std::filesystem::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(4096 + 100);
    const char byte = static_cast<char>(file.get());
    file.seekp(4096 + 100);
    file.put(static_cast<char>(byte ^ 1));
  };
  DatasetCache cache(options(kNoServer));
  const auto path = acquire(cache, {BuiltinRef{"iris"}}).path;
  flip(path);   // while the server knows the file
  EXPECT_TRUE(acquire(cache, {BuiltinRef{"iris"}}).cold);
  EXPECT_TRUE(engine::DatasetFile(path).values_are_whole());
  flip(path);   // while no server runs
  DatasetCache other(options(kNoServer));
  EXPECT_TRUE(acquire(other, {BuiltinRef{"iris"}}).cold);
  EXPECT_TRUE(engine::DatasetFile(path).values_are_whole());
}

TEST_F(DatasetCacheTest, RemovesLeftoversAtStart) {
  const auto left = options(kNoServer).directory / "text-1.part";
  std::filesystem::create_directories(left.parent_path());
  std::ofstream(left) << "half";
  DatasetCache cache(options(kNoServer));
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(DatasetCacheTest, IgnoresADamagedIndex) {
  DatasetCache cache(options(kNoServer));
  acquire(cache, {BuiltinRef{"wine"}});
  for (const auto& entry : std::filesystem::directory_iterator(options(kNoServer).directory / "references"))
    std::filesystem::resize_file(entry.path(), 3);
  EXPECT_EQ(engine::DatasetFile(acquire(cache, {BuiltinRef{"wine"}}).path).meta().n_rows, 178);
}

TEST_F(DatasetCacheTest, RecallsWhatIsThereWithoutReadingTheDisk) {
  const schema::DatasetRef wine{BuiltinRef{"wine"}}, inline_data{InlineRef{.csv = "a,y\n1,0\n2,1\n", .target = "y"}};
  DatasetCache cache(options(kNoServer));
  EXPECT_FALSE(cache.recall(wine));
  acquire(cache, wine);
  EXPECT_FALSE(cache.recall(wine)) << "it has not been compared with its checksum";
  const AcquiredDataset acquired = acquire(cache, wine);
  EXPECT_FALSE(DatasetCache(options(kNoServer)).recall(wine)) << "after a restart the file is looked through first";
  for (const auto& entry : std::filesystem::directory_iterator(options(kNoServer).directory / "references")) std::filesystem::remove(entry.path());
  const std::optional<AcquiredDataset> recalled = cache.recall(wine);
  ASSERT_TRUE(recalled);
  EXPECT_EQ(recalled->path, acquired.path);
  EXPECT_FALSE(recalled->cold);
  std::filesystem::resize_file(acquired.path, 5000);
  EXPECT_FALSE(cache.recall(wine)) << "something has written to it";
  acquire(cache, inline_data);
  acquire(cache, inline_data);
  EXPECT_FALSE(cache.recall(inline_data)) << "its text would be read for its key";
  EXPECT_FALSE(cache.recall({UrlRef{.url = "not an address", .format = "csv", .sha256 = "short"}}));
}

TEST_F(DatasetCacheTest, RecallsAFileThatStays) {
  DataOptions small = options(kNoServer);
  small.max_cache_bytes = 1;
  DatasetCache cache(small);
  acquire(cache, {BuiltinRef{"iris"}});
  const std::filesystem::path path = acquire(cache, {BuiltinRef{"iris"}}).path;
  std::optional<AcquiredDataset> recalled = cache.recall({BuiltinRef{"iris"}});
  ASSERT_TRUE(recalled);
  acquire(cache, {BuiltinRef{"wine"}});
  EXPECT_TRUE(std::filesystem::exists(path));
  recalled.reset();
  acquire(cache, {BuiltinRef{"diabetes"}});
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(cache.recall({BuiltinRef{"iris"}}));
}

TEST_F(DatasetCacheTest, KeysInlineDataByContentAndTarget) {
  DatasetCache cache(options(kNoServer));
  const auto meta = [&](const InlineRef& ref) { return engine::DatasetFile(acquire(cache, {ref}).path).meta(); };
  EXPECT_EQ(meta({.csv = "a,b\n1,x\n2,y\n"}).target, "b");
  EXPECT_EQ(meta({.csv = "a,b\n1,x\n2,y\n", .target = "a"}).target, "a");
  EXPECT_EQ(meta({.csv = "a,b\n1,x\n2,y\n3,z\n"}).n_rows, 3);
  EXPECT_FALSE(acquire(cache, {InlineRef{.csv = "a,b\n1,x\n2,y\n"}}).cold);
}

TEST_F(DatasetCacheTest, NamesTheLineOfBadInlineData) {
  DatasetCache cache(options(kNoServer));
  const auto error = failure(cache, {InlineRef{.csv = "a,b\n1,2\n3\n"}});
  EXPECT_EQ(error.code, ErrorCode::kDatasetCorrupt);
  EXPECT_EQ(error.message, "inline data line 3: 1 cells, but the header names 2 columns");
  EXPECT_EQ(count_files(), 0);
}

TEST_F(DatasetCacheTest, SuggestsTheNearestTarget) {
  DatasetCache cache(options(kNoServer));
  const auto error = failure(cache, {InlineRef{.csv = "alpha,beta\n1,2\n", .target = "alpa"}});
  EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error.message, "there is no column 'alpa'; did you mean 'alpha'?");
  EXPECT_EQ(error.where, "dataset.inline.target");
}

TEST_F(DatasetCacheTest, ConnectsToNoAddressThatIsNotAllowed) {
  DatasetCache cache(options("http://openml.invalid"));
  for (const char* url : {"http://127.0.0.1:1/x.csv", "http://localhost:1/x.csv", "http://[::1]:1/x.csv", "http://0.0.0.0:1/x.csv",
                          "http://169.254.169.254/latest", "http://2130706433:1/x.csv", "http://[::ffff:127.0.0.1]:1/x.csv"}) {
    const auto error = failure(cache, {UrlRef{.url = url}});
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue) << url << ": " << error.message;
    EXPECT_THAT(error.message, HasSubstr("not allowed")) << url;
  }
}

TEST_F(DatasetCacheTest, RefusesReferencesThatCannotBe) {
  DatasetCache cache(options(kNoServer));
  EXPECT_EQ(failure(cache, {UrlRef{.url = "file:///etc/passwd"}}).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(failure(cache, {UrlRef{.url = "http://a.org/x", .format = "xml"}}).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(failure(cache, {UrlRef{.url = "http://a.org/x", .sha256 = "abc"}}).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(failure(cache, openml(0)).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(failure(cache, openml("x", -1)).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(failure(cache, {BuiltinRef{"../iris"}}).code, ErrorCode::kDatasetNotFound);
}

TEST_F(DatasetCacheTest, SaysThatThereIsNoAnswer) {
  DatasetCache cache(options(kNoServer));
  const auto error = failure(cache, openml(61));
  EXPECT_EQ(error.code, ErrorCode::kDatasetUnavailable);
  EXPECT_THAT(error.message, HasSubstr("openml: "));
  EXPECT_THAT(error.message, HasSubstr("3 attempts"));
}

}  // namespace
}  // namespace kedge::server
