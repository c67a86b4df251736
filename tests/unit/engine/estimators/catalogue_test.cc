// What every row of the catalogue must do, on every device and in both precisions. A new row is tested by being there.
#include "engine/estimators/catalogue.h"

#include <gtest/gtest.h>

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/row_scores.h"
#include "fixture.h"
#include "schemas/error.h"
#include "sync_budgets.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using testing::Data;

constexpr double kRowSumTolerance = 1e-6;   // float scores that were normalised in float

struct Row {
  std::string estimator, device;
  bool is_double;
  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.estimator << " on " << row.device; }
};

std::vector<Row> rows_of_kind(std::string_view kind) {   // empty: all
  std::vector<Row> rows;
  for (const CatalogueEntry& entry : catalogue())
    if (kind.empty() || entry.info.kind == kind)
      for (const std::string& device : testing::device_names())
        for (const bool is_double : {false, true}) rows.push_back({entry.info.name, device, is_double});
  return rows;
}

std::string row_name(const ::testing::TestParamInfo<Row>& info) {
  return info.param.estimator + "_" + info.param.device + (info.param.is_double ? "_double" : "_float");
}

template <class T>
std::unique_ptr<Estimator<T>> make(const std::string& name, const schema::ValueMap& params) {
  const CatalogueEntry* entry = find_estimator(name);
  if constexpr (std::is_same_v<T, float>) return entry->make_f32(params);
  else return entry->make_f64(params);
}

template <class T>
std::unique_ptr<Estimator<T>> make(const std::string& name) { return make<T>(name, testing::small_params(name)); }

void expect_all_finite(const schema::Value& value) {
  if (const auto* real = std::get_if<double>(&value.data)) {
    EXPECT_TRUE(std::isfinite(*real));
  }
  if (const auto* numbers = std::get_if<std::vector<double>>(&value.data)) {
    for (const double v : *numbers) ASSERT_TRUE(std::isfinite(v));
  }
  if (const auto* values = std::get_if<schema::ValueList>(&value.data))
    for (const schema::Value& item : *values) expect_all_finite(item);
}

// As scikit-learn: a constant column has no F statistic, and one bin without ends.
bool may_be_infinite(const std::string& attribute) {
  return attribute == "scores_" || attribute == "pvalues_" || attribute == "bin_edges_";
}

template <class T>
void expect_usable_output(const Context& ctx, const Estimator<T>& estimator, const Samples<T>& X) {
  if (const auto* transformer = dynamic_cast<const Transformer<T>*>(&estimator)) {
    for (const double v : host_values(ctx, transformer->transform(ctx, X))) ASSERT_TRUE(std::isfinite(v));
  }
  if (const auto* scorer = dynamic_cast<const RowScorer<T>*>(&estimator)) {
    for (const std::string& output : scorer->row_outputs()) {
      const Matrix<double> scores = scorer->row_scores(ctx, X, output);
      ASSERT_EQ(scores.rows(), X.n_rows());
      for (const double v : scores.to_host()) ASSERT_TRUE(std::isfinite(v)) << output;
    }
  }
  if (const auto* regressor = dynamic_cast<const Regressor<T>*>(&estimator)) {
    const std::vector<double> values = regressor->predict(ctx, X);
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), X.n_rows());
    for (const double v : values) ASSERT_TRUE(std::isfinite(v));
    return;
  }
  if (const auto* clusterer = dynamic_cast<const Clusterer<T>*>(&estimator)) {
    ASSERT_EQ(static_cast<std::int64_t>(clusterer->labels().size()), X.n_rows());
    for (const std::int32_t label : clusterer->labels()) ASSERT_GE(label, -1);
    if (clusterer->can_predict()) {
      ASSERT_EQ(static_cast<std::int64_t>(clusterer->predict(ctx, X).size()), X.n_rows());
    }
    return;
  }
  if (const auto* detector = dynamic_cast<const OutlierDetector<T>*>(&estimator); detector && detector->can_predict()) {
    for (const std::int32_t label : detector->predict(ctx, X)) ASSERT_TRUE(label == 1 || label == -1);
  }
  const auto* classifier_or_null = dynamic_cast<const Classifier<T>*>(&estimator);
  if (!classifier_or_null) return;   // an estimator that neither transforms nor predicts
  const Classifier<T>& classifier = *classifier_or_null;
  const std::int64_t k = classifier.n_classes();
  for (const std::int32_t code : classifier.predict(ctx, X)) ASSERT_TRUE(code >= 0 && code < k);
  if (!classifier.has_proba()) return;
  Matrix<double> proba(ctx.memory(), X.n_rows(), k);
  classifier.predict_proba(ctx, X, proba.view());
  const std::vector<double> shares = proba.to_host();
  for (std::int64_t i = 0; i < X.n_rows(); ++i) {
    double sum = 0;
    for (std::int64_t c = 0; c < k; ++c) sum += shares[i * k + c];
    ASSERT_NEAR(sum, 1.0, kRowSumTolerance) << "row " << i;
  }
}

template <class V>
void append_bits(std::string& bits, const std::vector<V>& values) {
  bits.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(V));
}

// The bits of everything that an estimator says of rows.
template <class T>
std::string said_of(const Context& ctx, const Estimator<T>& estimator, const Samples<T>& X) {
  std::string bits;
  if (const auto* transformer = dynamic_cast<const Transformer<T>*>(&estimator)) {
    append_bits(bits, host_values(ctx, transformer->transform(ctx, X)));
  }
  if (const auto* regressor = dynamic_cast<const Regressor<T>*>(&estimator)) append_bits(bits, regressor->predict(ctx, X));
  if (const auto* clusterer = dynamic_cast<const Clusterer<T>*>(&estimator)) {
    append_bits(bits, clusterer->labels());
    if (clusterer->can_predict()) append_bits(bits, clusterer->predict(ctx, X));
  }
  if (const auto* scorer = dynamic_cast<const RowScorer<T>*>(&estimator)) {
    for (const std::string& output : scorer->row_outputs())
      append_bits(bits, scorer->row_scores(ctx, X, output).to_host());
  }
  if (const auto* classifier = dynamic_cast<const Classifier<T>*>(&estimator)) {
    append_bits(bits, classifier->predict(ctx, X));
    const std::int64_t k = classifier->n_classes();
    Matrix<double> proba(ctx.memory(), X.n_rows(), k), decision(ctx.memory(), X.n_rows(), k == 2 ? 1 : k);
    if (classifier->has_proba()) classifier->predict_proba(ctx, X, proba.view()), append_bits(bits, proba.to_host());
    if (classifier->has_decision()) classifier->decision_function(ctx, X, decision.view()), append_bits(bits, decision.to_host());
  }
  return bits;
}

// Fits on all rows of `data`. True if it could; otherwise the error was kBadData and named the estimator.
template <class T>
bool fits_or_says_why(const Row& row, const Data& data) {
  Device& device = testing::device_named(row.device);
  const Context ctx{.device = device};
  const testing::Loaded<T> loaded(device, data);
  const auto estimator = make<T>(row.estimator);
  try {
    estimator->fit(ctx, loaded.all(), loaded.target());
    expect_usable_output<T>(ctx, *estimator, loaded.all());
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kBadData) << error.message;
    EXPECT_EQ(error.message.rfind(row.estimator + ": ", 0), 0u) << error.message;
    return false;
  }
  for (const auto& [name, value] : estimator->attributes()) {
    SCOPED_TRACE(name);
    if (!may_be_infinite(name)) expect_all_finite(value);
  }
  return true;
}

bool refuses_constant_input(const std::string& estimator) {
  return estimator == "VarianceThreshold" || estimator == "FastICA" || estimator == "MinCovDet" ||
         estimator == "EllipticEnvelope" || estimator == "NearestCentroid" || estimator == "NuSVC";
}

class EveryClassifier : public ::testing::TestWithParam<Row> {};

class EveryEstimator : public ::testing::TestWithParam<Row> {
 protected:
  static bool fits(const Data& data) {
    return GetParam().is_double ? fits_or_says_why<double>(GetParam(), data) : fits_or_says_why<float>(GetParam(), data);
  }
};

TEST_P(EveryEstimator, FitsOrdinaryData) { EXPECT_TRUE(fits(testing::make_data(40, 6, 3))); }
TEST_P(EveryEstimator, FitsTwoClasses) { EXPECT_TRUE(fits(testing::make_data(24, 4, 2))); }

TEST_P(EveryEstimator, RefusesEmptyInput) { EXPECT_FALSE(fits(testing::make_data(0, 3, 2))); }

TEST_P(EveryEstimator, SurvivesOneRow) { fits(testing::make_data(1, 3, 1)); }
TEST_P(EveryEstimator, SurvivesOneClass) { fits(testing::make_data(12, 3, 1)); }
TEST_P(EveryEstimator, SurvivesFewerRowsThanColumns) { fits(testing::make_data(6, 20, 2)); }

TEST_P(EveryEstimator, SurvivesConstantInput) {
  Data data = testing::make_data(20, 3, 2);
  std::fill(data.X.begin(), data.X.end(), 1.5);
  EXPECT_EQ(fits(data), !refuses_constant_input(GetParam().estimator));
}

TEST_P(EveryEstimator, SurvivesZeros) {
  Data data = testing::make_data(20, 3, 2);
  std::fill(data.X.begin(), data.X.end(), 0.0);
  EXPECT_EQ(fits(data), !refuses_constant_input(GetParam().estimator));
}

template <class T>
void expect_no_other_error_than_bad_data(const Row& row, Data data) {
  for (std::int64_t i = 0; i < data.n_rows; ++i)   // their squares overflow, and so does their sum
    data.X[static_cast<std::size_t>(i * data.n_cols)] = (i % 3 ? 0.5 : -0.9) * static_cast<double>(std::numeric_limits<T>::max());
  Device& device = testing::device_named(row.device);
  const Context ctx{.device = device};
  const testing::Loaded<T> loaded(device, data);
  const auto estimator = make<T>(row.estimator);
  try {
    estimator->fit(ctx, loaded.all(), loaded.target());
    said_of<T>(ctx, *estimator, loaded.all());
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kBadData) << error.message;
  }
}

TEST_P(EveryEstimator, SaysThatNumbersAreTooLarge) {
  const Data data = testing::make_data(40, 6, 3);
  if (GetParam().is_double) expect_no_other_error_than_bad_data<double>(GetParam(), data);
  else expect_no_other_error_than_bad_data<float>(GetParam(), data);
}

TEST_P(EveryEstimator, StopsWhenAskedTo) {
  Device& device = testing::device_named(GetParam().device);
  std::stop_source stop;
  stop.request_stop();
  const Context ctx{.device = device, .stop = stop.get_token()};
  const Data data = testing::make_data(30, 4, 3);
  const testing::Loaded<double> loaded(device, data);
  const auto estimator = make<double>(GetParam().estimator);
  try {
    estimator->fit(ctx, loaded.all(), loaded.target());
    expect_usable_output<double>(ctx, *estimator, loaded.all());
    ADD_FAILURE() << "neither fit nor predict stopped";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kCancelled);
  }
}

TEST_P(EveryEstimator, ForgetsTheFormerFit) {
  Device& device = testing::device_named(GetParam().device);
  const Context ctx{.device = device};
  const Data first = testing::make_data(30, 5, 3), second = testing::make_data(24, 4, 2);
  const testing::Loaded<double> a(device, first), b(device, second);
  const auto again = make<double>(GetParam().estimator), fresh = make<double>(GetParam().estimator);
  again->fit(ctx, a.all(), a.target());
  again->fit(ctx, b.all(), b.target());
  fresh->fit(ctx, b.all(), b.target());
  EXPECT_EQ(again->attributes(), fresh->attributes());
}

// A wait costs a GPU tens of microseconds, so a new one is to be noticed.
TEST(SyncBudget, IsKeptByEveryEstimator) {
  Device& device = testing::device_named("emulated");
  const std::int64_t& syncs = static_cast<emulated::Emulator*>(static_cast<CudaRuntime&>(device.memory()).stream())->memory.syncs;
  const Context ctx{.device = device};
  const Data data = testing::make_data(40, 6, 3);
  const testing::Loaded<double> loaded(device, data);
  for (const CatalogueEntry& entry : catalogue()) {
    const auto budget = std::ranges::find(testing::kSyncBudgets, entry.info.name, &testing::SyncBudget::estimator);
    const auto estimator = make<double>(entry.info.name);
    const std::int64_t before = syncs;
    estimator->fit(ctx, loaded.all(), loaded.target());
    const std::int64_t fitted = syncs;
    expect_usable_output<double>(ctx, *estimator, loaded.all());
    const std::string row = fmt::format("{{\"{}\", {}, {}}},", entry.info.name, fitted - before, syncs - fitted);
    if (budget == std::end(testing::kSyncBudgets)) {
      ADD_FAILURE() << "no budget; it needs " << row;
      continue;
    }
    EXPECT_LE(fitted - before, budget->fit) << row;
    EXPECT_LE(syncs - fitted, budget->use) << row;
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
  const testing::Loaded<double> loaded(device, data);
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
    const auto budget = std::ranges::find(testing::kSyncBudgets, name, &testing::SyncBudget::estimator);
    if (budget == std::end(testing::kSyncBudgets)) continue;   // the test above says so
    const std::int64_t growth = fetched_by_fit(device, name, more) - fetched_by_fit(device, name, data);
    const std::int64_t a_row = growth > 0 ? (growth + data.n_rows - 1) / data.n_rows : 0;
    EXPECT_LE(a_row, budget->row_bytes) << fmt::format("{{\"{}\", {}, {}, {}}},", name, budget->fit, budget->use,
                                                       a_row);
    if (budget->row_bytes > 0) {
      EXPECT_FALSE(entry.info.hostPart.empty() && !testing::fetches_its_answer(name))
          << name << ": the catalogue does not say what for";
    }
  }
}

// A model's file that is removed at the end of the test.
struct ModelPath {
  std::filesystem::path path;
  explicit ModelPath(const std::string& name)
      : path(std::filesystem::temp_directory_path() / (name + "_" + std::to_string(::getpid()) + ".kedge")) {}
  ~ModelPath() { std::filesystem::remove(path); }
  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

template <class T>
void save(const Context& ctx, Estimator<T>& estimator, const Data& data, const ModelPath& to) {
  ModelFileWriter writer(to.path);
  StateArchive archive(ctx, writer, static_cast<std::int32_t>(data.classes.size()));
  const StateArchive::Scope scope(archive, "estimator", data.n_cols);
  estimator.state(archive);
  writer.finish({});
}

template <class T>
void load(const Context& ctx, Estimator<T>& estimator, const Data& data, const ModelPath& from) {
  const ModelFile file(from.path);
  StateArchive archive(ctx, file, static_cast<std::int32_t>(data.classes.size()));
  const StateArchive::Scope scope(archive, "estimator", data.n_cols);
  estimator.state(archive);
  archive.finish();
}

template <class T>
void expect_stored(const Row& row) {
  const Data data = testing::make_data(40, 6, 3);
  Device& device = testing::device_named(row.device);
  const Context ctx{.device = device};
  const testing::Loaded<T> loaded(device, data);
  const auto fitted = make<T>(row.estimator), same = make<T>(row.estimator);
  fitted->fit(ctx, loaded.all(), loaded.target());
  const ModelPath file("kedge_" + row.estimator + row.device + (row.is_double ? "d" : "f"));
  save(ctx, *fitted, data, file);
  load(ctx, *same, data, file);
  EXPECT_EQ(said_of<T>(ctx, *same, loaded.all()), said_of<T>(ctx, *fitted, loaded.all()));
  EXPECT_EQ(schema::to_string(same->attributes()), schema::to_string(fitted->attributes()));
  for (const std::string& name : testing::device_names()) {   // the tensors do not know where they were made
    const Context other{.device = testing::device_named(name)};
    const auto there = make<T>(row.estimator);
    load(other, *there, data, file);
    const ModelPath again("kedge_again_" + row.estimator + row.device + name + (row.is_double ? "d" : "f"));
    save(other, *there, data, again);
    EXPECT_EQ(again.bytes(), file.bytes()) << "loaded on " << name;
  }
}

TEST_P(EveryEstimator, IsStoredAndLoadedOnEveryDevice) {
  if (GetParam().is_double) expect_stored<double>(GetParam());
  else expect_stored<float>(GetParam());
}

// Some of what a parameter may be.
std::vector<schema::Value> values_of(const schema::ParamInfo& param) {
  using Type = schema::ParamForm::Type;
  std::vector<schema::Value> values;
  for (const schema::ParamForm& form : param.forms) {
    const double least = form.minimum.value_or(0) + (form.exclusiveMinimum ? 1 : 0);
    if (form.type == Type::kNull) values.emplace_back();
    if (form.type == Type::kBoolean) values.emplace_back(false), values.emplace_back(true);
    if (form.type == Type::kString) values.insert(values.end(), form.choices.begin(), form.choices.end());
    if (form.type == Type::kInteger)
      for (const int more : {0, 2}) values.emplace_back(static_cast<std::int64_t>(least) + more);
    if (form.type == Type::kNumber) values.emplace_back(form.minimum.value_or(0) + 0.25);
  }
  return values;
}

// False where the estimator refuses these parameters, or these data with them.
template <class T>
bool is_stored_with(const Context& ctx, const std::string& estimator, const schema::ValueMap& params, const Data& data) {
  const testing::Loaded<T> loaded(ctx.device, data);
  std::unique_ptr<Estimator<T>> fitted;
  std::string said;
  try {
    fitted = make<T>(estimator, params);
    fitted->fit(ctx, loaded.all(), loaded.target());
    said = said_of<T>(ctx, *fitted, loaded.all());
  } catch (const schema::Error& error) {
    EXPECT_NE(error.code, ErrorCode::kInternal) << error.message;
    return false;
  }
  const ModelPath file("kedge_" + estimator + "_params");
  save(ctx, *fitted, data, file);
  const auto same = make<T>(estimator, params);
  load(ctx, *same, data, file);
  EXPECT_EQ(said_of<T>(ctx, *same, loaded.all()), said);
  return true;
}

TEST(Catalogue, StoresEveryValueOfAParameter) {
  const Context ctx{.device = testing::device_named("cpu")};
  const Data data = testing::make_data(40, 6, 3);
  for (const CatalogueEntry& entry : catalogue()) {
    int stored = 0;
    for (const schema::ParamInfo& param : entry.info.params)
      for (const schema::Value& value : values_of(param)) {
        SCOPED_TRACE(fmt::format("{} {}={}", entry.info.name, param.name, schema::to_string(value)));
        schema::ValueMap params = testing::small_params(entry.info.name);
        std::erase_if(params, [&](const auto& known) { return known.first == param.name; });
        params.emplace_back(param.name, value);
        stored += is_stored_with<double>(ctx, entry.info.name, params, data) + is_stored_with<float>(ctx, entry.info.name, params, data);
      }
    EXPECT_GT(stored, 0) << entry.info.name;
  }
}

TEST(Catalogue, TakesOrRefusesHugeValues) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<schema::Value> values = {kMost, -kMost - 1, kMost / 2, 6.7e18, 1e19, 1e300, -1e300};
  for (std::size_t i = 0; i < 7; ++i) values.emplace_back(schema::ValueList{values[i], values[i]});
  for (const CatalogueEntry& entry : catalogue())
    for (const schema::ParamInfo& param : entry.info.params)
      for (const schema::Value& value : values) try {
          entry.make_f64({{param.name, value}});
        } catch (const schema::Error& error) {
          EXPECT_TRUE(error.code == ErrorCode::kInvalidValue || error.code == ErrorCode::kWrongType) << error.message;
          EXPECT_EQ(error.where, "params." + param.name);
        }
}

// A fold of the data can lack a class; its probability is then 0 and the others' sum is 1.
TEST_P(EveryClassifier, GivesAnAbsentClassNoProbability) {
  Device& device = testing::device_named(GetParam().device);
  const Context ctx{.device = device};
  const Data data = testing::make_data(30, 4, 3);
  const testing::Loaded<double> loaded(device, data);
  const auto estimator = make<double>(GetParam().estimator);
  const auto& classifier = dynamic_cast<const Classifier<double>&>(*estimator);
  if (!classifier.has_proba()) GTEST_SKIP() << "gives no probabilities";
  std::vector<std::int32_t> rows;   // without class 1
  for (std::int32_t i = 0; i < 30; ++i)
    if (i % 3 != 1) rows.push_back(i);
  estimator->fit(ctx, loaded.rows(rows), loaded.target(rows));
  Matrix<double> proba(ctx.memory(), 30, 3);
  classifier.predict_proba(ctx, loaded.all(), proba.view());
  const std::vector<double> shares = proba.to_host();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(shares[i * 3 + 1], 0.0);
    EXPECT_NEAR(shares[i * 3] + shares[i * 3 + 2], 1.0, kRowSumTolerance);
  }
}

TEST_P(EveryEstimator, RefusesAnUnknownParameter) {
  const CatalogueEntry* entry = find_estimator(GetParam().estimator);
  try {
    entry->make_f64({{"no_such_thing", 1}});
    FAIL() << "took it";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kUnknownParameter);
    EXPECT_EQ(error.where, "params.no_such_thing");
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryEstimator, ::testing::ValuesIn(rows_of_kind("")), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, EveryClassifier, ::testing::ValuesIn(rows_of_kind("classifier")), row_name);

TEST(Catalogue, DescribesEveryRow) {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    SCOPED_TRACE(entry.info.name);
    EXPECT_TRUE(names.insert(entry.info.name).second);
    const std::set<std::string> kinds{"transformer", "classifier", "regressor", "clusterer",
                                      "neighbors",   "covariance", "detector",  "density"};
    EXPECT_TRUE(kinds.contains(entry.info.kind)) << entry.info.kind;
    EXPECT_FALSE(entry.info.doc.empty());
    EXPECT_FALSE(entry.info.attributes.empty());
    for (const schema::ParamInfo& param : entry.info.params) {
      EXPECT_FALSE(param.doc.empty()) << param.name;
      EXPECT_FALSE(param.forms.empty()) << param.name;
    }
  }
}

TEST(Catalogue, AcceptsEveryDefaultWhenItIsSet) {
  for (const CatalogueEntry& entry : catalogue())
    for (const schema::ParamInfo& param : entry.info.params)
      EXPECT_NO_THROW(entry.make_f32({{param.name, param.defaultValue}})) << entry.info.name << " " << param.name;
}

TEST(Catalogue, FindsAnEstimatorByName) {
  ASSERT_NE(find_estimator("PCA"), nullptr);
  EXPECT_EQ(find_estimator("PCA")->info.family, "decomposition");
  EXPECT_EQ(find_estimator("pca"), nullptr);
}

}  // namespace
}  // namespace kedge::engine
