// The median of weighted numbers (sklearn/utils/stats.py).
#include "engine/metrics/weighted_median.h"

#include <algorithm>
#include <limits>

#include "engine/metrics/score_order.h"

namespace kedge::engine {
namespace {

double plain_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace

double weighted_median(std::vector<double> values, std::span<const double> weights) {
  if (weights.empty()) return plain_median(values);
  std::vector<RankedRow> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = {rising_key(values[i]), static_cast<std::uint32_t>(i)};
  sort_by_key(order);
  std::vector<double> below(values.size());   // weight up to and with each value
  double sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) below[i] = sum += weights[order[i].row];
  if (sum == 0) return std::numeric_limits<double>::quiet_NaN();
  const double half = 0.5 * sum;
  const std::size_t last = order.size() - 1;
  const auto first_at = [&](auto found) { return std::min(static_cast<std::size_t>(found - below.begin()), last); };
  const std::size_t at = first_at(std::lower_bound(below.begin(), below.end(), half));
  if (below[at] - half > std::numeric_limits<double>::epsilon()) return values[order[at].row];
  // The half ends on this value: the next one is that of the next row that weighs something, if there is one.
  const auto beyond = std::upper_bound(below.begin(), below.end(), below[at]);
  const std::size_t next = beyond == below.end() ? at : first_at(beyond);
  return (values[order[at].row] + values[order[next].row]) / 2;
}

}  // namespace kedge::engine
