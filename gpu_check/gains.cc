// Which estimators gain: the same fits, and questions, on the device and on this machine's cores; float32.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/contributions.h"
#include "gpu_check/clock.h"
#include "gpu_check/section.h"

namespace kedge::gpu_check {
namespace {

using engine::Context;
using engine::Device;
using engine::Samples;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

enum class Timed { kFit, kPredict, kContributions };

struct Row {
  const char* estimator;
  std::int64_t rows = 200'000, cols = 30;
  ValueMap params = {};
  Timed timed = Timed::kFit;
  std::int64_t asked = 0;   // rows of kPredict and kContributions
};

std::vector<Row> gain_rows() {
  constexpr std::int64_t kMany = 200'000, kSome = 50'000, kPairs = 20'000, kDense = 10'000, kWide = 30;
  const ValueMap boosted{{"max_iter", 50}};
  return {
      {"HistGradientBoostingClassifier", kMany, kWide, boosted},
      {"HistGradientBoostingClassifier", 1'000'000, 100, {{"max_iter", 100}, {"early_stopping", false}}},
      {"HistGradientBoostingClassifier", kMany, kWide, boosted, Timed::kPredict, 1'000'000},
      {"HistGradientBoostingClassifier", kMany, kWide, boosted, Timed::kContributions, kPairs},
      {"GradientBoostingRegressor", kSome, kWide, {{"n_estimators", 20}}},
      {"IncrementalPCA"},
      {"NMF", kMany, kWide, {{"n_components", 10}, {"max_iter", 100}, {"tol", 0.0}}},
      {"TSNE", kPairs},
      {"UMAP", kPairs},
      {"HDBSCAN", kPairs},
      {"AgglomerativeClustering", kDense},
      {"SpectralClustering", kPairs, kWide, {{"gamma", 0.02}}},
      {"GaussianMixture", kMany, kWide, {{"n_components", 8}}},
      {"KMeans", kMany, kWide, {{"n_clusters", 20}}},
      {"DBSCAN", kPairs, kWide, {{"eps", 4.0}}},
      {"MLPClassifier", kMany, kWide, {{"hidden_layer_sizes", ValueList{256, 128}}, {"max_iter", 5}}},
      {"SVC", kPairs},
      {"LinearSVC"},
      {"SGDClassifier", kMany, kWide, {{"max_iter", 5}, {"tol", Value()}}},
      {"RandomForestClassifier", kMany, kWide, {{"n_estimators", 50}}},
      {"ExtraTreesClassifier", kMany, kWide, {{"n_estimators", 50}}},
      {"RandomForestRegressor", kMany, kWide, {{"n_estimators", 20}}},
      {"RandomForestClassifier", kPairs, kWide, {{"n_estimators", 50}}, Timed::kContributions, 1'000},
      {"IsolationForest"},
      {"KNeighborsClassifier", kMany, kWide, {}, Timed::kPredict, kPairs},
      {"KernelRidge", kDense},
      {"Nystroem"},
      {"FastICA"},
      {"PCA"},
      {"StandardScaler"},
      {"QuantileTransformer"},
      {"Ridge"},
      {"LogisticRegression"},
      {"Lasso"},
      {"ElasticNetCV"},
      {"GaussianNB"},
  };
}

// Eight blobs, all above 0, whose classes and values hang on the first columns.
struct Data {
  std::vector<float> cells;
  engine::Target y;
};

Data made(std::int64_t rows, std::int64_t cols) {
  constexpr int kBlobs = 8;
  constexpr float kAbove = 16;
  engine::PhiloxStream random(42, 7);
  std::vector<float> centers(static_cast<std::size_t>(kBlobs * cols));
  for (float& center : centers) center = kAbove + static_cast<float>(4 * random.uniform());
  Data data;
  data.cells.reserve(static_cast<std::size_t>(rows * cols));
  data.y.classes = {"a", "b"};
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* const center = centers.data() + static_cast<std::int64_t>(random.below(kBlobs)) * cols;
    std::array<double, 4> first{};
    for (std::int64_t j = 0; j < cols; ++j) {
      const double spread = random.uniform() + random.uniform() + random.uniform() - 1.5;
      data.cells.push_back(center[j] + static_cast<float>(2 * spread));
      if (j < 4) first[static_cast<std::size_t>(j)] = spread;
    }
    const double value = first[0] + 2 * first[1] * first[2] + first[3] + 0.3 * random.uniform();
    data.y.values.push_back(value);
    data.y.codes.push_back(value > 0.15 ? 1 : 0);
  }
  return data;
}

Samples<float> on(Device& device, const Data& data, std::int64_t rows, std::int64_t cols) {
  engine::Matrix<float> X(device.memory(), rows, cols);
  device.memory().to_device(X.data(), data.cells.data(), static_cast<std::size_t>(rows * cols) * sizeof(float));
  return engine::samples_of(std::move(X));
}

void ask(const Context& ctx, const engine::Estimator<float>& estimator, const Row& row, const Samples<float>& X) {
  if (row.timed == Timed::kPredict) dynamic_cast<const engine::Classifier<float>&>(estimator).predict(ctx, X);
  else dynamic_cast<const engine::Contributor<float>&>(estimator).contributions(ctx, X, {});
}

// `runs` times; the last counts, because the first of a device loads code and packs what it keeps.
double timed_on(Device& device, const Row& row, const Data& data, const Data& asked, int runs) {
  const Context ctx{.device = device};
  const Samples<float> X = on(device, data, row.rows, row.cols);
  const Samples<float> Q = row.asked > 0 ? on(device, asked, row.asked, row.cols) : Samples<float>();
  const auto estimator = engine::find_estimator(row.estimator)->make_f32(row.params);
  if (row.timed != Timed::kFit) estimator->fit(ctx, X, data.y);
  double seconds = 0;
  for (int run = 0; run < runs; ++run)
    seconds = seconds_of(device.memory(), [&] {
      if (row.timed == Timed::kFit) estimator->fit(ctx, X, data.y);
      else ask(ctx, *estimator, row, Q);
    });
  return seconds;
}

Finding gain(Bench& bench, const Row& row) {
  const Data data = made(row.rows, row.cols), asked = row.asked > 0 ? made(row.asked, row.cols) : Data();
  const double device = timed_on(bench.device(), row, data, asked, 2), cpu = timed_on(bench.cpu(), row, data, asked, 1);
  return {.measures = {{"on the device", device, "s"},
                       {"on this machine's cores", cpu, "s"},
                       {"times as fast as these", cpu / device, "times"}}};
}

std::string name_of(const Row& row) {
  static constexpr std::array<const char*, 3> kWhat{"fit", "predict", "contributions"};
  const std::int64_t rows = row.asked > 0 ? row.asked : row.rows;
  return fmt::format("{}, {}, {} x {}", row.estimator, kWhat[static_cast<std::size_t>(row.timed)], rows, row.cols);
}

}   // namespace

std::vector<Item> gain_items(Bench& bench) {
  std::vector<Item> items;
  for (const Row& row : gain_rows()) items.push_back({name_of(row), [&bench, row] { return gain(bench, row); }});
  return items;
}

}   // namespace kedge::gpu_check
