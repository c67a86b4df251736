// The mapped data set file: what was written comes back, and nothing else is accepted.
#include "engine/core/dataset_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "engine/core/block_hashes.h"
#include "engine/core/content_hash.h"
#include "engine/core/file_output.h"
#include "schemas/error.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::engine {
namespace {

DatasetMeta example_meta() {
  DatasetMeta meta{.name = "example", .n_rows = 3, .is_float32 = true, .n_values_columns = 2, .target = "class", .ignored = {"id"}};
  meta.columns = {{.name = "x", .missing = 1, .values_column = 0},
                  {.name = "id", .type = ColumnInfo::Type::kString},
                  {.name = "class", .type = ColumnInfo::Type::kNominal, .categories = {"a", "", "c,d"}, .values_column = 1}};
  return meta;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void write_example(const std::filesystem::path& path) {
  DatasetFileWriter writer(path, example_meta());
  const auto values = writer.values_f32();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.5f;
  writer.finish();
}

schema::ErrorCode code_of_reading(const std::filesystem::path& path) {
  try {
    DatasetFile file(path);
  } catch (const schema::Error& error) {
    return error.code;
  }
  return schema::ErrorCode::kInternal;
}

TEST(DatasetFile, ReturnsWhatWasWritten) {
  const TemporaryDirectory directory;
  write_example(directory.path() / "a.kds");
  const DatasetFile file(directory.path() / "a.kds");
  EXPECT_EQ(file.meta(), example_meta());
  ASSERT_EQ(file.values_f32().size(), 6u);
  EXPECT_EQ(file.values_f32()[5], 5.5f);
  EXPECT_TRUE(file.values_f64().empty());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.values_f32().data()) % 64, 0u);
}

TEST(DatasetFile, HoldsFloat64AndMissingCells) {
  const TemporaryDirectory directory;
  DatasetMeta meta = example_meta();
  meta.is_float32 = false;
  DatasetFileWriter writer(directory.path() / "a.kds", meta);
  EXPECT_TRUE(writer.values_f32().empty());
  writer.values_f64()[0] = 0.1;
  writer.values_f64()[1] = std::numeric_limits<double>::quiet_NaN();
  writer.finish();
  const DatasetFile file(directory.path() / "a.kds");
  EXPECT_EQ(file.values_f64()[0], 0.1);
  EXPECT_TRUE(std::isnan(file.values_f64()[1]));
  EXPECT_EQ(file.values_f64()[5], 0.0);
}

TEST(DatasetFile, TakesMetadataThatIsKnownOnlyAtTheEnd) {
  const TemporaryDirectory directory;
  DatasetFileWriter writer(directory.path() / "a.kds", example_meta());
  writer.meta().columns[2].categories.push_back("late");
  writer.finish();
  EXPECT_EQ(DatasetFile(directory.path() / "a.kds").meta().columns[2].categories.back(), "late");
}

TEST(DatasetFile, LeavesNothingBehindWithoutFinish) {
  const TemporaryDirectory directory;
  { DatasetFileWriter writer(directory.path() / "a.kds", example_meta()); }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(DatasetFile, HoldsNoRows) {
  const TemporaryDirectory directory;
  DatasetMeta meta = example_meta();
  meta.n_rows = 0;
  meta.columns[0].missing = 0;
  DatasetFileWriter(directory.path() / "a.kds", meta).finish();
  EXPECT_TRUE(DatasetFile(directory.path() / "a.kds").values_f32().empty());
}

TEST(DatasetFile, RefusesEveryTruncation) {
  const TemporaryDirectory directory;
  write_example(directory.path() / "a.kds");
  const std::string bytes = read(directory.path() / "a.kds");
  for (std::size_t size = 0; size < bytes.size(); size += 1 + (size < 4000 ? 97 : 0)) {
    write(directory.path() / "b.kds", bytes.substr(0, size));
    EXPECT_EQ(code_of_reading(directory.path() / "b.kds"), schema::ErrorCode::kDatasetCorrupt) << size;
  }
}

TEST(DatasetFile, RefusesDamagedHeadAndMetadata) {
  const TemporaryDirectory directory;
  write_example(directory.path() / "a.kds");
  const std::string bytes = read(directory.path() / "a.kds");
  const auto refuse_flipped = [&](std::size_t at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    write(directory.path() / "b.kds", damaged);
    EXPECT_EQ(code_of_reading(directory.path() / "b.kds"), schema::ErrorCode::kDatasetCorrupt) << at;
  };
  for (std::size_t at = 0; at < 48; ++at) refuse_flipped(at);
  for (std::size_t at = 4096 + 6 * sizeof(float); at < bytes.size(); ++at) refuse_flipped(at);
}

TEST(DatasetFile, NoticesEveryChangedValue) {
  const TemporaryDirectory directory;
  write_example(directory.path() / "a.kds");
  EXPECT_TRUE(DatasetFile(directory.path() / "a.kds").values_are_whole());
  const std::string bytes = read(directory.path() / "a.kds");
  for (std::size_t bit = 4096 * 8; bit < (4096 + 6 * sizeof(float)) * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write(directory.path() / "b.kds", damaged);
    EXPECT_FALSE(DatasetFile(directory.path() / "b.kds").values_are_whole()) << bit;
  }
}

TEST(ContentHash, IsThatOfXxh64) {   // made by Python's xxhash 3: xxhash.xxh64(bytes(range(n))).hexdigest()
  std::vector<std::byte> bytes(101);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  const auto of = [&](std::size_t n) { return content_hash(std::span(bytes).first(n)); };
  EXPECT_EQ(of(0), 0xef46db3751d8e999u);
  EXPECT_EQ(of(32), 0xcbf59c5116ff32b4u);
  EXPECT_EQ(of(101), 0xe99038495f85381eu);
}

TEST(BlockHashes, GiveTheHashOfTheWholeForAnyPieces) {
  std::vector<std::byte> bytes(3 * kHashedTogether + 1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 7);
  std::mt19937 random(1);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1000}, 2 * kHashedTogether, bytes.size()}) {
    const auto all = std::span(std::as_const(bytes)).first(size);
    for (const std::size_t piece : {kHashedTogether / 3, kHashedTogether, 2 * kHashedTogether + 5}) {
      std::vector<std::size_t> offsets;
      for (std::size_t at = 0; at < size; at += piece) offsets.push_back(at);
      std::ranges::shuffle(offsets, random);
      BlockHashes hashes;
      for (const std::size_t at : offsets) hashes.add(at, all.subspan(at, std::min(piece, size - at)));
      EXPECT_EQ(hashes.digest(size), content_hash_in_blocks(all)) << size << " in pieces of " << piece;
      EXPECT_THROW(static_cast<void>(hashes.digest(size + 1)), schema::Error);
    }
  }
}

TEST(SequentialFile, HasTheSameBytesPastThePageCacheAndThroughIt) {
  const TemporaryDirectory directory;
  std::vector<std::byte> bytes((std::size_t{3} << 20) + 4097);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 7);
  for (const bool past_page_cache : {true, false}) {
    const std::filesystem::path path = directory.path() / "file";
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(fd, 0);
    SequentialFile file(fd, 4096, past_page_cache, path);
    for (std::size_t at = 0; at < bytes.size(); at += 100'003)
      file.write(std::span(bytes).subspan(at, std::min<std::size_t>(100'003, bytes.size() - at)));
    file.finish();
    ::close(fd);
    const std::string there = read(path);
    ASSERT_EQ(there.size(), 4096 + bytes.size());
    EXPECT_EQ(std::memcmp(there.data() + 4096, bytes.data(), bytes.size()), 0) << past_page_cache;
  }
}

TEST(DatasetRowsWriter, MakesTheSameFileOfRowsInOrder) {
  const TemporaryDirectory directory;
  DatasetMeta meta{.name = "long", .n_rows = 20'000'000, .is_float32 = true, .n_values_columns = 1};   // as announced: a large one
  meta.columns = {{.name = "x", .values_column = 0}};
  const std::vector<float> values(300'000, 1.5f);
  for (const RowOrder order : {RowOrder::kAny, RowOrder::kInOrder}) {
    DatasetRowsWriter writer(directory.path() / (order == RowOrder::kAny ? "any" : "ordered"), meta, order);
    for (std::int64_t row = 0; row < 600'000; row += 300'000) writer.write(row, std::span(values));
    writer.meta().n_rows = 600'000;
    writer.finish();
  }
  EXPECT_EQ(read(directory.path() / "any"), read(directory.path() / "ordered"));
  EXPECT_TRUE(DatasetFile(directory.path() / "ordered").values_are_whole());
}

TEST(DatasetRowsWriter, RefusesRowsOutOfOrderWhereTheyMustCome) {
  const TemporaryDirectory directory;
  DatasetRowsWriter writer(directory.path() / "a", {.name = "a", .is_float32 = true, .n_values_columns = 1}, RowOrder::kInOrder);
  const float value = 1;
  EXPECT_THROW(writer.write(1, std::span(&value, 1)), schema::Error);
}

TEST(DatasetFile, RefusesOtherFiles) {
  const TemporaryDirectory directory;
  write(directory.path() / "garbage.kds", std::string(10000, 'x'));
  EXPECT_EQ(code_of_reading(directory.path() / "garbage.kds"), schema::ErrorCode::kDatasetCorrupt);
  EXPECT_EQ(code_of_reading(directory.path() / "absent.kds"), schema::ErrorCode::kDatasetCorrupt);
}

TEST(DatasetFile, RefusesAShapeThatOverflows) {
  const TemporaryDirectory directory;
  DatasetMeta meta = example_meta();
  meta.n_rows = std::int64_t{1} << 40;
  meta.n_values_columns = std::int64_t{1} << 30;
  EXPECT_THROW(DatasetFileWriter(directory.path() / "a.kds", meta), schema::Error);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace kedge::engine
