// Extremes, thresholds and the duality gap, by the scores of all variables.
#include "engine/estimators/svm/smo_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::engine {

std::int64_t SmoProblem::n_rows() const {
  std::int64_t n = 0;
  for (const KernelColumns& range : ranges) n += range.count;
  return n;
}

std::array<SmoState::Extent, 2> SmoState::extents() const {
  std::array<Extent, 2> found;
  for (std::size_t t = 0; t < alpha.size(); ++t) {
    Extent& of = found[group(t)];
    const double v = score(t);
    if (rises(t)) of.highest = std::max(of.highest, v);
    if (falls(t)) of.lowest = std::min(of.lowest, v);
  }
  return found;
}

std::vector<double> SmoState::sums_of_start() const {
  std::vector<double> sums(values.size(), 0.0);
  for (std::size_t t = 0; t < alpha.size(); ++t) sums[static_cast<std::size_t>(problem.row[t])] += y(t) * alpha[t];
  return sums;
}

// The mean score of what is between its bounds, or the middle of what the bounds allow.
double SmoState::threshold(std::size_t of_group, const Extent& extent) const {
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t t = 0; t < alpha.size(); ++t)
    if (group(t) == of_group && is_free(t)) sum += score(t), ++count;
  if (count > 0) return sum / static_cast<double>(count);
  if (std::isfinite(extent.highest) && std::isfinite(extent.lowest)) return (extent.highest + extent.lowest) / 2;
  return std::isfinite(extent.highest) ? extent.highest : (std::isfinite(extent.lowest) ? extent.lowest : 0.0);
}

SmoResult SmoState::result() && {
  SmoResult result{.n_iter = n_iter, .has_converged = has_converged, .is_indefinite = is_indefinite};
  const std::array<Extent, 2> found = extents();
  result.threshold[0] = threshold(0, found[0]);
  result.threshold[1] = problem.by_sign ? threshold(1, found[1]) : result.threshold[0];
  for (std::size_t t = 0; t < alpha.size(); ++t) {
    const double v = score(t), slack = y(t) * (v - result.threshold[group(t)]);
    result.gap += problem.C[t] * std::max(0.0, slack) - alpha[t] * slack;
    result.objective -= alpha[t] * y(t) * (v + problem.offset[t]) / 2;   // a (G + p) / 2
  }
  result.alpha = std::move(alpha), result.values = std::move(values);
  return result;
}

std::int64_t most_steps(const SmoOptions& options) {
  return options.max_iter < 0 ? std::numeric_limits<std::int64_t>::max() : options.max_iter;
}

}   // namespace kedge::engine
