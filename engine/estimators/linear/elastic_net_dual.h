// Elastic nets with many more columns than rows and a large support: Newton's method on the dual, which has
// as many unknowns as rows.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/estimators/linear/elastic_net_columns.h"

namespace kedge::engine {

struct DualProblem {
  const std::vector<double>& y;
  double l1 = 0, l2 = 0;  // l1 >= 0, l2 > 0
  bool positive = false;
  double tolerance = 0;  // of the gradient, relative to |y|
};

struct DualPoint {
  std::vector<double> residual, coef;  // y - X coef, one a row; one a column
  std::int64_t steps = 0;
};

// min |y - X w|^2 / 2 + l1 |w|_1 + l2 |w|^2 / 2, with w >= 0 if positive, from about the residual given;
// columns.has_outer(). At its minimum the residual u of |u|^2 / 2 - y'u + sum_j soft(x_j'u, l1)^2 / (2 l2) is
// y - X w with w_j = soft(x_j'u, l1) / l2; the second derivatives are I + X_A X_A' / l2 over the columns A
// beyond the threshold. Cost of a step: rows^2 |A| + rows^3. Errors: kCancelled. Source: Li, Sun and Toh,
// SIAM J. Optim. 28, 2018; Boschi et al., 2020 (arXiv 2006.03970).
DualPoint minimize_dual(const Context& ctx, DesignColumns& columns, const DualProblem& problem,
                        std::vector<double> residual);

}  // namespace kedge::engine
