// Sizes of the rows, and limits: a matrix is read once (linear models, PCA, naive Bayes) or once an iteration;
// distances of all pairs are two operations a column; a forest's limit is the study of its reads, 32-byte sectors of
// binned columns once a level.
#include "tests/gpu_model/jobs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/emulated/gpu_models.h"
#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/neighbors/neighbor_estimators.h"

namespace kedge::gpu_model {
namespace {

using engine::Array;
using engine::Matrix;
using schema::Value;
using schema::ValueMap;
using Target = Job::Target;
using Use = Job::Use;

constexpr double kValueBytes = 4;
constexpr int kIterations = 10;   // of k-means and logistic regression
constexpr int kEpochs = 4, kHidden = 100;   // of a network
constexpr double kWrong = 0.1;    // of a forest's classes: its trees grow until they know them
// A block scores a column of a node, and the first levels have large nodes.
constexpr const char* kOfRows = "score_columns of 512 threads";
// The levels of such trees at the row's size. scikit-learn's, grown once on the same data, are 129 and 154 deep.
constexpr double kLevels16 = 130, kLevels128 = 150;

struct Shape {
  double rows, cols;
};

std::string count_text(double n) {
  return n >= 1e6 ? fmt::format("{:g}M", n / 1e6) : fmt::format("{:g}k", n / 1e3);
}

// What is done differently for many rows begins below the smaller size, or few rows would show what they do alone.
// Ranges of tiles are folded a third time beyond 262,144 rows. Up to 16 tiles times the rows of a block of threads have
// their sums added by one block: 2,048 tiles of 256 rows of the two columns of logistic regression, 256 of 16 columns,
// 128 of 32 and more; k-means and naive Bayes have tiles of 1,024 rows.
std::vector<double> sizes_of(const std::string& estimator, Growth growth, double cols) {
  if (estimator == "DBSCAN" && cols <= 32) return {2048, 4096, 6144};   // see model_of()
  if (growth == Growth::kQuadratic) return {512, 1024, 1536};
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, estimator) != names.end();
  };
  if (is_one_of({"MLPClassifier"})) return {1600, 3200};      // 8 and 16 batches
  if (growth == Growth::kLogarithmic) return {8192, 16384};   // with several levels of nodes of 2,048 rows and more
  if (cols > 128) return {4096, 8192};
  if (is_one_of({"KMeans"})) return cols > 32 ? std::vector<double>{4096, 8192} : std::vector<double>{163840, 196608};
  if (is_one_of({"GaussianNB", "MultinomialNB"})) return {147456, 196608};
  if (cols > 32) return {40960, 65536};
  if (is_one_of({"LogisticRegression"})) return {540672, 589824};
  if (is_one_of({"PCA", "MinMaxScaler", "MaxAbsScaler"})) return {278528, 524288};
  return {131072, 262144};
}

class List {
 public:
  void add(const std::string& estimator, std::initializer_list<Shape> shapes, Job like,
           const std::function<Limit(double n, double d)>& limit) {
    for (const Shape& shape : shapes) {
      Job job = like;
      job.estimator = estimator, job.rows = shape.rows, job.cols = shape.cols;
      const bool asks = job.use == Use::kPredict;
      job.name = fmt::format("{}{}{} {} x {:g}", estimator, asks ? " predict" : "",
                             job.detail.empty() ? "" : ", " + job.detail + ",", count_text(shape.rows), shape.cols);
      job.sizes = asks ? std::vector<double>{16384, 32768} : sizes_of(estimator, job.growth, shape.cols);
      job.limit = limit(shape.rows, shape.cols);
      jobs_.push_back(std::move(job));
    }
  }
  std::vector<Job> take() { return std::move(jobs_); }

 private:
  std::vector<Job> jobs_;
};

Limit gram(double n, double d) {
  return {kValueBytes * n * d, n * d * d};
}
Limit passes(double times, double n, double d) {
  return {times * kValueBytes * n * d, 0};
}
Limit pairs(double n, double d) {
  return {kValueBytes * n * d, 2 * n * n * d};
}

void use(const Job& job, const engine::Context& ctx, const engine::Estimator<float>& fitted,
         const engine::Samples<float>& X) {
  if (job.use == Use::kFitTransform) {
    Matrix<float> scratch;
    dynamic_cast<const engine::Transformer<float>&>(fitted).transform(ctx, X).values(ctx, scratch);
  } else if (job.use == Use::kFitNeighbors) {
    static_cast<void>(dynamic_cast<const engine::NearestNeighbors<float>&>(fitted).kneighbors(ctx, X));
  } else if (job.use == Use::kFit) {
    return;
  } else if (job.target == Target::kClasses) {
    static_cast<void>(dynamic_cast<const engine::Classifier<float>&>(fitted).predict(ctx, X));
  } else {
    static_cast<void>(dynamic_cast<const engine::Regressor<float>&>(fitted).predict(ctx, X));
  }
}

// What a first fit leaves with its target.
void bring_target(const engine::Context& ctx, const engine::Target& y) {
  if (!y.codes.empty()) static_cast<void>(y.class_counts(ctx));
  if (!y.values.empty()) static_cast<void>(y.largest_value(ctx));
}

// The emulator's usual GPU, or one with an L4's units. DBSCAN's blocks take as many tiles of 128 rows as leave each
// multiprocessor some blocks, at most 16, and keep what they find in a share of the memory that is free: with one
// multiprocessor and so much memory, 2,048 rows are cut as 250,000 are on a GPU.
engine::emulated::GpuModel model_of(const Job& job, bool few_double_units) {
  engine::emulated::GpuModel model = engine::emulated::usual_model();
  if (few_double_units) model.capability = engine::emulated::gpu_model("L4").capability;
  if (job.estimator == "DBSCAN") model.multiprocessors = 1, model.memory_bytes = std::size_t{32} << 30;
  return model;
}

engine::Target first_rows(const engine::Target& y, std::int64_t n) {
  engine::Target some = y;
  if (!some.codes.empty()) some.codes.resize(static_cast<std::size_t>(n));
  if (!some.values.empty()) some.values.resize(static_cast<std::size_t>(n));
  return some;
}

engine::Samples<float> first_rows(const engine::Context& ctx, const engine::Samples<float>& X, std::int64_t n) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  return {
      .table = X.table,
      .rows = std::make_shared<const engine::Array<std::int32_t>>(ctx.memory(), std::span<const std::int32_t>(rows))};
}

}   // namespace

double Limit::seconds(const Machine& machine) const {
  return std::max(bytes / machine.memory_rate, operations / machine.f32_rate);
}

std::vector<Job> jobs() {
  List list;
  const std::initializer_list<Shape> tall{{84e6, 16}, {10.5e6, 128}, {2.6e6, 512}},
      taller{{168e6, 16}, {21e6, 128}, {5.2e6, 512}};
  for (const char* name : {"LinearRegression", "Ridge"}) list.add(name, tall, {.target = Target::kValues}, gram);
  list.add("LogisticRegression", tall, {.params = {{"max_iter", kIterations}}, .target = Target::kClasses},
           [](double n, double d) { return passes(kIterations, n, d); });
  for (const char* name : {"Lasso", "ElasticNet"})
    list.add(name, taller, {.params = {{"alpha", 0.1}}, .target = Target::kValues}, gram);
  list.add("KMeans", {{40e6, 16}, {5e6, 128}, {1.5e6, 512}},
           {.params = {{"n_clusters", 8},
                       {"n_init", 1},
                       {"init", "random"},
                       {"tol", 0.0},
                       {"max_iter", kIterations},
                       {"random_state", 1}}},
           [](double n, double d) { return passes(kIterations + 1, n, d); });
  list.add("PCA", {{24e6, 32}, {12e6, 128}, {4e6, 512}}, {.params = {{"n_components", 10}}}, gram);
  list.add("TruncatedSVD", {{24e6, 32}, {12e6, 128}}, {.params = {{"n_components", 10}, {"random_state", 1}}}, gram);
  list.add("NearestNeighbors", {{800e3, 16}, {500e3, 128}},
           {.params = {{"n_neighbors", 64}, {"algorithm", "brute"}},
            .use = Use::kFitNeighbors,
            .growth = Growth::kQuadratic},
           pairs);
  list.add("KNeighborsClassifier", {{500e3, 16}, {250e3, 128}},
           {.params = {{"algorithm", "brute"}},
            .target = Target::kClasses,
            .use = Use::kFitPredict,
            .growth = Growth::kQuadratic},
           pairs);
  list.add("KNeighborsRegressor", {{500e3, 16}, {250e3, 128}},
           {.params = {{"algorithm", "brute"}},
            .target = Target::kValues,
            .use = Use::kFitPredict,
            .growth = Growth::kQuadratic},
           pairs);
  list.add("DBSCAN", {{250e3, 16}, {500e3, 128}},
           {.params = {{"eps", 3.0}, {"min_samples", 2}}, .growth = Growth::kQuadratic}, pairs);
  list.add("RandomForestClassifier", {{3.3e6, 16}},
           {.params = {{"n_estimators", 20}, {"random_state", 1}},
            .target = Target::kClasses,
            .growth = Growth::kLogarithmic,
            .steps = {"choose_cuts", kLevels16, kOfRows}},
           [](double, double) { return Limit{40e-3 * 3e12, 0}; });
  list.add("RandomForestClassifier", {{800e3, 128}},
           {.params = {{"n_estimators", 20}, {"random_state", 1}},
            .target = Target::kClasses,
            .growth = Growth::kLogarithmic,
            .steps = {"choose_cuts", kLevels128, kOfRows}},
           [](double, double) { return Limit{25e-3 * 3e12, 0}; });
  for (const char* name : {"RandomForestClassifier", "RandomForestRegressor"})
    list.add(name, {{1e6, 28}},
             {.params = {{"n_estimators", 20}, {"random_state", 1}},
              .target = name == std::string("RandomForestRegressor") ? Target::kValues : Target::kClasses,
              .use = Use::kPredict},
             [](double n, double d) { return passes(1, n, d); });
  for (const int depth : {2, 4, 6})
    list.add("HistGradientBoostingRegressor", {{1e6, 28}},
             {.detail = fmt::format("100 trees of depth {}", depth),
              .params = {{"max_iter", 100}, {"max_depth", depth}, {"max_leaf_nodes", 64}, {"min_samples_leaf", 4}},
              .target = Target::kValues,
              .use = Use::kPredict,
              .fitted_rows = 2400},
             [](double n, double d) { return passes(1, n, d); });
  list.add("GaussianNB", {{10e6, 64}}, {.target = Target::kClasses},
           [](double n, double d) { return passes(1, n, d); });
  list.add("MultinomialNB", {{20e6, 64}}, {.target = Target::kClasses},
           [](double n, double d) { return passes(1, n, d); });
  list.add("MLPClassifier", {{20e3, 784}},
           {.detail = fmt::format("{} epochs", kEpochs),
            .params = {{"max_iter", kEpochs}, {"n_iter_no_change", kEpochs}, {"random_state", 1}},
            .target = Target::kClasses,
            .batch_rows = 200,
            .epochs = kEpochs},
           [](double n, double d) { return Limit{kEpochs * kValueBytes * n * d, 6 * kEpochs * n * d * kHidden}; });
  for (const char* name : {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "SimpleImputer"})
    list.add(name, {{1.67e6, 16}}, {.use = Use::kFitTransform}, [](double n, double d) { return passes(3, n, d); });
  for (const char* name : {"Normalizer", "Binarizer"})
    list.add(name, {{1.67e6, 16}}, {.use = Use::kFitTransform}, [](double n, double d) { return passes(2, n, d); });
  return list.take();
}

Trace run(const Job& job, double rows, bool few_double_units, Tracer& tracer) {
  const engine::emulated::GpuModel model = model_of(job, few_double_units);
  const auto device = engine::make_cuda_device({.seed = 7, .model = &model});
  const engine::Context ctx{.device = *device, .seed = 1};
  const auto n = static_cast<std::int64_t>(rows), d = static_cast<std::int64_t>(job.cols);
  std::vector<float> values;
  engine::Target y;
  if (job.target == Target::kClasses) y.classes = {"0", "1"};
  engine::PhiloxStream random(17, 0);
  for (std::int64_t i = 0; i < n; ++i) {   // two blobs in no order, and a value that follows the first columns
    const std::int64_t blob = random.uniform() < 0.5 ? 1 : 0;
    double value = 0.1 * random.uniform();
    for (std::int64_t j = 0; j < d; ++j) {
      const double x = random.uniform() + (j % 2 == blob ? 1.0 : 0.0);
      value += j < 4 ? x : 0;
      values.push_back(static_cast<float>(x));
    }
    const bool is_wrong = job.growth == Growth::kLogarithmic && random.uniform() < kWrong;
    if (job.target == Target::kClasses) y.codes.push_back(static_cast<std::int32_t>(is_wrong ? 1 - blob : blob));
    if (job.target == Target::kValues) y.values.push_back(value);
  }
  const engine::Samples<float> X = engine::samples_of(Matrix<float>(ctx.memory(), n, d, values));
  const engine::CatalogueEntry* entry = engine::find_estimator(job.estimator);
  if (!entry) throw std::runtime_error("no estimator " + job.estimator);
  const auto estimator = entry->make_f32(job.params);

  if (job.use == Use::kPredict) {
    const auto fitted = static_cast<std::int64_t>(job.fitted_rows);
    estimator->fit(ctx, first_rows(ctx, X, fitted), first_rows(y, fitted));
  }
  bring_target(ctx, y);
  tracer.take();
  {
    const Watch watch(tracer);
    if (job.use != Use::kPredict) estimator->fit(ctx, X, y);
    use(job, ctx, *estimator, X);
  }
  return tracer.take();
}

}   // namespace kedge::gpu_model
