// What a device that takes the steps of expectation maximisation for whole rows has beside BayesOps.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/ops/bayes.h"
#include "engine/core/view.h"

namespace kedge::engine {

enum class FactorForm { kEach, kShared, kDiagonal };

// Normal components: the squared distance of a row x to component k is the sum of the squares of M x - offsets[k].
// Host, row-major, borrowed.
struct NormalComponents {
  std::int64_t n = 0, d = 0;
  FactorForm form = FactorForm::kEach;
  const double* factors = nullptr;     // kEach: n lower triangles of d x d; kShared: one; kDiagonal: n x d diagonals
  const double* offsets = nullptr;     // n x d: M times the mean
  const double* constants = nullptr;   // n: what half the squared distance is taken from
};

// Sums over the rows.
struct MixtureSums {
  double log_density = 0, entropy = 0;
};

enum class RowTerms { kProducts, kSquares, kValues };

// The numbers that sum_terms() makes of a row of d columns. q = d + 1.
constexpr std::int64_t n_terms(RowTerms terms, std::int64_t d) {
  return terms == RowTerms::kProducts ? (d + 1) * (d + 2) / 2 : terms == RowTerms::kSquares ? 2 * d + 1 : d + 1;
}

// Wider rows leave the caches, and products of blocks are faster.
constexpr bool is_narrow_mixture(bool has_matrices, std::int64_t d) {
  return d <= (has_matrices ? 64 : 1024);
}

class MixtureOps {
 public:
  virtual ~MixtureOps() = default;

  // With z[k] = constants[k] less half the squared distance of row i to component k: log_densities[i] is the logarithm
  // of the sum of exp(z[k]), shares(i, k) is exp(z[k]) over that sum. X: n x d, shares: n x components. Sums along a
  // row are in the order of its columns, those over rows are exact over tiles. Within d + 8 units of the size of what
  // is added. NaN where no z is finite. Where ranks divide sums over rows, a rank reads and writes its own
  // (own_rows()), and the sums are those of all. Waits.
  virtual MixtureSums share_rows(MatrixView<const double> X, const NormalComponents& components,
                                 MatrixView<double> shares, VectorView<double> log_densities) = 0;
  // Row k of the result (components x n_terms, host) = sum_i shares(i, k) f(x_i). f(x) is the lower triangle of
  // (x, 1)(x, 1)' by rows, or the squares of x, then x, then 1, or x, then 1. Ranks read their own rows. Waits.
  virtual std::vector<double> sum_terms(MatrixView<const double> X, MatrixView<const double> shares,
                                        RowTerms terms) = 0;
};

// Null where the steps are products and maps of blocks, as on GPUs.
inline MixtureOps* mixture_ops(BayesOps<double>& bayes) {
  return dynamic_cast<MixtureOps*>(&bayes);
}

}   // namespace kedge::engine
