// Scores of columns against a target: f_classif, f_regression and chi2 of sklearn.feature_selection.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct FeatureScores {
  std::vector<double> scores, p_values;   // one a column
};

const std::vector<std::string>& score_functions();

// One of score_functions(). Sums of squares are taken about means, in two passes, so that an offset of X costs no digits. A
// constant column scores NaN with f_classif and chi2 of zeros, 0 with f_regression, as in scikit-learn. Errors: kBadData for
// fewer than 2 classes, or, with chi2, a negative value, naming the column.
template <class T>
FeatureScores feature_scores(const Context& ctx, const char* owner, const std::string& function, const Samples<T>& X,
                             const Target& y);

}  // namespace kedge::engine
