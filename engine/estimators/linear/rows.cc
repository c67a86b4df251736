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
      rows, memory::least_squares,
      {.host_part = "solutions in 32 digits, of small tables and where columns are close to dependent"});
  add<Ridge>(rows, memory::ridge);
  add<RidgeCV>(rows, memory::ridge_cv, {.host_part = "the scores, with cv, scoring or store_cv_results"});
  add<RidgeClassifier>(rows, memory::ridge);
  add<Lasso>(rows, memory::coordinate_descent);
  add<ElasticNet>(rows, memory::coordinate_descent);
  add<LassoCV>(rows, memory::coordinate_descent_cv);
  add<ElasticNetCV>(rows, memory::coordinate_descent_cv);
  add<LogisticRegression>(rows, memory::logistic);
  add<PoissonRegressor>(rows, memory::margins);
  add<GammaRegressor>(rows, memory::margins);
  add<TweedieRegressor>(rows, memory::margins);
  add<HuberRegressor>(rows, memory::margins);
  add<LinearSVC>(rows, memory::margins);
  add<LinearSVR>(rows, memory::margins);
  constexpr RowTraits kRowByRow{.host_part = "the descent: a row after the other, each line on one thread"};
  add<SGDClassifier>(rows, memory::row_by_row, kRowByRow);
  add<SGDRegressor>(rows, memory::row_by_row, kRowByRow);
  add<Perceptron>(rows, memory::row_by_row, kRowByRow);
  add<PassiveAggressiveClassifier>(rows, memory::row_by_row, kRowByRow);
  add<PassiveAggressiveRegressor>(rows, memory::row_by_row, kRowByRow);
  add<BayesianRidge>(rows, memory::evidence);
  add<ARDRegression>(rows, memory::evidence);
  add<OrthogonalMatchingPursuit>(rows, OrthogonalMatchingPursuit<float>::memory);
}

}  // namespace kedge::engine
