// Loads the data of the estimator tests.
#include "fixture.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/loader.h"
#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/text/documents.h"

namespace kedge::engine::testing {
namespace {

constexpr std::uint64_t kBlockOrder = 7;   // seed of the order in which the emulated device runs blocks

std::unique_ptr<Device> open_named(const std::string& name) {
  return name == "emulated" ? make_cuda_device({.seed = kBlockOrder}) : open_device(name);
}

}  // namespace

std::vector<std::string> device_names() { return {"cpu", "emulated"}; }

Device& device_named(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Device>> devices;
  std::unique_ptr<Device>& device = devices[name];
  if (!device) device = open_named(name);
  return *device;
}

std::string read_text(const std::string& name) {
  std::ifstream file("tests/data/estimators/" + name);
  if (!file) throw std::runtime_error("tests/data/estimators/" + name + " is missing: run the tests in the source folder");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Data load_data(const std::string& name) {
  Data data;
  std::stringstream lines(read_text(name + ".csv"));
  for (std::string line; std::getline(lines, line); ++data.n_rows) {
    std::stringstream cells(line);
    std::vector<double> row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(std::stod(cell));
    data.y.push_back(static_cast<std::int32_t>(row.back()));
    data.n_cols = static_cast<std::int64_t>(row.size()) - 1;
    data.X.insert(data.X.end(), row.begin(), row.end() - 1);
  }
  for (std::int32_t c = 0; c <= *std::max_element(data.y.begin(), data.y.end()); ++c) data.classes.push_back(std::to_string(c));
  return data;
}

Data make_data(std::int64_t n_rows, std::int64_t n_cols, std::int32_t n_classes) {
  Data data{.n_rows = n_rows, .n_cols = n_cols};
  PhiloxStream random(7, 0);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    data.y.push_back(static_cast<std::int32_t>(i % n_classes));
    data.values.push_back(data.y.back() + 1.0);   // some regressors take positive values alone
    for (std::int64_t j = 0; j < n_cols; ++j) data.X.push_back(random.uniform() + (j % n_classes == data.y.back() ? 2.0 : 0.0));
  }
  for (std::int32_t c = 0; c < n_classes; ++c) data.classes.push_back(std::to_string(c));
  return data;
}

bool reads_texts(const std::string& estimator) {
  const auto made = find_estimator(estimator)->make_f64(small_params(estimator));
  const auto* reader = dynamic_cast<const ReadsTexts*>(made.get());
  return reader && !reader->text_columns().empty();
}

bool compares_all_rows(const std::string& estimator) {
  static const std::set<std::string> names{"SVC",
                                           "NuSVC",
                                           "SVR",
                                           "NuSVR",
                                           "OneClassSVM",
                                           "KernelRidge",
                                           "HDBSCAN",
                                           "AgglomerativeClustering",
                                           "MeanShift",
                                           "OPTICS",
                                           "Birch",
                                           "TSNE",
                                           "KernelPCA",
                                           "SpectralEmbedding",
                                           "SpectralClustering",
                                           "UMAP"};
  return names.contains(estimator);
}

schema::ValueMap small_params(const std::string& estimator) {
  if (estimator == "LassoCV" || estimator == "ElasticNetCV") return {{"alphas", 6}, {"cv", 3}};
  if (estimator == "LogisticRegressionCV") return {{"Cs", 3}, {"cv", 3}};
  if (estimator == "KernelPCA") return {{"n_components", 2}, {"kernel", "rbf"}};
  if (estimator == "NMF") return {{"n_components", 3}, {"max_iter", 40}};
  if (estimator == "KNNImputer") return {{"n_neighbors", 3}};
  if (estimator == "FunctionTransformer") return {{"func", "log1p"}};
  if (estimator == "IterativeImputer") return {{"max_iter", 2}};
  if (estimator == "IsotonicRegression") return {{"out_of_bounds", "clip"}};
  if (estimator == "TheilSenRegressor") return {{"max_subpopulation", 50}, {"random_state", 1}};
  if (estimator == "RANSACRegressor") return {{"max_trials", 10}, {"random_state", 1}, {"residual_threshold", 1.0}};
  if (estimator.starts_with("RandomForest") || estimator.starts_with("ExtraTrees")) return {{"n_estimators", 3}, {"random_state", 1}};
  if (estimator.starts_with("HistGradientBoosting")) return {{"max_iter", 5}};
  if (estimator.starts_with("GradientBoosting") || estimator.starts_with("AdaBoost"))
    return {{"n_estimators", 3}, {"random_state", 1}};
  if (estimator == "TSNE") return {{"perplexity", 3.0}, {"max_iter", 260}, {"random_state", 1}};
  if (estimator == "SpectralClustering") return {{"n_clusters", 3}, {"gamma", 0.1}};
  if (estimator == "UMAP") return {{"n_neighbors", 5}, {"n_epochs", 20}, {"random_state", 1}};
  if (estimator.starts_with("MLP")) return {{"hidden_layer_sizes", 6}, {"max_iter", 5}, {"random_state", 1}};
  if (estimator == "RFECV" || estimator == "SequentialFeatureSelector") return {{"cv", 2}};
  const schema::Value scaler = schema::ValueMap{{"estimator", "StandardScaler"}};
  if (estimator == "ColumnTransformer") {
    return {{"transformers", schema::ValueList{schema::Value(schema::ValueList{"scaled", scaler, schema::ValueList{0, -1}})}}, {"remainder", "passthrough"}};
  }
  if (estimator == "FeatureUnion") {
    return {{"transformer_list", schema::ValueList{schema::ValueList{"scaled", scaler}, schema::ValueList{"same", "passthrough"}}}};
  }
  if (estimator.starts_with("Voting") || estimator.starts_with("Stacking")) {
    const char* kind = estimator.ends_with("Classifier") ? "Classifier" : "Regressor";
    const auto made = [&](const std::string& name) {
      return schema::Value(schema::ValueMap{{"estimator", name + kind}});
    };
    schema::ValueList both{schema::ValueList{"near", made("KNeighbors")},
                           schema::ValueList{"tree", made("DecisionTree")}};
    schema::ValueMap params{{"estimators", std::move(both)}};
    if (estimator.starts_with("Stacking")) params.emplace_back("cv", 2);
    return params;
  }
  if (estimator.starts_with("Bagging")) return {{"n_estimators", 3}, {"random_state", 1}};
  if (estimator == "HashingVectorizer" || estimator == "FeatureHasher") return {{"n_features", 32}};
  if (estimator == "MissingIndicator") return {{"features", "all"}};
  if (estimator == "CategoricalNB") return {{"min_categories", 8}};   // rows without a class may lack categories that others have
  if (estimator == "QuadraticDiscriminantAnalysis") return {{"reg_param", 0.1}};   // without it, a constant column is refused
  if (estimator == "RadiusNeighborsClassifier") return {{"outlier_label", "most_frequent"}};
  if (estimator == "RadiusNeighborsRegressor") return {{"radius", 10.0}};
  if (estimator == "NuSVC") return {{"nu", 0.3}};   // rows without a class may have few of another
  if (estimator == "FactorAnalysis") return {{"n_components", 2}};
  if (estimator == "IsolationForest") return {{"n_estimators", 3}, {"random_state", 1}};
  if (estimator == "LocalOutlierFactor") return {{"n_neighbors", 5}, {"novelty", true}};
  if (estimator.ends_with("RandomProjection")) return {{"n_components", 3}};
  if (estimator == "PolynomialCountSketch") return {{"n_components", 10}};
  if (estimator.ends_with("GaussianMixture")) return {{"n_components", 2}, {"reg_covar", 1e-3}};
  if (estimator == "KMeans" || estimator == "MiniBatchKMeans") return {{"n_clusters", 3}};
  return {};
}

template <class T>
Loaded<T>::Loaded(Device& device, const Data& data) : device_(device), data_(data) {
  const std::vector<T> host(data.X.begin(), data.X.end());
  samples_ = samples_of(Matrix<T>(device.memory(), data.n_rows, data.n_cols, host));
}

template <class T>
Loaded<T>::Loaded(Device& device, const Data& data, const std::string& estimator) : Loaded(device, data) {
  if (estimator == "IsotonicRegression") {   // of one column
    std::vector<T> first;
    for (std::int64_t i = 0; i < data.n_rows; ++i)
      first.push_back(static_cast<T>(data.X[static_cast<std::size_t>(i * data.n_cols)]));
    samples_ = samples_of(Matrix<T>(device.memory(), data.n_rows, 1, first));
  }
  if (!reads_texts(estimator)) return;
  Feature feature{.name = "text", .categories = {}, .is_nominal = true};
  std::vector<T> codes;
  for (std::int64_t i = 0; i < data.n_rows; ++i) {
    std::string text;
    for (std::int64_t j = 0; j < data.n_cols; ++j)
      text += fmt::format("c{}x{:.1f} ", j, data.X[static_cast<std::size_t>(i * data.n_cols + j)]);
    codes.push_back(static_cast<T>(i));
    feature.categories.push_back(std::move(text));
  }
  samples_ = samples_of(Matrix<T>(device.memory(), data.n_rows, 1, codes), {std::move(feature)});
}

template <class T>
Samples<T> Loaded<T>::rows(const std::vector<std::int32_t>& rows) const {
  Samples<T> selected = samples_;
  selected.rows = std::make_shared<Array<std::int32_t>>(device_.memory(), std::span<const std::int32_t>(rows));
  return selected;
}

template <class T>
Target Loaded<T>::target() const {
  std::vector<double> values = data_.values.empty() ? std::vector<double>(data_.y.begin(), data_.y.end()) : data_.values;
  Target y{.codes = data_.y, .classes = data_.classes, .values = std::move(values)};
  TargetOutput same{.name = "same", .codes = y.codes, .classes = y.classes, .values = y.values}, other = same;
  other.name = "other";
  std::ranges::reverse(other.classes);   // the last class comes first
  for (std::int32_t& code : other.codes) code = y.n_classes() - 1 - code;
  for (double& value : other.values) value = 3 - 2 * value;
  y.outputs = {std::move(same), std::move(other)};
  return y;
}

template <class T>
Target Loaded<T>::target(const std::vector<std::int32_t>& rows) const {
  const Target all = target();
  Target selected{.classes = all.classes};
  for (const std::int32_t row : rows) {
    selected.codes.push_back(all.codes[static_cast<std::size_t>(row)]);
    selected.values.push_back(all.values[static_cast<std::size_t>(row)]);
  }
  selected.outputs = rows_at(all.outputs, rows);
  return selected;
}

template class Loaded<float>;
template class Loaded<double>;

}  // namespace kedge::engine::testing
