// The precisions of noise and coefficients with the greatest evidence, in a basis where the columns are orthogonal.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/context.h"

namespace kedge::engine {

// Shapes (1) and rates (2) of the gamma distributions of the noise's (alpha) and the coefficients' (lambda) precision.
struct EvidencePriors {
  double alpha_1 = 1e-6, alpha_2 = 1e-6, lambda_1 = 1e-6, lambda_2 = 1e-6;
};

// The design D = sum_k s_k u_k v_k' and the target y: s_k^2 and u_k'y, and what of |y|^2 no u_k has.
struct EvidenceBasis {
  std::vector<double> squares, along;
  double rest = 0;
};

// Eigenvalues (ascending) of a Gram matrix that are rounding become 0.
void drop_rounding(std::vector<double>& squares);

// The precisions, the coefficients along each v_k, and the sum of the squared residuals under them. MacKay's updates.
// Source: MacKay, "Bayesian interpolation", Neural Computation 4(3), 1992.
struct Evidence {
  double alpha = 1, lambda = 1, residual = 0, rows = 0;
  std::vector<double> along;

  void solve(const EvidenceBasis& basis);
  double coef_squares() const;
  void update(const EvidenceBasis& basis, const EvidencePriors& priors);
  double score(const EvidenceBasis& basis, const EvidencePriors& priors, std::int64_t n_cols) const;
};

// The coefficients of BayesianRidge with its defaults, from the centred products of n_rows rows: gram (m x m,
// row-major), its products with the target (m), and the target's squares.
std::vector<double> coef_of_greatest_evidence(const Context& ctx, const std::vector<double>& gram,
                                              const std::vector<double>& products, double target_squares,
                                              double n_rows);

}   // namespace kedge::engine
