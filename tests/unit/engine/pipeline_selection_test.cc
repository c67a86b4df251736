// Which columns, rows, dtype and classes a job gets from a data set, and the errors.
#include "engine/table/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "engine/backend/loader.h"
#include "engine/table/target.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Select;

// id (ignored), length, width, colour (nominal), note (text), kind (nominal target)
DatasetMeta flowers(std::int64_t n_rows = 10, bool is_float32 = false) {
  DatasetMeta meta{.name = "flowers", .n_rows = n_rows, .is_float32 = is_float32,
                   .columns = {numeric("id"), numeric("length"), numeric("width"), nominal("colour", {"red", "blue"}), text("note"),
                               nominal("kind", {"a", "b"})},
                   .n_values_columns = 5, .target = "kind", .ignored = {"id"}};
  std::int64_t next = 0;
  for (ColumnInfo& column : meta.columns) {
    if (column.type != ColumnInfo::Type::kString) column.values_column = next++;
  }
  return meta;
}

schema::Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const schema::Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(SelectFeatures, LeavesOutTargetAndIgnoredColumns) {
  DatasetMeta meta = flowers();
  std::erase_if(meta.columns, [](const ColumnInfo& c) { return c.name == "colour" || c.name == "note"; });
  const Selection selection = select_features({}, meta);
  EXPECT_EQ(selection.features, (std::vector<Feature>{{.name = "length"}, {.name = "width"}}));
  EXPECT_EQ(selection.columns, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(selection.n_rows, 10);
}

TEST(SelectFeatures, KeepsTheNamedColumnsInTheirOrderEvenIgnoredOnes) {
  const Selection selection = select_features({.rows = 4, .columns = {"width", "id"}, .scale = 0.5}, flowers());
  EXPECT_EQ(selection.columns, (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(selection.n_rows, 4);
  EXPECT_EQ(selection.scale, 0.5);
}

TEST(SelectFeatures, NamesANominalColumnAndHowToLeaveItOut) {
  const schema::Error error = error_of([] { select_features({}, flowers()); });
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_EQ(error.where, "select.columns");
  EXPECT_THAT(error.message, testing::HasSubstr("column 'colour' is nominal"));
  EXPECT_THAT(error.message, testing::HasSubstr("select.columns"));
}

TEST(SelectFeatures, RefusesATextColumn) {
  EXPECT_THAT(error_of([] { select_features({.columns = {"note"}}, flowers()); }).message,
              testing::HasSubstr("column 'note' is text"));
}

TEST(SelectFeatures, TakesNominalColumnsAndLeavesTextOutWhereTheFirstStepTakesCategories) {
  const Selection selection = select_features({}, flowers(), {.categories = true});
  EXPECT_EQ(selection.features, (std::vector<Feature>{{.name = "length"}, {.name = "width"}, {"colour", {"red", "blue"}, true}}));
  EXPECT_EQ(selection.left_out, (std::vector<std::string>{"note"}));
  EXPECT_THAT(error_of([] { select_features({.columns = {"note"}}, flowers(), {.categories = true}); }).message,
              testing::HasSubstr("column 'note' is text"));
}

TEST(SelectFeatures, SuggestsTheNearestColumn) {
  const schema::Error error = error_of([] { select_features({.columns = {"length", "widht"}}, flowers()); });
  EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error.where, "select.columns[1]");
  EXPECT_EQ(error.message, "flowers has no column 'widht'; did you mean 'width'?");
  EXPECT_EQ(error_of([] { select_features({.target = "knid"}, flowers()); }).where, "select.target");
}

TEST(SelectFeatures, RefusesTheTargetAsAFeature) {
  EXPECT_EQ(error_of([] { select_features({.columns = {"length"}, .target = "length"}, flowers()); }).where, "select.columns[0]");
}

TEST(SelectFeatures, RefusesMoreRowsThanThereAre) {
  const schema::Error error = error_of([] { select_features({.rows = 11, .columns = {"length"}}, flowers()); });
  EXPECT_EQ(error.where, "select.rows");
  EXPECT_EQ(error.message, "rows is 11, but flowers has 10");
}

TEST(SelectFeatures, RefusesADataSetWithoutRowsOrFeatures) {
  EXPECT_EQ(error_of([] { select_features({.columns = {"length"}}, flowers(0)); }).code, ErrorCode::kBadData);
  const DatasetMeta bare{.name = "bare", .n_rows = 3, .columns = {numeric("y")}, .target = "y"};
  EXPECT_EQ(error_of([&] { select_features({}, bare); }).message, "bare has no feature columns");
}

TEST(SelectFeatures, ComputesInFloat32OnlyForLargeFloat32Data) {
  constexpr std::int64_t kEnough = (1 << 20) / 2;   // two columns
  const auto is_float32 = [](std::int64_t rows, bool file_is_float32, std::optional<std::string> dtype) {
    return select_features({.columns = {"length", "width"}, .dtype = std::move(dtype)}, flowers(rows, file_is_float32)).is_float32;
  };
  EXPECT_TRUE(is_float32(kEnough, true, std::nullopt));
  EXPECT_FALSE(is_float32(kEnough - 1, true, std::nullopt));
  EXPECT_FALSE(is_float32(kEnough, false, std::nullopt));
  EXPECT_TRUE(is_float32(5, false, "float32"));
  EXPECT_FALSE(is_float32(kEnough, true, "float64"));
}

// The CPU, but under the name of a device with memory of its own, which data reach through staging memory.
class RemoteMemoryDevice final : public Device {
 public:
  RemoteMemoryDevice() : cpu_(open_device("cpu")), info_(cpu_->info()) { info_.kind = DeviceKind::kEmulated; }
  const DeviceInfo& info() const override { return info_; }
  Memory& memory() override { return cpu_->memory(); }
  Backend<float>& f32() override { return cpu_->f32(); }
  Backend<double>& f64() override { return cpu_->f64(); }
  TreeOps& trees() override { return cpu_->trees(); }

 private:
  std::unique_ptr<Device> cpu_;
  DeviceInfo info_;
};

TEST(LoadTable, GivesTheSameTableDirectlyAndThroughStagingMemory) {
  constexpr std::int64_t kRows = 1'200'000;   // three chunks of staging memory in float64
  std::vector<double> values;
  for (std::int64_t i = 0; i < kRows * 4; ++i) values.push_back(static_cast<double>(i * 7919 % 1000003));
  const TemporaryFolder folder;
  const DatasetFile data(write_dataset(folder.path(), {numeric("a"), numeric("b"), numeric("c"), numeric("d")}, values));
  RemoteMemoryDevice remote;
  const std::unique_ptr<Device> cpu = open_device("cpu");
  for (const Select& select : {Select{.scale = 0.5}, Select{.columns = {"d", "a", "b", "c"}}, Select{}}) {
    const Selection selection = select_features(select, data.meta());
    const std::vector<double> direct = load_table<double>({.device = *cpu}, selection, data)->X.to_host();
    EXPECT_EQ(load_table<double>({.device = remote}, selection, data)->X.to_host(), direct);
    for (const std::int64_t i : {std::int64_t{0}, kRows / 2, kRows - 1}) {
      for (std::int64_t j = 0; j < 4; ++j) {
        EXPECT_EQ(direct[static_cast<std::size_t>(i * 4 + j)],
                  values[static_cast<std::size_t>(i * 4 + selection.columns[static_cast<std::size_t>(j)])] * selection.scale);
      }
    }
  }
}

TEST(LoadTable, RoundsFloat32OnceFromTheScaledDouble) {
  const TemporaryFolder folder;
  const DatasetFile data(write_dataset(folder.path(), {numeric("a")}, {1, 2, 253}, "", true));
  const std::unique_ptr<Device> cpu = open_device("cpu");
  const Selection selection = select_features({.dtype = "float32", .scale = 1 / 255.0}, data.meta());
  EXPECT_EQ(load_table<float>({.device = *cpu}, selection, data)->X.to_host(),
            (std::vector<float>{static_cast<float>(1 / 255.0), static_cast<float>(2 * (1 / 255.0)),
                                static_cast<float>(253 * (1 / 255.0))}));
}

TaskTarget encode(const ColumnInfo& column, const std::vector<double>& values, bool is_float32 = false) {
  const TemporaryFolder folder;
  const DatasetFile data(write_dataset(folder.path(), {column}, values, column.name, is_float32));
  return read_target({}, data, data.meta().n_rows, TargetKind::kClasses, "PCA");
}

TEST(ReadTarget, DropsCategoriesThatDoNotOccurAndKeepsTheirOrder) {
  const TaskTarget target = encode(nominal("y", {"z", "unused", "a", "m"}), {3, 0, 2, 3});
  EXPECT_EQ(target.classes, (std::vector<std::string>{"z", "a", "m"}));
  EXPECT_EQ(target.codes, (std::vector<std::int32_t>{2, 0, 1, 2}));
}

TEST(ReadTarget, SortsNumbersAndNamesThemWithoutDecimals) {
  for (const bool is_float32 : {false, true}) {
    const TaskTarget target = encode(numeric("y"), {10, -0.0, 2, -1, 2}, is_float32);
    EXPECT_EQ(target.classes, (std::vector<std::string>{"-1", "0", "2", "10"}));
    EXPECT_EQ(target.codes, (std::vector<std::int32_t>{3, 1, 2, 0, 2}));
  }
}

TEST(ReadTarget, LooksAtTheSelectedRowsOnly) {
  const TemporaryFolder folder;
  const DatasetFile data(write_dataset(folder.path(), {numeric("y")}, {1, 2, 1, 3, 0.5}, "y"));
  EXPECT_EQ(read_target({}, data, 3, TargetKind::kClasses, "PCA").classes, (std::vector<std::string>{"1", "2"}));
}

TEST(ReadTarget, RefusesWhatIsNoClass) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto words = [](const ColumnInfo& column, const std::vector<double>& values) {
    const schema::Error error = error_of([&] { encode(column, values); });
    EXPECT_EQ(error.code, ErrorCode::kBadData);
    return error.message;
  };
  EXPECT_THAT(words(numeric("y"), {1, 2.5, 3}), testing::StartsWith("y is continuous: target 'y' is 2.5 in row 1"));
  EXPECT_THAT(words(numeric("y"), {1, INFINITY}), testing::StartsWith("y is continuous"));
  EXPECT_THAT(words(nominal("y", {"a", "b"}), {0, 1, nan}), testing::StartsWith("target 'y' is missing (NaN) in row 2"));
  EXPECT_THAT(words(nominal("y", {"a", "b"}), {1, 1}), testing::StartsWith("target 'y' has one class only, 'b'"));
}

}  // namespace
}  // namespace kedge::engine
