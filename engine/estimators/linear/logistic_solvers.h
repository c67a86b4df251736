// Which minimiser fits a logistic loss and its penalty, and the run of it.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/linear/logistic_objective.h"

namespace kedge::engine {

struct LogisticOptions {
  std::string solver = "lbfgs";  // scikit-learn's names
  double tol = 1e-4;
  std::int64_t max_iter = 100;
  bool fit_intercept = true;
  std::vector<double> start = {};   // as LogisticFit::w; empty: at 0
};

struct LogisticFit {
  std::vector<double> w;  // rows of coefficients, then intercepts, as LogisticObjective
  std::int64_t n_iter = 0;
};

// Minimises the loss plus its penalty. "lbfgs" takes SciPy's steps; an L1 penalty takes Newton's method with coordinate descent,
// or OWL-QN where the matrix of second derivatives is large; every other solver takes Newton's method, or L-BFGS where that
// matrix is large or cannot be inverted. Stops when no element of the (smallest sub-) gradient is above tol, or when an iteration
// lowers the loss by no more than 64 units of rounding, as scikit-learn. Warns through the context when it gets to neither.
template <class T>
LogisticFit minimize_logistic(const Context& ctx, const LogisticData<T>& data, const LogisticPenalty& penalty,
                              const LogisticOptions& options);

}  // namespace kedge::engine
