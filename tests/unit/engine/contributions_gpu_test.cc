// Contributions of fitted trees on an emulated GPU: the bits of the CPU, and trees that stay there.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/emulated/emulator.h"
#include "schemas/codec.h"
#include "tests/support/launch_log.h"
#include "tests/unit/engine/contributions_fixture.h"

namespace kedge::engine {
namespace {

using testing_trees::fitted;

struct Case {
  const char *dataset, *step, *dtype;
};

// The job fits on the CPU; its model file is loaded on both.
std::string job_of(const Case& c) {
  return fmt::format(
      R"({{"dataset": {{"builtin": "{}"}}, "select": {{"dtype": "{}"}}, "pipeline": [{}], "task": {{"fit": {{}}}}}})",
      c.dataset, c.dtype, c.step);
}

TEST(ContributionsOnGpu, HaveTheBitsOfTheCpu) {
  const Case cases[] = {
      {"iris", R"({"estimator": "RandomForestClassifier", "params": {"n_estimators": 5}})", "float64"},
      {"breast_cancer", R"({"estimator": "ExtraTreesClassifier", "params": {"n_estimators": 5}})", "float32"},
      {"diabetes", R"({"estimator": "RandomForestRegressor", "params": {"n_estimators": 3}})", "float64"},
      {"diabetes", R"({"estimator": "DecisionTreeRegressor"})", "float32"},
      {"iris", R"({"estimator": "GradientBoostingClassifier", "params": {"n_estimators": 5}})", "float64"},
      {"diabetes",
       R"({"estimator": "HistGradientBoostingRegressor", "params": {"max_iter": 5, "categorical_features": [1]}})",
       "float64"},
      {"iris", R"({"estimator": "IsolationForest", "params": {"n_estimators": 5}})", "float64"}};
  const Context cpu_ctx{.device = cpu()};
  const std::unique_ptr<Device> device = make_cuda_device({.seed = 5});
  const Context gpu{.device = *device};
  for (const Case& c : cases) {
    const TemporaryFolder folder;
    const auto here = fitted(cpu_ctx, schema::from_json<schema::JobSpec>(job_of(c)), folder.path());
    const auto there = StoredModel::load(gpu, folder.path() / "model");
    ModelRows rows = DatasetRows(here->info(), builtin(c.dataset), 37).rows(0, 37);
    const bool takes_missing = std::string_view(c.step).find("Hist") != std::string_view::npos;
    for (std::size_t i = 3; takes_missing && i < rows.values.size(); i += 7)
      rows.values[i] = std::numeric_limits<double>::quiet_NaN();
    const test::LaunchLog log(static_cast<CudaRuntime&>(device->memory()));
    EXPECT_EQ(there->answer(gpu, rows, "contributions").numbers, here->answer(cpu_ctx, rows, "contributions").numbers)
        << c.step;
    EXPECT_TRUE(log.has("walk_shap_trees")) << c.step;
    rows.background = std::make_shared<const ModelRows>(DatasetRows(here->info(), builtin(c.dataset), 5).rows(0, 5));
    EXPECT_EQ(there->answer(gpu, rows, "contributions").numbers, here->answer(cpu_ctx, rows, "contributions").numbers)
        << c.step << " against a background";
  }
}

// The trees go to the device with the first question; each one sends its cells and fetches its numbers. Beside them a
// number says whether all cells are finite.
TEST(ContributionsOnGpu, KeepTheTreesThereBetweenQuestions) {
  const TemporaryFolder folder;
  const Context cpu_ctx{.device = cpu()};
  const Case c{"iris", R"({"estimator": "DecisionTreeClassifier"})", "float64"};
  fitted(cpu_ctx, schema::from_json<schema::JobSpec>(job_of(c)), folder.path());
  const std::unique_ptr<Device> device = make_cuda_device({.seed = 5});
  auto& runtime = static_cast<CudaRuntime&>(device->memory());
  const emulated::DeviceMemory& memory = static_cast<emulated::Emulator*>(runtime.stream())->memory;
  const Context gpu{.device = *device};
  const auto model = StoredModel::load(gpu, folder.path() / "model");
  const ModelRows rows = DatasetRows(model->info(), builtin(c.dataset), 5).rows(0, 5);
  model->answer(gpu, rows, "contributions");
  const std::int64_t sent = memory.bytes_to_device, fetched = memory.bytes_to_host;
  model->answer(gpu, rows, "contributions");
  EXPECT_EQ(memory.bytes_to_device - sent, 8 * (5 * 4 + 1));
  EXPECT_EQ(memory.bytes_to_host - fetched, 8 * (5 * 3 * 5 + 1));
}

}   // namespace
}   // namespace kedge::engine
