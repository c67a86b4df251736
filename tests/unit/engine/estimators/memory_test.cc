// The memory that every row of the catalogue predicts, compared with what it then takes.
#include <gtest/gtest.h>

#include <malloc.h>

#include <cmath>
#include <limits>

#include "engine/core/process_memory.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/row_scores.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using testing::Data;

constexpr std::int64_t kOfProcess = std::int64_t{24} << 20;   // stacks, buffers of BLAS, what malloc does not give back
constexpr std::int64_t kUnseen = std::int64_t{2} << 20;       // of the freed memory that malloc keeps
constexpr std::int64_t kMostAbove = 6;                        // a prediction so many times too large would refuse what fits

struct Row {
  std::string estimator;
  bool is_double, is_wide;
  bool has_layers = false;   // a network of layers with an embedding
  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.estimator << (row.is_wide ? ", wide" : ", tall"); }
};

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const CatalogueEntry& entry : catalogue()) {
    all.push_back({entry.info.name, false, false});
    for (const bool is_wide : {false, true}) all.push_back({entry.info.name, true, is_wide});
  }
  for (const bool is_double : {false, true}) all.push_back({"MLPClassifier", is_double, false, true});
  return all;
}

std::string row_name(const ::testing::TestParamInfo<Row>& info) {
  return info.param.estimator + (info.param.has_layers ? "_of_layers" : "") +
         (info.param.is_double ? "_double" : "_float") + (info.param.is_wide ? "_wide" : "_tall");
}

template <class T>
void use(const Context& ctx, const Estimator<T>& estimator, const Samples<T>& X) {
  if (const auto* transformer = dynamic_cast<const Transformer<T>*>(&estimator)) transformer->transform(ctx, X);
  if (const auto* regressor = dynamic_cast<const Regressor<T>*>(&estimator)) regressor->predict(ctx, X);
  if (const auto* clusterer = dynamic_cast<const Clusterer<T>*>(&estimator); clusterer && clusterer->can_predict())
    clusterer->predict(ctx, X);
  if (const auto* scorer = dynamic_cast<const RowScorer<T>*>(&estimator))
    for (const std::string& output : scorer->row_outputs()) scorer->row_scores(ctx, X, output).to_host();
  if (const auto* classifier = dynamic_cast<const Classifier<T>*>(&estimator)) classifier->predict(ctx, X);
  if (const auto* several = dynamic_cast<const MultiOutput<T>*>(&estimator)) several->predict(ctx, X);
}

// Few categories for the estimators that count them: the number of categories of a numeric column is not known
// beforehand.
Data data_for(const Row& row) {
  const auto is = [&](const char* name) { return row.estimator == name; };
  if (is("MinCovDet") || is("EllipticEnvelope") || is("KernelDensity"))   // all rows with all, or many trials
    return row.is_wide ? testing::make_data(200, 80, 3) : testing::make_data(4000, 8, 3);
  if (is("RFECV") || is("SequentialFeatureSelector") || is("IterativeImputer")) {   // some fits for each column
    Data data = row.is_wide ? testing::make_data(200, 20, 3) : testing::make_data(4000, 8, 3);
    if (is("IterativeImputer"))
      for (std::size_t e = 0; e < data.X.size(); e += 7) data.X[e] = std::numeric_limits<double>::quiet_NaN();
    return data;
  }
  const std::int64_t n_tall = testing::compares_all_rows(row.estimator) ? 1500 : 20000;
  Data data = row.is_wide ? testing::make_data(400, 900, 3) : testing::make_data(n_tall, 50, 3);
  if (row.estimator == "OneHotEncoder" || row.estimator == "OrdinalEncoder" || row.estimator == "TargetEncoder")
    for (double& value : data.X) value = value > 1;
  for (std::size_t e = 0; row.has_layers && e < data.X.size(); e += 50) data.X[e] = std::floor(data.X[e]);
  if (row.estimator == "KNNImputer")
    for (std::size_t e = 0; e < data.X.size(); e += 7) data.X[e] = std::numeric_limits<double>::quiet_NaN();
  return data;
}

schema::ValueMap layers_of_a_network() {
  const schema::ValueMap table{{"columns", schema::ValueList{0}}, {"input_dim", 30000}, {"output_dim", 32}};
  return {{"layers", schema::ValueList{schema::ValueMap{{"embedding", table}}, "dense(128)", "batch_norm", "gelu"}},
          {"early_stopping", true},
          {"scoring", "neg_log_loss"},
          {"batch_size", 2000},
          {"max_iter", 2}};
}

schema::ValueMap params_for(const std::string& estimator) {
  if (estimator == "RadiusNeighborsRegressor") return {{"radius", 1.0}};   // not all rows of all
  if (estimator == "LassoLarsIC") return {{"noise_variance", 1.0}};              // of more columns than rows
  if (estimator == "RANSACRegressor") return {{"min_samples", 20}};
  return testing::small_params(estimator);
}

template <class T>
void expect_predicted(const Row& row) {
  Device& device = testing::device_named("cpu");
  const Context ctx{.device = device};
  const Data data = data_for(row);
  const testing::Loaded<T> loaded(device, data, row.estimator);
  std::vector<std::int32_t> most;
  for (std::int32_t i = 0; i < data.n_rows - 10; ++i) most.push_back(i);
  const Samples<T> X = loaded.rows(most);
  const Target y = loaded.target(most);
  const schema::Step step{.estimator = row.estimator,
                          .params = row.has_layers ? layers_of_a_network() : params_for(row.estimator)};
  const SampleShape shape{.rows = X.n_rows(),
                          .cols = X.n_cols(),
                          .value_bytes = sizeof(T),
                          .n_outputs = 3,
                          .n_targets = std::ssize(y.outputs),
                          .features = X.table->features,
                          .on_host = true};
  const MemoryNeed need = memory_need(shape, step);
  const auto estimator = [&] {
    if constexpr (std::is_same_v<T, float>) return find_estimator(row.estimator)->make_f32(step.params);
    else return find_estimator(row.estimator)->make_f64(step.params);
  }();
  malloc_trim(0);   // what former tests left would hide what this one takes
  reset_peak_memory();
  const std::int64_t before = process_memory().held;
  estimator->fit(ctx, X, y);
  use<T>(ctx, *estimator, X);
  const std::int64_t measured = process_memory().peak - before, predicted = need.work + need.made;
  EXPECT_LE(need.minimum, need.work);
  EXPECT_LE(need.minimum, measured + kUnseen);   // else a job would be refused that fits
  EXPECT_GE(predicted + kOfProcess, measured);
  EXPECT_LE(predicted, kMostAbove * measured + kOfProcess);
}

class MemoryOfEveryEstimator : public ::testing::TestWithParam<Row> {};

TEST_P(MemoryOfEveryEstimator, IsPredicted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is in the way";
#endif
  if (GetParam().is_double) expect_predicted<double>(GetParam());
  else expect_predicted<float>(GetParam());
}

// Tables whose values were counted, and tables whose values were not, need the same of an estimator that does not want
// the counts.
TEST(MemoryOfARow, SaysThatItWantsValueCountsIfItsLeastDependsOnThem) {
  for (const CatalogueEntry& entry : catalogue()) {
    const auto least = [&](bool few) {
      const SampleShape shape{.rows = 20000, .cols = 50, .n_outputs = 3, .has_few_values = few};
      return memory_need(shape, {.estimator = entry.info.name, .params = params_for(entry.info.name)}).minimum;
    };
    EXPECT_EQ(entry.wants_value_counts, least(true) != least(false)) << entry.info.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, MemoryOfEveryEstimator, ::testing::ValuesIn(rows()), row_name);

}   // namespace
}   // namespace kedge::engine
