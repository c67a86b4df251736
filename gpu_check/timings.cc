// Fits at the sizes of cuML's benchmark manifest (python/cuml/cuml/benchmark/configs/single_gpu.yaml): float32, the
// table on the device already. The time is given in seconds and as how often the table could have been copied within
// the device meanwhile, which no device's speed hides.
#include <fmt/core.h>

#include <algorithm>

#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "gpu_check/clock.h"
#include "gpu_check/section.h"

namespace kedge::gpu_check {
namespace {

using engine::Context;
using engine::Samples;
using schema::ValueMap;

struct Shape {
  std::int64_t rows, cols;
};
struct Timed {
  const char* estimator;
  ValueMap params;
  std::vector<Shape> shapes;
  bool predicts = false;   // of a tenth of the rows, as part of what is timed
};

constexpr std::int64_t kThousand = 1000, kMillion = 1000000;

std::vector<Timed> timed() {
  const std::vector<Shape> linear{{84 * kMillion, 16}, {10500 * kThousand, 128}, {2600 * kThousand, 512}};
  const std::vector<Shape> sparse_linear{{168 * kMillion, 16}, {21 * kMillion, 128}, {5200 * kThousand, 512}};
  const std::vector<Shape> means{{40 * kMillion, 16}, {5 * kMillion, 128}, {1500 * kThousand, 512}};
  const std::vector<Shape> components{{24 * kMillion, 32}, {12 * kMillion, 128}, {4 * kMillion, 512}};
  const std::vector<Shape> forest{{3300 * kThousand, 16}, {800 * kThousand, 128}, {200 * kThousand, 512}};
  const std::vector<Shape> neighbours{{500 * kThousand, 16}, {250 * kThousand, 128}, {100 * kThousand, 512}};
  return {{"RandomForestClassifier", {{"n_estimators", 20}}, forest},
          {"KMeans", {{"n_clusters", 8}, {"n_init", 1}}, means},
          {"PCA", {{"n_components", 10}}, components},
          {"Ridge", {}, linear},
          {"LogisticRegression", {}, linear},
          {"KNeighborsClassifier", {{"n_neighbors", 5}}, neighbours, true},
          {"Lasso", {{"alpha", 0.1}}, sparse_linear},
          {"DBSCAN",
           {{"eps", 3.0}, {"min_samples", 2}},
           {{250 * kThousand, 16}, {500 * kThousand, 128}, {300 * kThousand, 512}}},
          {"LinearRegression", {}, linear},
          {"TruncatedSVD", {{"n_components", 10}}, components},
          {"ElasticNet", {{"alpha", 0.1}, {"l1_ratio", 0.5}}, sparse_linear},
          {"GaussianNB", {}, {{10 * kMillion, 64}}},
          {"StandardScaler", {}, {{1680 * kThousand, 16}}}};
}

// A table of normal numbers on the device, and classes and values that do not depend on it.
class Data {
 public:
  Data(engine::Device& device, Shape shape) {
    engine::Matrix<float> X(device.memory(), shape.rows, shape.cols);
    device.f32().rows->fill_normal(42, 0, X.view());
    samples_ = engine::samples_of(std::move(X));
    const auto n = static_cast<std::size_t>(shape.rows);
    y_.codes.resize(n);
    y_.values.resize(n);
    engine::PhiloxStream random(42, 1);
    for (std::size_t i = 0; i < n; ++i) {
      y_.codes[i] = static_cast<std::int32_t>(random.below(2));
      y_.values[i] = static_cast<double>(y_.codes[i]) + random.uniform();
    }
    y_.classes = {"a", "b"};
  }
  Data(const Data&) = delete;

  const Samples<float>& all() const { return samples_; }
  const engine::Target& target() const { return y_; }
  Samples<float> tenth(engine::Device& device) const {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(samples_.n_rows() / 10));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(10 * i);
    Samples<float> some = samples_;
    some.rows = std::make_shared<engine::Array<std::int32_t>>(device.memory(), std::span<const std::int32_t>(rows));
    return some;
  }

 private:
  Samples<float> samples_;
  engine::Target y_;
};

double fit_seconds(engine::Device& device, const Timed& row, const Data& data) {
  const Context ctx{.device = device};
  const auto estimator = engine::find_estimator(row.estimator)->make_f32(row.params);
  const Samples<float> asked = row.predicts ? data.tenth(device) : Samples<float>();
  return seconds_of(device.memory(), [&] {
    estimator->fit(ctx, data.all(), data.target());
    if (row.predicts) dynamic_cast<const engine::Classifier<float>&>(*estimator).predict(ctx, asked);
  });
}

double copy_seconds(engine::Device& device, std::int64_t bytes) {
  engine::Memory& memory = device.memory();
  const std::int64_t piece = std::min<std::int64_t>(bytes, std::int64_t{256} << 20);
  engine::Array<char> from(memory, piece), to(memory, piece);
  from.zero();
  double best = 1e9;
  for (int run = 0; run < 4; ++run)
    best = std::min(best,
                    seconds_of(memory, [&] { memory.copy(to.data(), from.data(), static_cast<std::size_t>(piece)); }));
  return best * static_cast<double>(bytes) / static_cast<double>(piece);
}

// Grows from a small part of the rows to all of them, as far as the time of an item and a third of the memory go.
Finding time(engine::Device& device, const Timed& row, Shape shape) {
  constexpr double kMostSeconds = 4;
  constexpr std::int64_t kSteps = 8, kFirst = 4096;
  const std::int64_t row_bytes = shape.cols * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t most = std::min(shape.rows, device.info().memory_bytes / 3 / row_bytes);
  std::int64_t rows = std::clamp<std::int64_t>(shape.rows / kFirst, 1000, most);
  double seconds = 0;
  while (true) {
    const Data data(device, {rows, shape.cols});
    fit_seconds(device, row, data);   // loads code, makes what is kept of the table
    seconds = fit_seconds(device, row, data);
    if (rows == most || seconds * kSteps > kMostSeconds) break;
    rows = std::min(most, rows * kSteps);
  }
  const std::string size = fmt::format("{} of {} rows, {} columns", rows, shape.rows, shape.cols);
  return {
      .measures = {{"fit, " + size, seconds, "s"},
                   {"the same in copies of the table", seconds / copy_seconds(device, rows * row_bytes), "copies"}}};
}

// A forest whose trees are grown to the end, on classes or values that some columns and noise make.
struct Asked {
  const char* name;
  std::int64_t fitted, rows, cols;
  std::int64_t n_trees = 100;
  bool is_of_classes = true;
};

std::vector<Asked> asked() {
  return {{"forest of classes", 20 * kThousand, kMillion, 28},
          {"forest of values", 20 * kThousand, kMillion, 28, 100, false},
          {"forest of large trees", kMillion, kMillion, 28, 20},
          {"forest of wide rows", 20 * kThousand, 100 * kThousand, 784}};
}

engine::Matrix<float> normal_rows(engine::Device& device, std::int64_t rows, std::int64_t cols, std::uint64_t stream) {
  engine::Matrix<float> X(device.memory(), rows, cols);
  device.f32().rows->fill_normal(42, stream, X.view());
  return X;
}

engine::Forest grown(engine::Device& device, const Asked& row) {
  const engine::Matrix<float> X = normal_rows(device, row.fitted, row.cols, 0);
  const std::vector<float> cells = X.to_host();
  std::vector<std::int32_t> classes;
  std::vector<double> values;
  engine::PhiloxStream random(42, 1);
  for (std::int64_t i = 0; i < row.fitted; ++i) {
    const float* const x = cells.data() + i * row.cols;
    values.push_back(static_cast<double>(x[0] + x[1] * x[2] + x[3]) + random.uniform());
    classes.push_back(values.back() > 0.5 ? 1 : 0);
  }
  const engine::Array<std::int32_t> codes(device.memory(), std::span<const std::int32_t>(classes));
  engine::TreeTarget target;
  if (row.is_of_classes) target.n_classes = 2, target.codes = codes.view();
  else target.values = values;
  engine::ForestOptions options;
  options.n_trees = row.n_trees, options.max_features = 5, options.seed = 3;
  return device.trees().grow(device.trees().bin(X.view()), {}, target, options, {}, {});
}

// Rows that are on the device already, answers that stay there; and one row, as a server is asked.
Finding time_asked(engine::Device& device, const Asked& row) {
  const engine::Forest forest = grown(device, row);
  const engine::Matrix<float> X = normal_rows(device, row.rows, row.cols, 1);
  engine::Matrix<double> out(device.memory(), row.rows, forest.n_outputs());
  const auto ready = device.trees().prepare(forest);
  const auto best_of = [&](int runs, std::int64_t rows) {
    const engine::MatrixView<const float> some(X.data(), rows, X.cols());
    const engine::MatrixView<double> answers(out.data(), rows, out.cols());
    double best = 1e9;
    for (int run = 0; run < runs; ++run) {
      const double seconds = seconds_of(device.memory(), [&] { ready->predict(some, answers); });
      if (run > 0) best = std::min(best, seconds);   // the first one loads code and packs nodes
    }
    return best;
  };
  const double seconds = best_of(6, row.rows), one = best_of(30, 1), few = best_of(10, 1000);
  const std::string size = fmt::format("{} rows x {}, {} trees of {} nodes", row.rows, row.cols, row.n_trees,
                                       forest.n_nodes() / row.n_trees);
  return {.measures = {{"rows a second, " + size, static_cast<double>(row.rows) / seconds, "rows/s"},
                       {"seconds", seconds, "s"},
                       {"of 1,000 rows", few, "s"},
                       {"of one row", one, "s"}}};
}

}   // namespace

std::vector<Item> timing_items(Bench& bench) {
  std::vector<Item> items;
  engine::Device& device = bench.device();
  for (const Asked& row : asked())
    items.push_back({fmt::format("predict, {}", row.name), [&device, row] { return time_asked(device, row); }});
  for (const Timed& row : timed())
    for (const Shape& shape : row.shapes)
      items.push_back({fmt::format("{} x {}", row.estimator, shape.cols),
                       [&device, row, shape] { return time(device, row, shape); }});
  return items;
}

}   // namespace kedge::gpu_check
