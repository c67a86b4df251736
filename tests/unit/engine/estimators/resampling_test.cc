// Resamplers: what they make of the rows of a fit, what they leave alone, and which steps they may be.
#include "engine/estimators/resampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/core/params.h"
#include "engine/estimators/catalogue.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;
using testing::Data;

// 40 rows of class 0, 12 of class 1, 20 of class 2.
Data rare() {
  Data data = testing::make_data(120, 4, 3);
  Data kept{.n_cols = 4, .classes = data.classes};
  std::map<std::int32_t, int> most{{0, 40}, {1, 12}, {2, 20}};
  for (std::int64_t i = 0; i < data.n_rows; ++i) {
    if (most[data.y[static_cast<std::size_t>(i)]]-- <= 0) continue;
    kept.y.push_back(data.y[static_cast<std::size_t>(i)]), ++kept.n_rows;
    kept.X.insert(kept.X.end(), data.X.begin() + i * 4, data.X.begin() + (i + 1) * 4);
  }
  return kept;
}

std::map<std::int32_t, int> counts_of(const Target& y) {
  std::map<std::int32_t, int> counts;
  for (const std::int32_t code : y.codes) ++counts[code];
  return counts;
}

using Counts = std::map<std::int32_t, int>;

class ResamplingOn : public ::testing::TestWithParam<std::string> {
 protected:
  Resampled<double> resampled(const std::string& name, ValueMap params, const Samples<double>& X,
                              const Target& y) const {
    params.emplace_back("random_state", 1);
    const auto made = find_estimator(name)->make_f64(params);
    return resampler_of(*made)->fit_resample(ctx_, X, y);
  }
  Resampled<double> resampled(const std::string& name, ValueMap params = {}) const {
    return resampled(name, std::move(params), loaded_.all(), loaded_.target());
  }

  Context ctx_{.device = testing::device_named(GetParam())};
  Data data_ = rare();
  testing::Loaded<double> loaded_{ctx_.device, data_};
};

// The squared distance of a point from the nearest segment between two rows of its class.
double from_nearest_segment(const double* point, const Data& data, std::int32_t code) {
  double nearest = 1e300;
  for (std::int64_t a = 0; a < data.n_rows; ++a)
    for (std::int64_t b = 0; b < data.n_rows; ++b) {
      if (data.y[static_cast<std::size_t>(a)] != code || data.y[static_cast<std::size_t>(b)] != code) continue;
      const double *from = data.X.data() + a * 4, *to = data.X.data() + b * 4;
      double along = 0, length = 0, apart = 0;
      for (int j = 0; j < 4; ++j)
        along += (point[j] - from[j]) * (to[j] - from[j]), length += (to[j] - from[j]) * (to[j] - from[j]);
      const double place = length > 0 ? std::clamp(along / length, 0.0, 1.0) : 0;
      for (int j = 0; j < 4; ++j) {
        const double gap = point[j] - from[j] - place * (to[j] - from[j]);
        apart += gap * gap;
      }
      nearest = std::min(nearest, apart);
    }
  return nearest;
}

TEST_P(ResamplingOn, SmoteKeepsTheRowsAndPutsNewOnesOnSegmentsWithinTheirClass) {
  const Resampled<double> made = resampled("SMOTE");
  EXPECT_EQ(counts_of(made.y), (Counts{{0, 40}, {1, 40}, {2, 40}}));
  const std::vector<double> rows = host_values(ctx_, made.X);
  EXPECT_TRUE(std::equal(data_.X.begin(), data_.X.end(), rows.begin()));
  for (std::int64_t i = data_.n_rows; i < made.X.n_rows(); ++i)
    EXPECT_LT(from_nearest_segment(rows.data() + i * 4, data_, made.y.codes[static_cast<std::size_t>(i)]), 1e-24) << i;
}

TEST_P(ResamplingOn, SmoteReadsTheChosenRowsThroughTheirMap) {
  std::vector<std::int32_t> some;
  for (std::int32_t i = 0; i < data_.n_rows; ++i)
    if (i % 4 != 1) some.push_back(i);
  const Samples<double> chosen = loaded_.rows(some).then({1, 2, 3, 4}, {0.5, 2, 1, -1});
  const Target y = loaded_.target(some);
  const ValueMap params{{"k_neighbors", 1}};
  Data plain{
      .n_rows = chosen.n_rows(), .n_cols = 4, .X = host_values(ctx_, chosen), .y = y.codes, .classes = y.classes};
  const testing::Loaded<double> copied(ctx_.device, plain);
  EXPECT_EQ(host_values(ctx_, resampled("SMOTE", params, chosen, y).X),
            host_values(ctx_, resampled("SMOTE", params, copied.all(), y).X));
}

// Fewer new rows than the class has: only the neighbours of the rows that were drawn are searched.
TEST_P(ResamplingOn, SmoteMakesAFewRowsAsItMakesMany) {
  const Resampled<double> made = resampled("SMOTE", {{"sampling_strategy", ValueMap{{"1", 17}}}});
  EXPECT_EQ(counts_of(made.y), (Counts{{0, 40}, {1, 17}, {2, 20}}));
  const std::vector<double> rows = host_values(ctx_, made.X);
  for (std::int64_t i = data_.n_rows; i < made.X.n_rows(); ++i)
    EXPECT_LT(from_nearest_segment(rows.data() + i * 4, data_, 1), 1e-24) << i;
}

TEST_P(ResamplingOn, RandomSamplersChooseRowsWithTheirWeights) {
  Target y = loaded_.target();
  for (std::size_t i = 0; i < y.codes.size(); ++i) y.weights.push_back(static_cast<double>(i));
  for (const char* name : {"RandomOverSampler", "RandomUnderSampler"}) {
    const bool is_over = std::string(name) == "RandomOverSampler";
    const Resampled<double> made = resampled(name, {}, loaded_.all(), y);
    const int each = is_over ? 40 : 12;
    EXPECT_EQ(counts_of(made.y), (Counts{{0, each}, {1, each}, {2, each}}));
    EXPECT_EQ(made.X.table, loaded_.all().table);   // nothing is copied
    const std::vector<std::int32_t> rows = made.X.rows->to_host();
    ASSERT_EQ(rows.size(), made.y.codes.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(made.y.codes[i], y.codes[static_cast<std::size_t>(rows[i])]);
      EXPECT_EQ(made.y.weights[i], static_cast<double>(rows[i]));
    }
  }
}

TEST_P(ResamplingOn, RandomSamplersNumberTheRowsOfTheTable) {
  std::vector<std::int32_t> some;
  for (std::int32_t i = 20; i < 70; ++i) some.push_back(i);
  const Resampled<double> made = resampled("RandomUnderSampler", {}, loaded_.rows(some), loaded_.target(some));
  for (const std::int32_t row : made.X.rows->to_host()) EXPECT_TRUE(row >= 20 && row < 70) << row;
}

TEST_P(ResamplingOn, LaterRowsPassUnchanged) {
  for (const char* name : {"SMOTE", "RandomOverSampler", "RandomUnderSampler"}) {
    const auto made = find_estimator(name)->make_f64({});
    made->fit(ctx_, loaded_.all(), loaded_.target());
    const Samples<double> rows = loaded_.rows({5, 3, 3});
    EXPECT_EQ(host_values(ctx_, dynamic_cast<const Transformer<double>&>(*made).transform(ctx_, rows)),
              host_values(ctx_, rows))
        << name;
  }
}

// Scales, resamples, and classifies by an estimator that keeps how many rows of each class it saw.
Value resampling_pipeline(const char* resampler) {
  return ValueList{ValueMap{{"estimator", "StandardScaler"}},
                   ValueMap{{"estimator", resampler}, {"params", ValueMap{{"random_state", 1}}}},
                   ValueMap{{"estimator", "GaussianNB"}}};
}

TEST_P(ResamplingOn, ResamplesTheRowsOfAFitInAPipelineInsideAnotherEstimator) {
  const std::map<std::string, std::vector<double>> counts{
      {"SMOTE", {40, 40, 40}}, {"RandomOverSampler", {40, 40, 40}}, {"RandomUnderSampler", {12, 12, 12}}};
  for (const auto& [name, count] : counts) {
    const auto vote =
        find_estimator("VotingClassifier")
            ->make_f64({{"estimators", ValueList{Value(ValueList{"one", resampling_pipeline(name.c_str())})}},
                        {"voting", "soft"}});
    vote->fit(ctx_, loaded_.all(), loaded_.target());
    EXPECT_FALSE(vote->takes_weights()) << name;
    const auto& classifier = dynamic_cast<const Classifier<double>&>(*vote);
    Matrix<double> said(ctx_.memory(), data_.n_rows, 3), expected(ctx_.memory(), data_.n_rows, 3);
    classifier.predict_proba(ctx_, loaded_.all(), said.view());   // of all rows, as none of them is resampled

    const auto scaler = find_estimator("StandardScaler")->make_f64({}),
               bayes = find_estimator("GaussianNB")->make_f64({});
    scaler->fit(ctx_, loaded_.all(), {});
    const Samples<double> scaled = dynamic_cast<const Transformer<double>&>(*scaler).transform(ctx_, loaded_.all());
    const Resampled<double> made = resampled(name, {}, scaled, loaded_.target());
    bayes->fit(ctx_, made.X, made.y);
    const ValueMap attributes = bayes->attributes();
    EXPECT_EQ(*find_value(attributes, "class_count_"), Value(count));
    dynamic_cast<const Classifier<double>&>(*bayes).predict_proba(ctx_, scaled, expected.view());
    EXPECT_EQ(said.to_host(), expected.to_host()) << name;
  }
}

TEST_P(ResamplingOn, IsAskedForEachFitOfAnEstimatorInside) {
  for (const char* name :
       {"BaggingClassifier", "CalibratedClassifierCV", "StackingClassifier", "OneVsRestClassifier"}) {
    const bool is_stack = std::string_view(name) == "StackingClassifier";
    const ValueMap params =
        is_stack
            ? ValueMap{{"estimators", ValueList{Value(ValueList{"one", resampling_pipeline("RandomUnderSampler")})}},
                       {"final_estimator", resampling_pipeline("SMOTE")}}
            : ValueMap{{"estimator", resampling_pipeline("RandomOverSampler")}};
    const auto made = find_estimator(name)->make_f64(params);
    made->fit(ctx_, loaded_.all(), loaded_.target());
    EXPECT_FALSE(is_stack && made->takes_weights());
    const std::vector<std::int32_t> codes = dynamic_cast<const Classifier<double>&>(*made).predict(ctx_, loaded_.all());
    std::int64_t right = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) right += codes[i] == data_.y[i];
    EXPECT_GT(right, data_.n_rows * 3 / 4) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ResamplingOn, ::testing::ValuesIn(testing::device_names()),
                         [](const auto& info) { return info.param; });

void expect_refused(const std::string& name, const ValueMap& params, const std::string& where,
                    const std::string& words) {
  try {
    find_estimator(name)->make_f64(params);
    ADD_FAILURE() << "it was taken";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
    EXPECT_EQ(error.where, where);
    EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
  }
}

TEST(Resampling, IsNoPartOfAStepThatKeepsTheRows) {
  const ValueMap smote{{"estimator", "SMOTE"}};
  expect_refused("ColumnTransformer", {{"transformers", ValueList{Value(ValueList{"all", smote, ValueList{0}})}}},
                 "params.transformers[0][1]",
                 "SMOTE changes the rows of a fit, so it must be a step of a pipeline that ends in a classifier");
  expect_refused("FeatureUnion", {{"transformer_list", ValueList{Value(ValueList{"all", ValueList{smote}})}}},
                 "params.transformer_list[0][1][0]", "SMOTE changes the rows");
  expect_refused("BaggingRegressor", {{"estimator", ValueList{smote, ValueMap{{"estimator", "Ridge"}}}}},
                 "params.estimator",
                 "SMOTE changes the rows of a fit, so the last step must be a classifier; Ridge is a regressor");
}

TEST(Resampling, RefusesCountsThatAreNone) {
  for (const Value& count : {Value(-1), Value(2.5), Value("many")})
    expect_refused("RandomOverSampler", {{"sampling_strategy", ValueMap{{"1", count}}}}, "params.sampling_strategy",
                   "must have a whole number of rows, at least 0, for class \"1\"");
}

TEST(Resampling, SmoteRefusesWeights) {
  const Context ctx{.device = testing::device_named("cpu")};
  const Data data = rare();
  const testing::Loaded<double> loaded(ctx.device, data);
  Target y = loaded.target();
  y.weights.assign(y.codes.size(), 1.0);
  const auto made = find_estimator("SMOTE")->make_f64({});
  EXPECT_THROW(made->fit(ctx, loaded.all(), y), schema::Error);
}

}   // namespace
}   // namespace kedge::engine
