// What every row of the catalogue must do, on every device and in both precisions. A new row is tested by being there.
#include "engine/estimators/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "catalogue_rows.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using testing::all_rows;
using testing::Data;
using testing::expect_usable_output;
using testing::kRowSumTolerance;
using testing::make;
using testing::Row;
using testing::row_name;
using testing::rows_in;
using testing::said_of;

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
  return attribute == "scores_" || attribute == "pvalues_" || attribute == "bin_edges_" || attribute == "reachability_";
}

// Fits on all rows of `data`. True if it could; otherwise the error was kBadData and named the estimator.
template <class T>
bool fits_or_says_why(const Row& row, const Data& data) {
  Device& device = testing::device_named(row.device);
  const Context ctx{.device = device};
  const testing::Loaded<T> loaded(device, data, row.estimator);
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

class EveryClassifierInDouble : public ::testing::TestWithParam<Row> {};

class EveryEstimatorInDouble : public ::testing::TestWithParam<Row> {};

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

// The emulated device takes long for each iteration, and a sum that has overflowed never converges.
schema::ValueMap params_of_few_iterations(const Row& row) {
  constexpr const char* kIterations = "max_iter";
  schema::ValueMap params = testing::small_params(row.estimator);
  const auto is_max_iter = [&](const auto& param) {
    return param.name == kIterations && row.estimator != "TSNE";   // which takes no fewer than 250
  };
  if (row.device == "emulated" && std::ranges::any_of(find_estimator(row.estimator)->info.params, is_max_iter)) {
    std::erase_if(params, [&](const auto& param) { return param.first == kIterations; });
    params.emplace_back(kIterations, 20);
  }
  return params;
}

template <class T>
void expect_no_other_error_than_bad_data(const Row& row, Data data) {
  for (std::int64_t i = 0; i < data.n_rows; ++i)   // their squares overflow, and so does their sum
    data.X[static_cast<std::size_t>(i * data.n_cols)] = (i % 3 ? 0.5 : -0.9) * static_cast<double>(std::numeric_limits<T>::max());
  Device& device = testing::device_named(row.device);
  const Context ctx{.device = device};
  const testing::Loaded<T> loaded(device, data, row.estimator);
  const auto estimator = make<T>(row.estimator, params_of_few_iterations(row));
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

TEST_P(EveryEstimatorInDouble, StopsWhenAskedTo) {
  Device& device = testing::device_named(GetParam().device);
  std::stop_source stop;
  stop.request_stop();
  const Context ctx{.device = device, .stop = stop.get_token()};
  const Data data = testing::make_data(30, 4, 3);
  const testing::Loaded<double> loaded(device, data, GetParam().estimator);
  const auto estimator = make<double>(GetParam().estimator);
  try {
    estimator->fit(ctx, loaded.all(), loaded.target());
    expect_usable_output<double>(ctx, *estimator, loaded.all());
    ADD_FAILURE() << "neither fit nor predict stopped";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kCancelled);
  }
}

TEST_P(EveryEstimatorInDouble, ForgetsTheFormerFit) {
  Device& device = testing::device_named(GetParam().device);
  const Context ctx{.device = device};
  const Data first = testing::make_data(30, 5, 3), second = testing::make_data(24, 4, 2);
  const testing::Loaded<double> a(device, first, GetParam().estimator), b(device, second, GetParam().estimator);
  const auto again = make<double>(GetParam().estimator), fresh = make<double>(GetParam().estimator);
  again->fit(ctx, a.all(), a.target());
  again->fit(ctx, b.all(), b.target());
  fresh->fit(ctx, b.all(), b.target());
  EXPECT_EQ(again->attributes(), fresh->attributes());
}

// A fold of the data can lack a class; its probability is then 0 and the others' sum is 1.
TEST_P(EveryClassifierInDouble, GivesAnAbsentClassNoProbability) {
  Device& device = testing::device_named(GetParam().device);
  const Context ctx{.device = device};
  const Data data = testing::make_data(30, 4, 3);
  const testing::Loaded<double> loaded(device, data, GetParam().estimator);
  const auto estimator = make<double>(GetParam().estimator);
  const auto* found = dynamic_cast<const Classifier<double>*>(estimator.get());
  if (!found) GTEST_SKIP() << "has several targets";
  const Classifier<double>& classifier = *found;
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

TEST(Catalogue, RefusesAnUnknownParameter) {
  for (const CatalogueEntry& entry : catalogue()) try {
      entry.make_f64({{"no_such_thing", 1}});
      ADD_FAILURE() << entry.info.name << " took it";
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, ErrorCode::kUnknownParameter);
      EXPECT_EQ(error.where, "params.no_such_thing");
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryEstimator, ::testing::ValuesIn(all_rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, EveryEstimatorInDouble, ::testing::ValuesIn(rows_in({true})), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, EveryClassifierInDouble, ::testing::ValuesIn(rows_in({true}, "classifier")), row_name);

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

TEST(Catalogue, DescribesEveryRow) {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    SCOPED_TRACE(entry.info.name);
    EXPECT_TRUE(names.insert(entry.info.name).second);
    const std::set<std::string> kinds{"transformer", "classifier", "regressor", "clusterer",
                                      "neighbors",   "covariance", "detector",  "density",
                                      "embedding"};
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

}   // namespace
}   // namespace kedge::engine
