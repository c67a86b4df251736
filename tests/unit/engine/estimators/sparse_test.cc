// Sparse tables: what takes them finds what it finds in a dense one, and what does not take them gets a dense
// copy, or is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/decomposition/pca_solvers.h"
#include "engine/estimators/linear/elastic_net_solver.h"
#include "engine/estimators/linear/ridge_solver.h"
#include "engine/estimators/linear/sparse_problem.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

constexpr double kSame = 1e-11;   // sums in another order
constexpr double kSolved = 1e-8;  // iterative solutions

// Counts, most of them 0; rows i % 3 of a class; one column without any value.
testing::Data counted(std::int64_t n_rows, std::int64_t n_cols) {
  testing::Data data{.n_rows = n_rows, .n_cols = n_cols, .X = {}, .y = {}, .classes = {"0", "1", "2"}};
  PhiloxStream random(3, 4);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    for (std::int64_t j = 0; j < n_cols; ++j)
      data.X.push_back(j != 2 && random.below(4) < 1 + (i % 3 == j % 3) ? 1.0 + random.below(4) : 0.0);
    data.y.push_back(static_cast<std::int32_t>(i % 3));
    data.values.push_back(data.X[static_cast<std::size_t>(i * n_cols)] -
                          0.5 * data.X[static_cast<std::size_t>(i * n_cols + 1)] + 0.1 * random.uniform());
  }
  return data;
}

Samples<double> sparse_samples(const Context& ctx, const testing::Data& data) {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  for (std::size_t e = 0; e < data.X.size(); ++e) {
    if (data.X[e] != 0)
      columns.push_back(static_cast<std::int32_t>(e % static_cast<std::size_t>(data.n_cols))),
          values.push_back(data.X[e]);
    if ((e + 1) % static_cast<std::size_t>(data.n_cols) == 0)
      offsets.push_back(static_cast<std::int64_t>(values.size()));
  }
  return samples_of(CsrMatrix<double>(ctx.memory(), data.n_cols, std::span<const std::int64_t>(offsets),
                                      std::span<const std::int32_t>(columns),
                                      std::span<const double>(values)));
}

std::vector<double> output(const Context& ctx, const Estimator<double>& estimator, const Samples<double>& X) {
  if (const auto* transformer = dynamic_cast<const Transformer<double>*>(&estimator))
    return host_values(ctx, transformer->transform(ctx, X));
  if (const auto* regressor = dynamic_cast<const Regressor<double>*>(&estimator))
    return regressor->predict(ctx, X);
  const auto& classifier = dynamic_cast<const Classifier<double>&>(estimator);
  if (!classifier.has_proba()) {
    Matrix<double> decision(ctx.memory(), X.n_rows(), 3);
    classifier.decision_function(ctx, X, decision.view());
    return decision.to_host();
  }
  Matrix<double> proba(ctx.memory(), X.n_rows(), 3);
  classifier.predict_proba(ctx, X, proba.view());
  return proba.to_host();
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  double scale = 0;
  for (const double v : expected) scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * scale) << "element " << i;
}

class Sparse : public ::testing::TestWithParam<std::string> {
 protected:
  Device& device_ = testing::device_named(GetParam());
  Context ctx_{.device = device_};
  const testing::Data data_ = counted(36, 9);
  const testing::Loaded<double> dense_{device_, data_};
  const std::vector<std::int32_t> rows_{30, 1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 17, 20, 22, 25, 28, 33, 35};

  Samples<double> chosen() const {
    Samples<double> X = sparse_samples(ctx_, data_);
    X.rows = std::make_shared<const Array<std::int32_t>>(ctx_.memory(), std::span<const std::int32_t>(rows_));
    return X;
  }
};

TEST_P(Sparse, FindsWhatADenseTableGivesInWhatTakesIt) {
  int found = 0;
  for (const CatalogueEntry& entry : catalogue()) {
    schema::ValueMap params;
    if (entry.info.name == "StandardScaler") params = {{"with_mean", false}};
    if (entry.info.name == "SelectKBest") params = {{"k", 4}};
    if (entry.info.name.ends_with("RandomProjection")) params = {{"n_components", 3}, {"random_state", 0}};
    // scikit-learn's intercept learns more slowly from sparse rows, and their objective counts other columns.
    if (entry.info.hostPart.starts_with("the descent"))
      params = {{"fit_intercept", false}, {"max_iter", 3}, {"tol", nullptr}};
    const auto on_dense = entry.make_f64(params), on_sparse = entry.make_f64(params);
    if (!on_sparse->accepts_sparse()) continue;
    ++found;
    SCOPED_TRACE(entry.info.name);
    on_dense->fit(ctx_, dense_.rows(rows_), dense_.target(rows_));
    on_sparse->fit(ctx_, chosen(), dense_.target(rows_));
    expect_near(output(ctx_, *on_sparse, sparse_samples(ctx_, data_)), output(ctx_, *on_dense, dense_.all()),
                kSame);
  }
  EXPECT_GE(found, 15);
}

TEST_P(Sparse, StaysSparseThroughScalersAndSelections) {
  for (const auto& [name, params] : std::vector<std::pair<std::string, schema::ValueMap>>{
           {"MaxAbsScaler", {}},
           {"StandardScaler", {{"with_mean", false}}},
           {"Normalizer", {}},
           {"Binarizer", {}},
           {"VarianceThreshold", {}},
           {"SelectKBest", {{"score_func", "chi2"}, {"k", 3}}}}) {
    const auto estimator = find_estimator(name)->make_f64(params);
    ASSERT_TRUE(estimator->accepts_sparse()) << name;
    estimator->fit(ctx_, chosen(), dense_.target(rows_));
    EXPECT_TRUE(dynamic_cast<const Transformer<double>&>(*estimator).transform(ctx_, chosen()).is_sparse())
        << name;
  }
}

TEST_P(Sparse, GivesADenseCopyOnceToWhatDoesNotTakeIt) {
  const auto scaler = find_estimator("StandardScaler")->make_f64({});
  const Samples<double> X = chosen(), first = accepted(ctx_, "StandardScaler", *scaler, X),
                        second = accepted(ctx_, "StandardScaler", *scaler, X);
  EXPECT_FALSE(first.is_sparse());
  EXPECT_EQ(first.table, second.table);
  EXPECT_EQ(host_values(ctx_, first), host_values(ctx_, dense_.rows(rows_)));
}

TEST_P(Sparse, RefusesTablesThatAreTooLargeToBeDense) {
  const std::vector<std::int64_t> offsets((1 << 14) + 1, 0);
  const Samples<double> X =
      samples_of(CsrMatrix<double>(ctx_.memory(), 1 << 14, std::span<const std::int64_t>(offsets), {}, {}));
  const auto knn = find_estimator("KNeighborsClassifier")->make_f64({});
  try {
    accepted(ctx_, "KNeighborsClassifier", *knn, X);
    FAIL() << "nothing was thrown";
  } catch (const schema::Error& error) {
    EXPECT_THAT(
        error.message,
        ::testing::HasSubstr("KNeighborsClassifier takes no sparse data, and 16384 rows x 16384 columns"));
  }
}

TEST_P(Sparse, SolvesRidgeByConjugateGradients) {
  std::vector<double> values;
  for (const std::int32_t i : rows_) values.push_back(data_.values[static_cast<std::size_t>(i)]);
  for (const bool intercept : {false, true}) {
    for (const bool weighted : {false, true}) {
      std::vector<double> weights;
      for (std::size_t i = 0; weighted && i < rows_.size(); ++i)
        weights.push_back(static_cast<double>(i % 3));
      const RidgeOptions options{.alpha = 0.7, .fit_intercept = intercept};
      RidgeProblem<double> problem(ctx_, "Ridge", dense_.rows(rows_), values, 1, weights, intercept);
      const RidgeSolution expected = problem.solve(ctx_, {0.7}, options);
      const SparseProblem<double> sparse(ctx_, "Ridge", chosen(), values, 1, weights, intercept);
      const std::vector<double> coef = solve_sparse_least_squares(ctx_, "Ridge", sparse, {0.7});
      expect_near(coef, expected.coef, kSolved);
      expect_near(sparse.intercepts(coef), expected.intercept, kSolved);
    }
  }
}

TEST_P(Sparse, SolvesElasticNetsByWorkingSets) {
  std::vector<double> values;
  for (const std::int32_t i : rows_) values.push_back(data_.values[static_cast<std::size_t>(i)]);
  const ElasticNetOptions options{.tol = 1e-13, .max_iter = 100000};
  const LinearProblem<double> problem(ctx_, "ElasticNet", dense_.rows(rows_), values, 1, {}, true);
  const SparseProblem<double> sparse(ctx_, "ElasticNet", chosen(), values, 1, {}, true);
  const std::vector<double> expected = solve_elastic_nets(ctx_, problem, {0.1, 0.02}, 0.6, options).coef;
  expect_near(solve_elastic_nets(ctx_, sparse, {0.1, 0.02}, 0.6, options).coef, expected, 1e-6);
}

TEST_P(Sparse, FindsTheSingularValuesOfTheDenseTable) {
  const std::vector<double> origin(9, 0.0);
  const Spectrum expected = svd_spectrum(ctx_, dense_.rows(rows_), origin);
  const Spectrum found =
      sparse_spectrum(ctx_, chosen(), {.n_components = 3, .n_oversamples = 4, .n_iter = 60, .seed = 1});
  expect_near(found.variance, {expected.variance.begin(), expected.variance.begin() + 3}, kSolved);
}

INSTANTIATE_TEST_SUITE_P(Devices, Sparse, ::testing::ValuesIn(testing::device_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kedge::engine
