// Sparse data sets: what a job loads of them, their target, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/backend/loader.h"
#include "engine/table/selection.h"
#include "engine/table/target.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Select;
using testing::ElementsAre;
using testing::HasSubstr;

// Columns a, b, c and the target y; rows (1, 0, 2, 5), (0, 0, 0, 0), (0, third, 4, 6).
std::filesystem::path write_sparse(const std::filesystem::path& folder, double third = 3, std::int64_t second_offset = 3) {
  DatasetMeta meta{.name = "rare", .n_rows = 3, .n_values_columns = 4, .n_entries = 6, .target = "y"};
  meta.columns = {numeric("a"), numeric("b"), numeric("c"), numeric("y")};
  for (std::size_t j = 0; j < meta.columns.size(); ++j) meta.columns[j].values_column = static_cast<std::int64_t>(j);
  const std::filesystem::path path = folder / "rare.kedge";
  DatasetFileWriter writer(path, meta);
  const SparseSpans<double> out = writer.sparse_f64();
  std::ranges::copy(std::vector<std::int64_t>{0, 3, second_offset, 6}, out.offsets.begin());
  std::ranges::copy(std::vector<std::int32_t>{0, 2, 3, 1, 2, 3}, out.columns.begin());
  std::ranges::copy(std::vector<double>{1, 2, 5, third, 4, 6}, out.values.begin());
  writer.finish();
  return path;
}

class SparseDataset : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::unique_ptr<Device> cpu_ = open_device("cpu");
  const Context ctx_{.device = *cpu_};

  std::vector<double> rows(const Select& select, const DatasetFile& data) {
    const std::shared_ptr<Table<double>> table = load_table<double>(ctx_, select_features(select, data.meta()), data);
    EXPECT_TRUE(table->sparse.has_value());
    Matrix<double> dense;
    Samples<double>{.table = table, .rows = nullptr, .shift = {}, .scale = {}}.values(ctx_, dense);
    return dense.to_host();
  }
  std::string error_of(const std::function<void()>& call, ErrorCode code) {
    try {
      call();
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, code);
      return error.message;
    }
    return "no error";
  }
};

TEST_F(SparseDataset, IsLoadedWithoutItsZeros) {
  EXPECT_THAT(rows({}, DatasetFile(write_sparse(folder_.path()))), ElementsAre(1, 0, 2, 0, 0, 0, 0, 3, 4));
}

TEST_F(SparseDataset, GivesNamedColumnsInTheirOrderScaled) {
  EXPECT_THAT(rows({.columns = {"c", "a"}, .scale = 0.5}, DatasetFile(write_sparse(folder_.path()))),
              ElementsAre(1, 0.5, 0, 0, 2, 0));
}

TEST_F(SparseDataset, GivesItsTarget) {
  const DatasetFile data(write_sparse(folder_.path()));
  EXPECT_THAT(read_target({}, data, 3, TargetKind::kValues, "Ridge").values, ElementsAre(5, 0, 6));
  EXPECT_THAT(read_target({}, data, 3, TargetKind::kClasses, "MultinomialNB").classes, ElementsAre("0", "5", "6"));
}

TEST_F(SparseDataset, NamesAValueThatIsMissing) {
  const DatasetFile data(write_sparse(folder_.path(), NAN));
  EXPECT_THAT(error_of([&] { rows({}, data); }, ErrorCode::kBadData), HasSubstr("column 'b', row 2 (counted from 0) is missing"));
}

TEST_F(SparseDataset, IsRefusedWhereItsRowsMakeNoSense) {
  for (const std::int64_t offset : {std::int64_t{-1}, std::int64_t{2}, std::int64_t{7}, std::int64_t{1} << 60}) {
    const DatasetFile data(write_sparse(folder_.path(), 3, offset));
    EXPECT_THAT(error_of([&] { rows({}, data); }, ErrorCode::kDatasetCorrupt), HasSubstr("makes no sense")) << offset;
  }
}

}   // namespace
}   // namespace kedge::engine
