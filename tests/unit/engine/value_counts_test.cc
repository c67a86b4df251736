// Whether columns are seen to have few distinct values.
#include "engine/table/value_counts.h"

#include <gtest/gtest.h>

#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kRows = 70000;   // more than are looked at together

// Of two columns with these values by row, the second the target.
template <class Value>
std::optional<bool> found(const Value& value, std::int64_t n_rows = kRows) {
  const TemporaryFolder folder;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n_rows; ++i) values.push_back(value(i)), values.push_back(static_cast<double>(i) / 3);
  const DatasetFile data(write_dataset(folder.path(), {numeric("x"), numeric("y")}, values, "y"));
  return have_few_values(data, select_features({}, data.meta()));
}

TEST(ValueCounts, OfBytesAreFewForAnyTarget) {
  EXPECT_EQ(found([](std::int64_t i) { return static_cast<double>(i % 256); }), true);
}

TEST(ValueCounts, OfOtherNumbersAreFewUpTo256) {
  EXPECT_EQ(found([](std::int64_t i) { return static_cast<double>(i % 256) / 7; }), true);
  EXPECT_EQ(found([](std::int64_t i) { return static_cast<double>(i % 257) / 7; }), false);
  EXPECT_EQ(found([](std::int64_t i) { return i + 1 < kRows ? static_cast<double>(i % 256) : 256.0; }), false);
  EXPECT_EQ(found([](std::int64_t i) { return i == 300 ? -0.0 : static_cast<double>(i % 256); }), true);
}

TEST(ValueCounts, OfFewRowsAreFew) {
  EXPECT_EQ(found([](std::int64_t i) { return static_cast<double>(i) / 7; }, 256), true);
  EXPECT_EQ(found([](std::int64_t i) { return static_cast<double>(i) / 7; }, 257), false);
}

}   // namespace
}   // namespace kedge::engine
