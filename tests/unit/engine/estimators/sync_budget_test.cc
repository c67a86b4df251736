// What each estimator may wait for and fetch from a GPU, counted on the emulated one.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "catalogue_rows.h"
#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/emulator.h"

namespace kedge::engine {
namespace {

using testing::Data;
using testing::expect_usable_output;
using testing::make;

// Estimators whose fit gives something for each row (labels), or fetches what parameters bound: quantiles, components,
// and what an iteration needs.
bool fetches_its_answer(std::string_view estimator) {
  for (const std::string_view name :
       {"KMeans", "MiniBatchKMeans", "DBSCAN", "QuantileTransformer", "Nystroem", "LogisticRegression",
        "SelectFromModel", "RFE", "FactorAnalysis", "HuberRegressor", "ARDRegression", "LinearSVC", "LinearSVR"})
    if (estimator == name) return true;
  return false;
}

TEST(SyncBudget, IsKeptByEveryEstimator) {
  Device& device = testing::device_named("emulated");
  const std::int64_t& syncs =
      static_cast<emulated::Emulator*>(static_cast<CudaRuntime&>(device.memory()).stream())->memory.syncs;
  const Context ctx{.device = device};
  const Data data = testing::make_data(40, 6, 3);
  const testing::Loaded<double> numbers(device, data), texts(device, data, "CountVectorizer"),
      column(device, data, "IsotonicRegression");
  for (const CatalogueEntry& entry : catalogue()) {
    const testing::Loaded<double>& loaded = testing::reads_texts(entry.info.name)     ? texts
                                            : entry.info.name == "IsotonicRegression" ? column
                                                                                      : numbers;
    const auto estimator = make<double>(entry.info.name);
    const std::int64_t before = syncs;
    estimator->fit(ctx, loaded.all(), loaded.target());
    const std::int64_t fitted = syncs;
    expect_usable_output<double>(ctx, *estimator, loaded.all());
    const std::string row = fmt::format("{}: {{{}, {}}}", entry.info.name, fitted - before, syncs - fitted);
    EXPECT_LE(fitted - before, entry.syncs.fit) << row;
    EXPECT_LE(syncs - fitted, entry.syncs.use) << row;
  }
}

// A copy of the same rows behind them: as many categories, and the same optimum of what iterates.
Data twice(const Data& data) {
  Data both = data;
  both.n_rows *= 2;
  both.X.insert(both.X.end(), data.X.begin(), data.X.end());
  both.y.insert(both.y.end(), data.y.begin(), data.y.end());
  both.values.insert(both.values.end(), data.values.begin(), data.values.end());
  return both;
}

// Bytes that a fit has fetched from the device.
std::int64_t fetched_by_fit(Device& device, const std::string& estimator, const Data& data) {
  const auto& memory = static_cast<emulated::Emulator*>(static_cast<CudaRuntime&>(device.memory()).stream())->memory;
  const testing::Loaded<double> loaded(device, data, estimator);
  const auto made = make<double>(estimator);
  const std::int64_t before = memory.bytes_to_host;
  made->fit({.device = device}, loaded.all(), loaded.target());
  return memory.bytes_to_host - before;
}

// What is fetched for each row is computed on the host for each row, or is the answer.
TEST(SyncBudget, FitsFetchNoMoreForMoreRows) {
  Device& device = testing::device_named("emulated");
  Data data = testing::make_data(60, 6, 3);
  for (double& v : data.X) v = std::round(2 * v) / 2;   // few categories
  const Data more = twice(data);
  for (const CatalogueEntry& entry : catalogue()) {
    const std::string& name = entry.info.name;
    const std::int64_t growth = fetched_by_fit(device, name, more) - fetched_by_fit(device, name, data);
    const std::int64_t a_row = growth > 0 ? (growth + data.n_rows - 1) / data.n_rows : 0;
    EXPECT_LE(a_row, entry.syncs.row_bytes)
        << fmt::format("{}: {{{}, {}, {}}}", name, entry.syncs.fit, entry.syncs.use, a_row);
    if (entry.syncs.row_bytes > 0) {
      EXPECT_FALSE(entry.info.hostPart.empty() && !fetches_its_answer(name))
          << name << ": the catalogue does not say what for";
    }
  }
}

}   // namespace
}   // namespace kedge::engine
