// What selectors by fitted estimators share: importances of columns, elimination round by round, and scores of folds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {

// Rows of importances, one for each class or a single one: `getter`, or with "auto" coef_ or feature_importances_.
// Errors: kBadData for an estimator that has none.
template <class T>
std::vector<std::vector<double>> importance_rows(const char* owner, const NestedPredictor<T>& predictor,
                                                 const std::string& getter);

schema::ValueList mask_of(const std::vector<std::int32_t>& kept, std::int64_t n_features);

// These columns of X, copied for the moment: what column_part() keeps with the table would be a copy for each call.
template <class T>
Samples<T> columns_for_now(const Context& ctx, const Samples<T>& X, const std::vector<std::int32_t>& columns);

struct Elimination {
  const char* owner = "";
  std::int64_t n_kept = 1, step = 1;
  std::string getter = "auto";
};
struct Eliminated {
  std::vector<std::int32_t> kept;
  std::vector<std::int64_t> ranking;
};

// Fits, leaves out `step` columns of least importance, and fits again, until n_kept are left. on_round(columns) is
// called after each fit, the last one included.
template <class T>
Eliminated eliminate(const Context& ctx, const Elimination& options, NestedPredictor<T>& predictor, const Samples<T>& X,
                     const Target& y, const std::function<void(const std::vector<std::int32_t>&)>& on_round);

// step: a number, or a share of the columns.
std::int64_t elimination_step(const schema::Value& step, std::int64_t n_features);

// Names of scores that choose columns; "" is the estimator's own: accuracy or R^2.
const std::vector<std::string>& fold_scorings();

// The score of a fitted predictor on these rows; larger is better. Errors: kInvalidValue for a scoring that is not for
// such a predictor.
template <class T>
double fold_score(const Context& ctx, const char* owner, const std::string& scoring,
                  const NestedPredictor<T>& predictor, const Samples<T>& X, const Target& y);

}   // namespace kedge::engine
