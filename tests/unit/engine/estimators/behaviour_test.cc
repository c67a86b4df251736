// What single estimators refuse, warn of and promise beyond the golden values.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/estimators/catalogue.h"
#include "engine/estimators/decomposition/pca_solvers.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;
using schema::ValueMap;
using testing::Data;

std::unique_ptr<Estimator<double>> make(const char* name, const ValueMap& params) {
  return find_estimator(name)->make_f64(params);
}

template <class F>
schema::Error error_of(F&& f) {
  try {
    f();
  } catch (const schema::Error& error) {
    return error;
  }
  return {ErrorCode::kInternal, "no error"};
}

schema::Error param_error(const char* name, const ValueMap& params) {
  return error_of([&] { make(name, params); });
}

struct Fitted {
  explicit Fitted(Data d) : data(std::move(d)), loaded(testing::device_named("cpu"), data) {
    ctx.emit = [this](schema::EventBody event) { events.push_back(std::move(event)); };
  }
  Estimator<double>& fit(const char* name, const ValueMap& params) {
    estimator = make(name, params);
    estimator->fit(ctx, loaded.all(), loaded.target());
    return *estimator;
  }
  Value attribute(std::string_view name) const {
    for (const auto& [key, value] : estimator->attributes())
      if (key == name) return value;
    return {};
  }

  Data data;
  testing::Loaded<double> loaded;
  std::vector<schema::EventBody> events;
  Context ctx{.device = testing::device_named("cpu")};
  std::unique_ptr<Estimator<double>> estimator;
};

TEST(MinMaxScaler, RefusesARangeThatIsNoRange) {
  EXPECT_EQ(param_error("MinMaxScaler", {{"feature_range", schema::ValueList{0, 1, 2}}}).message,
            "MinMaxScaler: feature_range is [0,1,2], must have two numbers");
  EXPECT_EQ(param_error("MinMaxScaler", {{"feature_range", schema::ValueList{1, 1}}}).where, "params.feature_range");
}

TEST(StandardScaler, MovesNoData) {
  Fitted f(testing::make_data(10, 3, 2));
  const auto& scaler = dynamic_cast<Transformer<double>&>(f.fit("StandardScaler", {}));
  EXPECT_EQ(scaler.transform(f.ctx, f.loaded.all()).table, f.loaded.all().table);
}

TEST(StandardScaler, RefusesOtherColumnsThanItWasFittedWith) {
  Fitted f(testing::make_data(10, 3, 2)), other(testing::make_data(10, 4, 2));
  const auto& scaler = dynamic_cast<Transformer<double>&>(f.fit("StandardScaler", {}));
  EXPECT_EQ(error_of([&] { scaler.transform(f.ctx, other.loaded.all()); }).message,
            "StandardScaler: got 4 columns, was fitted with 3");
}

TEST(PCA, RefusesMoreComponentsThanTheDataHas) {
  Fitted f(testing::make_data(20, 4, 2));
  const schema::Error error = error_of([&] { f.fit("PCA", {{"n_components", 5}}); });
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_EQ(error.message, "PCA: n_components is 5, must be between 0 and 4, for 20 rows and 4 columns and svd_solver \"full\"");
}

TEST(PCA, RefusesASolverThatItDoesNotHave) {
  EXPECT_EQ(param_error("PCA", {{"svd_solver", "lobpcg"}}).code, ErrorCode::kInvalidValue);
  EXPECT_EQ(param_error("PCA", {{"svd_solver", "randomized"}, {"n_components", 0.5}}).where, "params.n_components");
}

// Both solvers find the same leading components, with any method that the estimator chooses for this shape.
TEST(PCA, FindsTheSameComponentsAtRandomAsByCovariance) {
  Fitted f(testing::load_data("digits"));
  const Samples<double> X = f.loaded.all();
  const std::vector<double> mean = column_moments(f.ctx, X).mean;
  const Spectrum exact = covariance_spectrum(f.ctx, X, mean, X.n_cols());
  const Spectrum random = randomized_spectrum(f.ctx, X, mean, {.n_components = 4, .n_iter = 30, .seed = 3});
  constexpr double kTolerance = 1e-8;   // (15th over 4th variance) to the power of 60, far below rounding
  ASSERT_EQ(random.variance.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(random.variance[i], exact.variance[i], kTolerance * exact.variance[0]);
    double product = 0;
    for (std::size_t j = 0; j < 64; ++j) product += random.components[i * 64 + j] * exact.components[i * 64 + j];
    EXPECT_NEAR(std::abs(product), 1.0, kTolerance);
  }
}

TEST(PCA, GivesTheSameBitsForTheSameSeed) {
  const ValueMap params{{"n_components", 3}, {"svd_solver", "randomized"}, {"random_state", 5}};
  Fitted a(testing::load_data("digits")), b(testing::load_data("digits"));
  a.fit("PCA", params), b.fit("PCA", params);
  EXPECT_EQ(a.attribute("components_"), b.attribute("components_"));
}

TEST(LogisticRegression, RefusesASingleClass) {
  Fitted f(testing::make_data(10, 3, 1));
  EXPECT_EQ(error_of([&] { f.fit("LogisticRegression", {}); }).message,
            "LogisticRegression: the target has only the class \"0\", needs at least 2");
}

TEST(LogisticRegression, RefusesPairsOfSolverAndPenalty) {
  EXPECT_EQ(param_error("LogisticRegression", {{"penalty", "l1"}}).message,
            "LogisticRegression: solver is \"lbfgs\", must be saga or liblinear for the penalty l1");
  EXPECT_EQ(param_error("LogisticRegression", {{"l1_ratio", 0.5}}).where, "params.solver");
  EXPECT_EQ(param_error("LogisticRegression", {{"penalty", "elasticnet"}, {"l1_ratio", nullptr}, {"solver", "saga"}}).where, "params.l1_ratio");
  EXPECT_EQ(param_error("LogisticRegression", {{"dual", true}}).where, "params.dual");
  EXPECT_EQ(param_error("LogisticRegression", {{"C", 0}}).where, "params.C");
}

TEST(LogisticRegression, MakesCoefficientsExactlyZero) {
  Fitted f(testing::load_data("wine"));
  f.fit("LogisticRegression", {{"l1_ratio", 1.0}, {"C", 0.02}, {"solver", "saga"}});
  int zeros = 0;
  const Value coef = f.attribute("coef_");
  for (const Value& row : std::get<schema::ValueList>(coef.data))
    for (const double v : std::get<std::vector<double>>(row.data)) zeros += v == 0;
  EXPECT_GT(zeros, 13);
  EXPECT_LT(zeros, 3 * 13);
}

TEST(LogisticRegression, TakesWeightsAsRepeatedRows) {
  const Data data = testing::load_data("iris");
  Data repeated{.n_cols = data.n_cols, .classes = data.classes};
  Fitted weighted(data);
  Target target = weighted.loaded.target();
  for (std::int64_t i = 0; i < data.n_rows; ++i) {
    target.weights.push_back(static_cast<double>(i % 3));
    for (std::int64_t copy = 0; copy < i % 3; ++copy) {
      repeated.X.insert(repeated.X.end(), data.X.begin() + i * data.n_cols, data.X.begin() + (i + 1) * data.n_cols);
      repeated.y.push_back(data.y[static_cast<std::size_t>(i)]), ++repeated.n_rows;
    }
  }
  const ValueMap params{{"solver", "newton-cholesky"}, {"tol", 1e-10}, {"class_weight", "balanced"}};
  weighted.estimator = make("LogisticRegression", params);
  weighted.estimator->fit(weighted.ctx, weighted.loaded.all(), target);
  Fitted plain(repeated);
  plain.fit("LogisticRegression", params);
  const Value a = weighted.attribute("intercept_"), b = plain.attribute("intercept_");
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(std::get<std::vector<double>>(a.data)[c], std::get<std::vector<double>>(b.data)[c], 1e-8);
}

TEST(LogisticRegression, RefusesClassWeightsOfNoClass) {
  Fitted f(testing::make_data(12, 3, 2));
  EXPECT_EQ(error_of([&] { f.fit("LogisticRegression", {{"class_weight", ValueMap{{"7", 2}}}}); }).message,
            "LogisticRegression: class_weight is {\"7\":2}, but the data has no class \"7\"");
  EXPECT_EQ(param_error("LogisticRegression", {{"class_weight", ValueMap{{"0", "heavy"}}}}).code, ErrorCode::kInvalidValue);
}

TEST(LogisticRegression, WarnsWhenItStopsAtTheLimit) {
  Fitted f(testing::load_data("wine"));
  f.fit("LogisticRegression", {{"max_iter", 3}});
  EXPECT_EQ(f.attribute("n_iter_"), Value(schema::ValueList{3}));
  const auto* log = std::get_if<schema::LogEvent>(&f.events.back());
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->level, "warning");
  EXPECT_NE(log->message.find("max_iter = 3"), std::string::npos);
}

TEST(LogisticRegression, ReportsEachIteration) {
  Fitted f(testing::load_data("iris"));
  f.fit("LogisticRegression", {{"max_iter", 5}});
  const auto& progress = std::get<schema::ProgressEvent>(f.events.front());
  EXPECT_EQ(progress.phase, "iterations");
  EXPECT_EQ(progress.done, 1);
  EXPECT_EQ(progress.total, 5);
}

TEST(LogisticRegression, WithoutPenaltySeparatesFurther) {
  Fitted f(testing::load_data("iris")), g(testing::load_data("iris"));
  f.fit("LogisticRegression", {{"penalty", nullptr}});
  g.fit("LogisticRegression", {{"C", 1e-3}});
  const auto largest = [](const Value& coef) {
    double m = 0;
    for (const Value& row : std::get<schema::ValueList>(coef.data))
      for (const double v : std::get<std::vector<double>>(row.data)) m = std::max(m, std::abs(v));
    return m;
  };
  EXPECT_GT(largest(f.attribute("coef_")), 5 * largest(g.attribute("coef_")));
}

TEST(LinearDiscriminantAnalysis, TransformsAndDecides) {
  Fitted f(testing::load_data("wine"));
  const Estimator<double>& lda = f.fit("LinearDiscriminantAnalysis", {});
  EXPECT_EQ(dynamic_cast<const Transformer<double>&>(lda).transform(f.ctx, f.loaded.all()).n_cols(), 2);
  Matrix<double> decision(f.ctx.memory(), f.data.n_rows, 3);
  dynamic_cast<const Classifier<double>&>(lda).decision_function(f.ctx, f.loaded.all(), decision.view());
  for (const double v : decision.to_host()) ASSERT_TRUE(std::isfinite(v));
}

TEST(LinearDiscriminantAnalysis, DecidesByEigenvectorsInAnyUnitsOfItsColumns) {
  const Data data = testing::load_data("wine");
  Data other = data;
  for (std::size_t e = 0; e < other.X.size(); ++e)
    other.X[e] = data.X[e] * (e % static_cast<std::size_t>(data.n_cols) % 2 == 0 ? 0x1p-25 : 0x1p+25);
  const auto decisions = [](const Data& rows) {
    Fitted f(rows);
    const Estimator<double>& lda = f.fit("LinearDiscriminantAnalysis", {{"solver", "eigen"}});
    Matrix<double> decision(f.ctx.memory(), rows.n_rows, 3);
    dynamic_cast<const Classifier<double>&>(lda).decision_function(f.ctx, f.loaded.all(), decision.view());
    return decision.to_host();
  };
  const std::vector<double> found = decisions(other), expected = decisions(data);
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-9 * std::max(1.0, std::abs(expected[i]))) << i;
}

TEST(LinearDiscriminantAnalysis, CannotTransformByLeastSquares) {
  Fitted f(testing::load_data("iris"));
  const auto& lda = dynamic_cast<Transformer<double>&>(f.fit("LinearDiscriminantAnalysis", {{"solver", "lsqr"}}));
  EXPECT_EQ(error_of([&] { lda.transform(f.ctx, f.loaded.all()); }).message,
            "LinearDiscriminantAnalysis: solver lsqr cannot transform; take svd or eigen");
}

TEST(CategoricalNB, RefusesACategoryThatItHasNotSeen) {
  Data data = testing::make_data(12, 2, 2);
  for (double& v : data.X) v = std::floor(v);
  Fitted f(data);
  const auto& bayes = dynamic_cast<Classifier<double>&>(f.fit("CategoricalNB", {}));
  Data more = data;
  more.X[3] = 9;
  const testing::Loaded<double> other(testing::device_named("cpu"), more);
  EXPECT_EQ(error_of([&] { bayes.predict(f.ctx, other.all()); }).message, "CategoricalNB: column 1 has the category 9, was fitted with 0 to 2");
}

TEST(BernoulliNB, TakesAColumnThatAClassAlwaysHadWithoutSmoothing) {
  Data data{.n_rows = 4, .n_cols = 2, .X = {1, 1, 1, 0, 1, 1, 1, 0}, .y = {0, 1, 0, 1}, .classes = {"0", "1"}};
  Fitted f(data);
  const auto& bayes = dynamic_cast<Classifier<double>&>(f.fit("BernoulliNB", {{"alpha", 0.0}}));
  EXPECT_EQ(bayes.predict(f.ctx, f.loaded.all()), data.y);
}

TEST(KNeighborsClassifier, RefusesMoreNeighboursThanRows) {
  Fitted f(testing::make_data(4, 3, 2));
  const auto& knn = dynamic_cast<Classifier<double>&>(f.fit("KNeighborsClassifier", {{"n_neighbors", 5}}));
  const schema::Error error = error_of([&] { knn.predict(f.ctx, f.loaded.all()); });
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_EQ(error.message, "KNeighborsClassifier: n_neighbors is 5, but there are only 4 training rows");
}

TEST(KNeighborsClassifier, GivesTheVoteToANeighbourAtNoDistance) {
  Fitted f(testing::load_data("iris"));
  const auto& knn = dynamic_cast<Classifier<double>&>(f.fit("KNeighborsClassifier", {{"weights", "distance"}}));
  Matrix<double> proba(f.ctx.memory(), 1, 3);
  knn.predict_proba(f.ctx, f.loaded.rows({0}), proba.view());
  EXPECT_EQ(proba.to_host(), (std::vector<double>{1, 0, 0}));
}

TEST(GaussianNB, RefusesPriorsThatAreNone) {
  EXPECT_EQ(param_error("GaussianNB", {{"priors", schema::ValueList{0.5, 0.6}}}).message,
            "GaussianNB: priors is [0.5,0.6], must sum to 1");
  EXPECT_EQ(param_error("GaussianNB", {{"priors", schema::ValueList{1.5, -0.5}}}).where, "params.priors");
  Fitted f(testing::load_data("iris"));
  EXPECT_EQ(error_of([&] { f.fit("GaussianNB", {{"priors", schema::ValueList{0.5, 0.5}}}); }).message,
            "GaussianNB: priors is [0.5,0.5], must have one number for each of the 3 classes of the data");
}

}  // namespace
}  // namespace kedge::engine
