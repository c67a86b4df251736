// What each estimator may wait for and fetch from a GPU, counted on the emulated one.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "catalogue_rows.h"
#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/estimators/host_answers.h"

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

// Bytes that using an estimator fetches from the device beyond what it gives.
std::int64_t fetched_beyond(const Context& ctx, const Estimator<double>& estimator, const Samples<double>& X) {
  const auto& memory = static_cast<emulated::Emulator*>(static_cast<CudaRuntime&>(ctx.memory()).stream())->memory;
  const std::int64_t before = memory.bytes_to_host, rows = X.n_rows();
  std::int64_t own = 0;
  if (const auto* regressor = dynamic_cast<const Regressor<double>*>(&estimator))
    own = std::ssize(regressor->predict(ctx, X)) * 8;
  else if (const auto* classifier = dynamic_cast<const Classifier<double>*>(&estimator))
    own = std::ssize(classifier->predict(ctx, X)) * 4;
  else if (const auto* several = dynamic_cast<const MultiOutput<double>*>(&estimator))
    own = std::ssize(several->predict(ctx, X)) * 8 * rows;
  else if (const auto* clusterer = dynamic_cast<const Clusterer<double>*>(&estimator);
           clusterer && clusterer->can_predict())
    own = std::ssize(clusterer->predict(ctx, X)) * 4;
  else if (const auto* detector = dynamic_cast<const OutlierDetector<double>*>(&estimator);
           detector && detector->can_predict())
    own = std::ssize(detector->predict(ctx, X)) * 4;
  else if (const auto* transformer = dynamic_cast<const Transformer<double>*>(&estimator))
    static_cast<void>(transformer->transform(ctx, X));
  return memory.bytes_to_host - before - own;
}

// What is fetched for each row beyond the answer is computed on the host for each row. Two scores a class are little:
// the largest says the class.
TEST(SyncBudget, AnswersThatTheHostComputesAreNamed) {
  constexpr std::int64_t kClasses = 3, kScores = 2 * kClasses * 8;
  Device& device = testing::device_named("emulated");
  const Context ctx{.device = device};
  Data data = testing::make_data(60, 6, kClasses);
  for (double& v : data.X) v = std::round(2 * v) / 2;   // few categories
  for (const CatalogueEntry& entry : catalogue()) {
    const std::string& name = entry.info.name;
    const testing::Loaded<double> some(device, data, name), more(device, twice(data), name);
    const auto estimator = make<double>(name);
    estimator->fit(ctx, some.all(), some.target());
    static_cast<void>(fetched_beyond(ctx, *estimator, more.all()));   // the first use may fetch what the fit has left
    const std::int64_t growth =
        fetched_beyond(ctx, *estimator, more.all()) - fetched_beyond(ctx, *estimator, some.all());
    EXPECT_FALSE(growth > kScores * data.n_rows && host_answer(name).empty())
        << name << " fetches " << growth / data.n_rows;
  }
}

// Each name must be that of an estimator, or its warning would never be given.
TEST(SyncBudget, HostAnswersAreThoseOfEstimators) {
  for (const std::string_view name : estimators_with_host_answers()) EXPECT_NE(find_estimator(name), nullptr) << name;
}

}   // namespace
}   // namespace kedge::engine
