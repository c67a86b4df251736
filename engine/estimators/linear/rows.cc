// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/linear/ard_regression.h"
#include "engine/estimators/linear/bayesian_ridge.h"
#include "engine/estimators/linear/elastic_net.h"
#include "engine/estimators/linear/elastic_net_cv.h"
#include "engine/estimators/linear/glm.h"
#include "engine/estimators/linear/huber.h"
#include "engine/estimators/linear/linear_regression.h"
#include "engine/estimators/linear/linear_svm.h"
#include "engine/estimators/linear/logistic_regression.h"
#include "engine/estimators/linear/memory.h"
#include "engine/estimators/linear/orthogonal_matching_pursuit.h"
#include "engine/estimators/linear/ridge.h"
#include "engine/estimators/linear/ridge_classifier.h"
#include "engine/estimators/linear/ridge_cv.h"
#include "engine/estimators/linear/sgd.h"

namespace kedge::engine {

void add_linear(Rows& rows) {
  add<LinearRegression>(
      rows, memory::least_squares, {9, 1, 64},
      {.host_part = "solutions in 32 digits, of small tables and where columns are close to dependent"});
  add<Ridge>(rows, memory::ridge, {3, 1});
  add<RidgeCV>(rows, memory::ridge_cv, {10, 1}, {.host_part = "the scores, with cv, scoring or store_cv_results"});
  add<RidgeClassifier>(rows, memory::ridge, {4, 2});
  add<Lasso>(rows, memory::coordinate_descent, {5, 1});
  add<ElasticNet>(rows, memory::coordinate_descent, {5, 1});
  add<LassoCV>(rows, memory::coordinate_descent_cv, {16, 1});
  add<ElasticNetCV>(rows, memory::coordinate_descent_cv, {16, 1});
  add<LogisticRegression>(rows, memory::logistic, {55, 3, 9});
  add<PoissonRegressor>(rows, memory::margins, {40, 1});
  add<GammaRegressor>(rows, memory::margins, {40, 1});
  add<TweedieRegressor>(rows, memory::margins, {20, 1});
  add<HuberRegressor>(rows, memory::margins, {60, 1, 8});
  add<LinearSVC>(rows, memory::margins, {60, 3, 16});
  add<LinearSVR>(rows, memory::margins, {200, 1, 64});
  constexpr RowTraits kRowByRow{.host_part = "the descent: a row after the other, each line on one thread"};
  add<SGDClassifier>(rows, memory::row_by_row, {1, 1, 48}, kRowByRow);
  add<SGDRegressor>(rows, memory::row_by_row, {1, 1, 48}, kRowByRow);
  add<Perceptron>(rows, memory::row_by_row, {1, 1, 48}, kRowByRow);
  add<PassiveAggressiveClassifier>(rows, memory::row_by_row, {1, 1, 48}, kRowByRow);
  add<PassiveAggressiveRegressor>(rows, memory::row_by_row, {1, 1, 48}, kRowByRow);
  add<BayesianRidge>(rows, memory::evidence, {40, 1});
  add<ARDRegression>(rows, memory::evidence, {300, 1, 6});
  add<OrthogonalMatchingPursuit>(rows, OrthogonalMatchingPursuit<float>::memory, {6, 1});
}

}  // namespace kedge::engine
