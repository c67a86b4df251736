// Elastic nets on a Gram matrix: what the op is given, and the formulas that its CPU and CUDA bodies share.
// Sources: Friedman, Hastie, Tibshirani, "Regularization paths for generalized linear models via coordinate descent", 2010; Fercoq,
// Gramfort, Salmon, "Mind the duality gap: safer rules for the Lasso", 2015.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/core/portability.h"
#include "engine/core/view.h"

namespace kedge::engine {

// Penalties solved in order, each from the solution before it: min w'Qw / 2 - q'w + l1 |w|_1 + l2 |w|^2 / 2. Device memory.
struct ElasticNetPath {
  MatrixView<const double> Q;         // d x d, symmetric: X'X
  VectorView<const double> q;         // X'y
  double y_squared = 0;               // y'y
  VectorView<const double> l1, l2;    // one of each a penalty, >= 0
  MatrixView<double> coef;            // penalties x d, no padding; its first row holds the start
  VectorView<double> gap;             // out: duality gap that was reached
  VectorView<std::int32_t> n_iter;    // out: passes over the coordinates
};

struct ElasticNetOptions {
  double tol = 1e-4;         // stop when the gap is at most tol * y_squared
  std::int64_t max_iter = 1000;
  bool positive = false;     // coefficients of at least 0
  bool random = false;       // coordinates are drawn, not taken in order
  std::uint64_t seed = 0;
};

// The best value of one coordinate with the others fixed; `slope` is q_j - (Qw)_j.
KEDGE_HD inline double elastic_net_coordinate(double slope, double w, double diagonal, double l1, double l2, bool positive) {
  const double target = slope + w * diagonal;
  if (positive && target < 0) return 0.0;
  const double size = fabs(target) - l1;
  if (!(size > 0)) return 0.0;
  return (target > 0 ? size : -size) / (diagonal + l2);
}

// What the gap is made of.
struct ElasticNetSums {
  double l1_norm = 0, squared_norm = 0, qw = 0, wQw = 0;
  double dual_norm = 0;       // largest |a_j| (a_j with positive), a = X'(y - X w) - l2 w
  double dual_squared = 0;    // sum of a_j^2; counts without an L1 penalty, where l2 w is left out of a
};

KEDGE_HD inline double elastic_net_dual(double slope, double w, double l1, double l2) { return l1 > 0 ? slope - l2 * w : slope; }

KEDGE_HD inline double elastic_net_gap(const ElasticNetSums& s, double y_squared, double l1, double l2) {
  const double residual = y_squared + s.wQw - 2 * s.qw, along = y_squared - s.qw;
  if (l1 == 0) {
    if (l2 == 0) return s.dual_squared;   // least squares: no gap, the gradient stands for it
    return residual + 0.5 * l2 * s.squared_norm - along + s.dual_squared / (2 * l2);
  }
  const double scale = s.dual_norm > l1 ? l1 / s.dual_norm : 1.0, penalised = residual + l2 * s.squared_norm;
  return 0.5 * penalised + l1 * s.l1_norm + 0.5 * scale * scale * penalised - scale * along;
}

// Whether the gap proves that the coordinate is 0 in the solution. l1 > 0.
KEDGE_HD inline bool elastic_net_excludes(double dual, double dual_norm, double diagonal, double l1, double l2, double gap) {
  if (diagonal == 0) return true;
  const double theta = dual / (dual_norm > l1 ? dual_norm : l1);
  return (1 - fabs(theta)) / sqrt(diagonal + l2) > sqrt(2 * fabs(gap)) / l1;
}

}  // namespace kedge::engine
