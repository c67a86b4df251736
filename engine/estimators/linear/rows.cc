// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/linear/ard_regression.h"
#include "engine/estimators/linear/bayesian_ridge.h"
#include "engine/estimators/linear/elastic_net.h"
#include "engine/estimators/linear/elastic_net_cv.h"
#include "engine/estimators/linear/glm.h"
#include "engine/estimators/linear/huber.h"
#include "engine/estimators/linear/isotonic_regression.h"
#include "engine/estimators/linear/lars.h"
#include "engine/estimators/linear/lars_cv.h"
#include "engine/estimators/linear/linear_regression.h"
#include "engine/estimators/linear/linear_svm.h"
#include "engine/estimators/linear/logistic_regression.h"
#include "engine/estimators/linear/logistic_regression_cv.h"
#include "engine/estimators/linear/memory.h"
#include "engine/estimators/linear/orthogonal_matching_pursuit.h"
#include "engine/estimators/linear/pls_regression.h"
#include "engine/estimators/linear/quantile_regressor.h"
#include "engine/estimators/linear/ridge.h"
#include "engine/estimators/linear/ridge_classifier.h"
#include "engine/estimators/linear/ridge_classifier_cv.h"
#include "engine/estimators/linear/ridge_cv.h"
#include "engine/estimators/linear/sgd.h"
#include "engine/estimators/linear/theil_sen.h"

namespace kedge::engine {

namespace {

template <template <class> class E>
void add_line(Rows& rows, MemoryRule memory, SyncBudget syncs, RowTraits traits = {}) {
  traits.is_line = true;
  add<E>(rows, memory, syncs, traits);
}

}   // namespace

void add_linear(Rows& rows) {
  add_line<LinearRegression>(
      rows, memory::least_squares, {9, 1, 64},
      {.host_part = "solutions in 32 digits, of small tables and where columns are close to dependent",
       .dealt = DealtFit::kOwnRows});
  add_line<Ridge>(rows, memory::ridge, {3, 1}, {.dealt = DealtFit::kOwnRows});
  add_line<RidgeCV>(rows, memory::ridge_cv, {10, 1}, {.host_part = "the scores, with cv, scoring or store_cv_results"});
  add_line<RidgeClassifier>(rows, memory::ridge, {4, 2}, {.dealt = DealtFit::kOwnRows});
  add_line<RidgeClassifierCV>(rows, memory::ridge_classifier_cv, {12, 2},
                              {.host_part = "the scores, with cv, scoring or store_cv_results"});
  add_line<Lasso>(rows, memory::coordinate_descent, {5, 1}, {.dealt = DealtFit::kOwnRows});
  add_line<ElasticNet>(rows, memory::coordinate_descent, {5, 1}, {.dealt = DealtFit::kOwnRows});
  add_line<LassoCV>(rows, memory::coordinate_descent_cv, {16, 1});
  add_line<ElasticNetCV>(rows, memory::coordinate_descent_cv, {16, 1});
  add_line<LogisticRegression>(rows, memory::logistic, {55, 3, 9}, {.dealt = DealtFit::kOwnRows});
  add_line<LogisticRegressionCV>(rows, memory::logistic_cv, {3000, 3, 3000},
                                 {.host_part = "the folds and their scores"});
  add_line<PoissonRegressor>(rows, memory::margins, {40, 1});
  add_line<GammaRegressor>(rows, memory::margins, {40, 1});
  add_line<TweedieRegressor>(rows, memory::margins, {20, 1});
  add_line<HuberRegressor>(rows, memory::margins, {60, 1, 8});
  add_line<LinearSVC>(rows, memory::margins, {60, 3, 16});
  add_line<LinearSVR>(rows, memory::margins, {200, 1, 64});
  constexpr RowTraits kRowByRow{.host_part = "the descent: a row after the other, each line on one thread"};
  add_line<SGDClassifier>(rows, memory::row_by_row, {1, 1, 48}, kRowByRow);
  add_line<SGDRegressor>(rows, memory::row_by_row, {1, 1, 48}, kRowByRow);
  add_line<Perceptron>(rows, memory::row_by_row, {1, 1, 48}, kRowByRow);
  add_line<PassiveAggressiveClassifier>(rows, memory::row_by_row, {1, 1, 48}, kRowByRow);
  add_line<PassiveAggressiveRegressor>(rows, memory::row_by_row, {1, 1, 48}, kRowByRow);
  add_line<BayesianRidge>(rows, memory::evidence, {40, 1});
  add_line<ARDRegression>(rows, memory::evidence, {300, 1, 6});
  add_line<OrthogonalMatchingPursuit>(rows, OrthogonalMatchingPursuit<float>::memory, {6, 1});
  add<PLSRegression>(rows, PLSRegression<float>::memory, {4, 2, 16}, {.host_part = "the scores of the fitted rows"});
  add<IsotonicRegression>(rows, IsotonicRegression<float>::memory, {1, 3, 8},
                          {.host_part = "the order of the rows, and their pools"});
  add_line<QuantileRegressor>(rows, QuantileRegressor<float>::memory, {700, 1});
  add_line<TheilSenRegressor>(rows, TheilSenRegressor<float>::memory, {300, 1, 45},
                              {.host_part = "the draws, and small subsets of the rows and their lines"});
  add_line<Lars>(rows, Lars<float>::memory, {3, 1});
  add_line<LassoLars>(rows, LassoLars<float>::memory, {3, 1});
  add_line<LassoLarsIC>(rows, LassoLarsIC<float>::memory, {12, 1, 64},
                        {.host_part = "least squares for the variance of the noise, in 32 digits, of small tables"});
  add_line<LarsCV>(rows, LarsCV<float>::memory, {20, 1});
  add_line<LassoLarsCV>(rows, LassoLarsCV<float>::memory, {20, 1});
}

}  // namespace kedge::engine
