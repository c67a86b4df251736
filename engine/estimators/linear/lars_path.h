// The path of least angle regression and of the lasso, knot after knot, on the products of the columns.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/core/context.h"

namespace kedge::engine {

struct LarsOptions {
  bool is_lasso = false;   // a column leaves when its coefficient becomes 0
  bool positive = false;
  double alpha_min = 0;
  double eps = std::numeric_limits<double>::epsilon();   // least pivot of the Cholesky factor
  std::int64_t max_iter = 500;
};

struct LarsPath {
  std::vector<double> alphas;         // of each knot: the largest product of a column with what is left, by row
  std::vector<double> coef;           // knots x columns
  std::vector<std::int32_t> active;   // columns at the end, in the order in which they came
  std::int64_t n_iter = 0;
};

// gram: (d + 1) x (d + 1), row-major, host, the target last; n_rows: of the samples. Cost: O(d n_active) a step. Warns
// through the context where columns are combinations of others or rounding ends the path. Errors: kCancelled. Source:
// Efron, Hastie, Johnstone and Tibshirani, "Least angle regression", Annals of Statistics 32(2), 2004; ties and
// tolerances as scikit-learn's lars_path.
LarsPath lars_path(const Context& ctx, const char* owner, const std::vector<double>& gram, double n_rows,
                   const LarsOptions& options);

}   // namespace kedge::engine
