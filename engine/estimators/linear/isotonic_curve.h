// Isotonic regression in one variable: the nearest curve that never falls, or never rises. On the host, in double.
#pragma once

#include <limits>
#include <span>
#include <vector>

namespace kedge::engine {

struct IsotonicLimits {
  bool increasing = true;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

// Linear between its points and constant beyond them. Points between two of the same height are left out. Source: Best,
// Chakravarti, "Active set algorithms for isotonic regression", 1990 (pool adjacent violators).
struct IsotonicCurve {
  std::vector<double> x, y;   // x ascending; as many

  // The curve with the least weighted squares, cut off at the limits. x: finite; values: one for each x; weights: empty
  // or one for each, >= 0, at least one above 0. Equal x count as one, with their weighted mean. Cost: a sort.
  static IsotonicCurve fitted(std::span<const double> x, std::span<const double> values,
                              std::span<const double> weights, const IsotonicLimits& limits = {});
  double at(double score) const;
};

// Spearman's rank correlation, equal values with their mean rank; NaN where one side is constant.
double rank_correlation(std::span<const double> x, std::span<const double> y);

}   // namespace kedge::engine
