// Samples: rows and affine maps that are applied only when read.
#include "engine/estimators/samples.h"

#include <gtest/gtest.h>

#include "engine/core/host_view.h"
#include "fixture.h"

namespace kedge::engine {
namespace {


class SamplesTest : public ::testing::Test {
 protected:
  static testing::Data data() {
    return {.n_rows = 4, .n_cols = 2, .X = {1, 10, 2, 20, 3, 30, 4, 40}, .y = {0, 1, 0, 1}, .classes = {"0", "1"}};
  }
  Context ctx_{.device = testing::device_named("cpu")};
  testing::Data data_ = data();
  testing::Loaded<double> loaded_{ctx_.device, data_};
};

TEST_F(SamplesTest, AreTheTableItselfWhereNothingChanges) {
  const Samples<double> X = loaded_.all();
  Matrix<double> scratch;
  EXPECT_EQ(X.values(ctx_, scratch).data, X.table->X.data());
  EXPECT_EQ(scratch.rows(), 0);
}

TEST_F(SamplesTest, GatherRowsInTheirOrder) {
  EXPECT_EQ(host_values(ctx_, loaded_.rows({3, 0, 3})), (std::vector<double>{4, 40, 1, 10, 4, 40}));
}

TEST_F(SamplesTest, MapColumnsWhenRead) {
  const Samples<double> X = loaded_.rows({1, 2}).then({2, 20}, {10, 0.5});
  EXPECT_EQ(host_values(ctx_, X), (std::vector<double>{0, 0, 10, 5}));
  EXPECT_EQ(X.table, loaded_.all().table);
}

TEST_F(SamplesTest, ChainMaps) {
  const Samples<double> X = loaded_.all().then({1, 10}, {2, 0.5}).then({4, -1}, {-1, 8});
  EXPECT_EQ(host_values(ctx_, X), (std::vector<double>{4, 8, 2, 48, 0, 88, -2, 128}));
}

TEST_F(SamplesTest, ReadARangeOfTheSelection) {
  Matrix<double> scratch;
  const MatrixView<const double> part = loaded_.rows({3, 2, 1, 0}).then({0, 0}, {1, 0.1}).values(ctx_, 1, 2, scratch);
  EXPECT_EQ(part.rows, 2);
  EXPECT_EQ(host_view(part).row(0)[0], 3.0);
  EXPECT_EQ(host_view(part).row(1)[1], 2.0);
}

TEST_F(SamplesTest, CarryStatisticsThroughTheMap) {
  const Samples<double> X = loaded_.all().then({1, 10}, {2, -0.5});
  const Moments moments = column_moments(ctx_, X);
  EXPECT_EQ(moments.mean, (std::vector<double>{3, -7.5}));
  EXPECT_EQ(moments.variance, (std::vector<double>{5, 31.25}));
  const Ranges ranges = column_ranges(ctx_, X);
  EXPECT_EQ(ranges.minimum, (std::vector<double>{0, -15}));
  EXPECT_EQ(ranges.maximum, (std::vector<double>{6, 0}));
}

}  // namespace
}  // namespace kedge::engine
