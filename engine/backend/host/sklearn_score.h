// Scores of cuts as scikit-learn computes them, to the last bit: of two cuts that are equal but for rounding, its trees
// have the one that rounds up. Source: scikit-learn, tree/_criterion.pyx (Gini, Entropy and Poisson;
// proxy_impurity_improvement).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/backend/tree_functors.h"

namespace kedge::engine {

inline double sklearn_log2(double x) {
  return std::log(x) / std::log(2.0);
}

// Impurity of the rows of which count(c) belong to class c, `weight` together.
template <class Count>
double sklearn_impurity(bool entropy, std::int32_t n_classes, double weight, const Count& count) {
  double sum = 0;
  for (std::int32_t c = 0; c < n_classes; ++c) {
    const auto n = static_cast<double>(count(c));
    if (!entropy) sum += n * n;
    else if (n > 0) sum -= n / weight * sklearn_log2(n / weight);
  }
  return entropy ? sum : 1.0 - sum / (weight * weight);
}

// What the impurities of both sides leave, 0 at best; left(c) of total(c) rows of class c are on the left.
template <class Total, class Left>
double sklearn_class_score(bool entropy, std::int32_t n_classes, double left_weight, double right_weight,
                           const Total& total, const Left& left) {
  const double on_left = sklearn_impurity(entropy, n_classes, left_weight, left);
  const double on_right =
      sklearn_impurity(entropy, n_classes, right_weight, [&](std::int32_t c) { return total(c) - left(c); });
  return -right_weight * on_right - left_weight * on_left;
}

inline double sklearn_poisson_score(double left_sum, double left_weight, double right_sum, double right_weight) {
  if (left_sum <= kPureImpurity || right_sum <= kPureImpurity) return kRefusedCut;
  const double left = 0.0 - left_sum * sklearn_log2(left_sum / left_weight),
               right = 0.0 - right_sum * sklearn_log2(right_sum / right_weight);
  return -left - right;
}

}   // namespace kedge::engine
