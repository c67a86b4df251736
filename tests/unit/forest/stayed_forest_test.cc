// Forests that stay on the GPU that grew them: asked there, and brought when the host wants their nodes.
#include <gtest/gtest.h>

#include "engine/backend/cpu/cpu_device.h"
#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/emulated/observer.h"
#include "engine/estimators/trees/tree_estimators.h"
#include "tests/unit/forest/forest_cases.h"

namespace kedge::engine::test {
namespace {

// Counts bytes from the GPU to the host while it lives.
class ToHost final : public emulated::Observer {
 public:
  ToHost() { emulated::observer = this; }
  ~ToHost() override { emulated::observer = nullptr; }
  std::size_t bytes = 0;

  void launch_begins(const emulated::Launch&, const void*, const void*) override {}
  void block_begins() override {}
  void block_meets() override {}
  void launch_ends() override {}
  void atomic(const void*, std::size_t) override {}
  void library(const char*, std::size_t, double, double) override {}
  void copied(emulated::Copy kind, std::size_t n) override { bytes += kind == emulated::Copy::kToHost ? n : 0; }
  void waited() override {}
  void allocated(std::size_t) override {}
};

const schema::ValueMap kParams{{"n_estimators", 6}, {"random_state", 3}, {"draws", "kedge"}};

class StayedForest : public testing::Test {
 protected:
  StayedForest() : data_(make_data(300, 8, 40, 3, 0.5, 21)) {
    target_ = {.codes = data_.y, .classes = {"a", "b", "c"}};
    values_ = {.values = std::vector<double>(data_.X.begin(), data_.X.begin() + data_.rows)};
  }
  Samples<float> samples(Device& device) const {
    return samples_of(Matrix<float>(device.memory(), data_.rows, data_.cols, std::span<const float>(data_.X)))
        .then(std::vector<double>(8, 1.5), std::vector<double>(8, 0.37));
  }
  static std::vector<double> proba(const Context& ctx, const RandomForestClassifier<float>& forest,
                                   const Samples<float>& X) {
    Matrix<double> out(ctx.memory(), X.n_rows(), 3);
    forest.predict_proba(ctx, X, out.view());
    return out.to_host();
  }

  std::unique_ptr<Device> host_ = make_cpu_device(), gpu_ = make_cuda_device({.seed = 4});
  Context on_host_{.device = *host_}, on_gpu_{.device = *gpu_};
  Data data_;
  Target target_, values_;
};

TEST_F(StayedForest, IsAskedWithoutItsNodesOnTheHost) {
  const Samples<float> here = samples(*host_), there = samples(*gpu_);
  RandomForestClassifier<float> expected(kParams), forest(kParams);
  expected.fit(on_host_, here, target_);
  forest.fit(on_gpu_, there, target_);   // bins the table
  const std::vector<double> answers = proba(on_host_, expected, here);
  ToHost to_host;
  forest.fit(on_gpu_, there, target_);
  EXPECT_EQ(proba(on_gpu_, forest, there), answers);
  const std::size_t without = to_host.bytes;
  EXPECT_EQ(forest.attributes(), expected.attributes());
  EXPECT_GT(to_host.bytes - without, without);
}

TEST_F(StayedForest, IsTheSameForCopiesAndForOtherTables) {
  const Samples<float> here = samples(*host_), there = samples(*gpu_);
  RandomForestClassifier<float> expected(kParams), forest(kParams);
  expected.fit(on_host_, here, target_), forest.fit(on_gpu_, there, target_);
  const std::vector<double> answers = proba(on_host_, expected, here);
  const RandomForestClassifier<float> copy = forest;
  EXPECT_EQ(proba(on_gpu_, copy, there), answers);
  EXPECT_EQ(proba(on_gpu_, forest, samples(*gpu_)), answers);   // by values, with mapped thresholds
  EXPECT_EQ(proba(on_gpu_, forest, there), answers);
  EXPECT_EQ(proba(on_gpu_, copy, there), answers);
  EXPECT_EQ(copy.attributes(), expected.attributes());
}

TEST_F(StayedForest, OutlivesItsTable) {
  RandomForestClassifier<float> expected(kParams), forest(kParams);
  expected.fit(on_host_, samples(*host_), target_);
  forest.fit(on_gpu_, samples(*gpu_), target_);
  EXPECT_EQ(forest.attributes(), expected.attributes());
}

TEST_F(StayedForest, OfValuesGivesTheCpusMeans) {
  const Samples<float> here = samples(*host_), there = samples(*gpu_);
  RandomForestRegressor<float> expected(kParams), forest(kParams);
  expected.fit(on_host_, here, values_), forest.fit(on_gpu_, there, values_);
  EXPECT_EQ(forest.predict(on_gpu_, there), expected.predict(on_host_, here));
}

}   // namespace
}   // namespace kedge::engine::test
