// Targets on devices: uploaded once, in place on the CPU, and what fits ask of all rows.
#include "engine/estimators/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/core/uploaded.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/classes.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using testing::Data;

class TargetOnEveryDevice : public ::testing::TestWithParam<std::string> {
 protected:
  Context ctx_{.device = testing::device_named(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Devices, TargetOnEveryDevice, ::testing::ValuesIn(testing::device_names()),
                         [](const auto& info) { return info.param; });

template <class V>
std::vector<V> fetched(const Context& ctx, VectorView<const V> view) {
  std::vector<V> host(static_cast<std::size_t>(view.size));
  if (!host.empty()) ctx.memory().to_host(host.data(), view.data, host.size() * sizeof(V));
  return host;
}

Target some_target() {
  return {.codes = {2, 0, 2, 3, 2},
          .classes = {"a", "b", "c", "d"},
          .values = {1, -7, 3, 0, 5},
          .weights = {1, 2, 0, 1, 3}};
}

TEST_P(TargetOnEveryDevice, HasItsArraysThere) {
  const Target y = some_target();
  EXPECT_EQ(fetched(ctx_, y.device_codes(ctx_)), y.codes);
  EXPECT_EQ(fetched<double>(ctx_, {y.device_values(ctx_).data, y.device_values(ctx_).rows}), y.values);
  EXPECT_EQ(fetched(ctx_, y.device_weights(ctx_)), y.weights);
  EXPECT_TRUE(Target{}.device_weights(ctx_).empty());
}

TEST_P(TargetOnEveryDevice, CountsItsClasses) {
  const Target y = some_target();
  EXPECT_EQ(y.class_counts(ctx_), (std::vector<std::int64_t>{1, 0, 3, 1}));
  EXPECT_EQ(PresentClasses(ctx_, y).counts, PresentClasses(y).counts);
}

TEST_P(TargetOnEveryDevice, NumbersThePresentClasses) {
  const Target missing = some_target();   // nothing of "b"
  const DevicePositions few(ctx_, PresentClasses(ctx_, missing), missing);
  EXPECT_EQ(fetched(ctx_, few.view()), (std::vector<std::int32_t>{1, 0, 1, 2, 1}));
  const Target whole{.codes = {1, 0, 1}, .classes = {"a", "b"}};
  const DevicePositions all(ctx_, PresentClasses(ctx_, whole), whole);
  EXPECT_EQ(all.view().data, whole.device_codes(ctx_).data);   // nothing to do
}

TEST_P(TargetOnEveryDevice, WeighsRowsByClass) {
  const Target y = some_target();
  const PresentClasses present(ctx_, y);
  EXPECT_EQ(fetched(ctx_, RowWeights(ctx_, {}, present, y).view()), y.weights);
  EXPECT_EQ(fetched(ctx_, RowWeights(ctx_, {2, 3, 5}, present, y).view()), (std::vector<double>{3, 4, 0, 5, 9}));
  Target plain = y;
  plain.weights.clear();
  EXPECT_TRUE(RowWeights(ctx_, {}, present, plain).view().empty());
  EXPECT_EQ(fetched(ctx_, RowWeights(ctx_, {2, 3, 5}, present, plain).view()), (std::vector<double>{3, 2, 3, 5, 3}));
}

TEST_P(TargetOnEveryDevice, FindsItsLargestMagnitude) {
  for (const std::size_t n : {0, 1, 63, 64, 65, 1000}) {
    Target y{.values = std::vector<double>(n, 0.5)};
    if (n > 0) y.values.back() = -4;
    EXPECT_EQ(y.largest_value(ctx_), n > 0 ? 4 : 0) << n;
  }
}

TEST_P(TargetOnEveryDevice, LeavesItsCopiesToBeChanged) {
  const Target y = some_target();
  EXPECT_EQ(y.largest_value(ctx_), 7);
  Target copy = y;
  copy.values = {1, 2, 3, 4, -8};
  EXPECT_EQ(copy.largest_value(ctx_), 8);
  EXPECT_EQ(fetched<double>(ctx_, {copy.device_values(ctx_).data, 5}), copy.values);
  copy = y;
  EXPECT_EQ(copy.largest_value(ctx_), 7);
}

TEST(Target, IsReadInPlaceOnTheCpu) {
  const Context ctx{.device = testing::device_named("cpu")};
  const Target y = some_target();
  EXPECT_EQ(y.device_codes(ctx).data, y.codes.data());
  EXPECT_EQ(y.device_values(ctx).data, y.values.data());
  EXPECT_EQ(y.device_weights(ctx).data, y.weights.data());
}

struct Uploads {
  std::int64_t first, second;   // bytes of two fits on one target
};
Uploads uploads(Device& device, const std::string& estimator, std::int64_t n_rows, bool has_weights) {
  const auto& memory = static_cast<emulated::Emulator*>(static_cast<CudaRuntime&>(device.memory()).stream())->memory;
  const Context ctx{.device = device};
  Data data = testing::make_data(n_rows, 5, 3);
  for (double& x : data.X) x = std::abs(x);
  const testing::Loaded<float> loaded(device, data);
  Target y = loaded.target();
  for (std::int64_t i = 0; i < n_rows && has_weights; ++i) y.weights.push_back(1 + static_cast<double>(i % 3));
  std::int64_t seen[3] = {memory.bytes_to_device};
  for (int fit = 1; fit < 3; ++fit) {
    const auto made = find_estimator(estimator)->make_f32(testing::small_params(estimator));
    made->fit(ctx, loaded.all(), y);
    seen[fit] = memory.bytes_to_device;
  }
  return {seen[1] - seen[0], seen[2] - seen[1]};
}

// The estimators that leave the target to the device.
TEST(Target, IsUploadedByTheFirstFitAlone) {
  Device& device = testing::device_named("emulated");
  for (const char* name : {"LinearRegression", "Ridge", "Lasso", "ElasticNet", "LogisticRegression", "RidgeClassifier",
                           "GaussianNB", "MultinomialNB", "BernoulliNB"}) {
    for (const bool has_weights : {false, true}) {
      constexpr std::int64_t kRows = 3000;
      const bool is_regressor = find_estimator(name)->info.kind == "regressor";
      const std::int64_t row_bytes = (is_regressor ? 8 : 4) + (has_weights ? 8 : 0);
      const Uploads few = uploads(device, name, kRows, has_weights),
                    more = uploads(device, name, 2 * kRows, has_weights);
      EXPECT_NEAR(static_cast<double>(more.first - few.first), static_cast<double>(row_bytes * kRows), kRows / 2)
          << name;
      EXPECT_LT(more.second - few.second, kRows / 2) << name;   // iterations may differ in number
    }
  }
}

// Beyond the rows from which an elastic net begins with a sample, which is uploaded as such.
TEST(Target, IsUploadedOnceByATallLasso) {
  constexpr std::int64_t kRows = 33000;
  Device& device = testing::device_named("emulated");
  const Uploads few = uploads(device, "Lasso", kRows, false), more = uploads(device, "Lasso", 2 * kRows, false);
  EXPECT_NEAR(static_cast<double>(more.first - few.first), 8.0 * kRows, kRows / 2);
  EXPECT_LT(more.second - few.second, kRows / 2);
}

}   // namespace
}   // namespace kedge::engine
