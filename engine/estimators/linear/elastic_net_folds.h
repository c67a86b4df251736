// Errors of elastic-net paths in the folds of a cross-validation.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/linear/elastic_net_solver.h"

namespace kedge::engine {

// Rows first .. first + count - 1 test one fold.
struct FoldRange {
  std::int64_t first = 0, count = 0;
};
// scikit-learn's KFold without shuffling. Errors: kBadData for more folds than rows.
std::vector<FoldRange> fold_ranges(const char* owner, std::int64_t n_rows, std::int64_t n_folds);

// The rows of these samples at these positions.
template <class T>
Samples<T> rows_at(const Context& ctx, const Samples<T>& X, std::vector<std::int32_t> positions);
// These samples without rows first .. first + count - 1, or those alone.
template <class T>
Samples<T> without_rows(const Context& ctx, const Samples<T>& X, FoldRange fold);
template <class T>
Samples<T> only_rows(const Context& ctx, const Samples<T>& X, FoldRange fold);
// The same of a list with one value a row; an empty list stays empty.
std::vector<double> without_rows(const std::vector<double>& values, FoldRange fold);
std::vector<double> only_rows(const std::vector<double>& values, FoldRange fold);

// Mean squared errors (weighted, if weights are given) on the test rows of each fold: ratios x alphas x folds. alphas has a
// descending list for each ratio, all of one length.
template <class T>
std::vector<double> elastic_net_fold_errors(const Context& ctx, const char* owner, const Samples<T>& X, const Target& y,
                                            const LinearProblem<T>& problem, bool fit_intercept,
                                            const std::vector<FoldRange>& folds, const std::vector<double>& ratios,
                                            const std::vector<std::vector<double>>& alphas, const ElasticNetOptions& options);

}   // namespace kedge::engine
