// Columns by rank, by quantile, and by the rate of errors.
#include "engine/estimators/selection/score_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/estimators/preprocessing/k_bins_edges.h"

namespace kedge::engine {
namespace {

void make_nan_least(std::vector<double>& scores) {
  for (double& score : scores)
    if (std::isnan(score)) score = std::numeric_limits<double>::lowest();
}

// P values up to it are kept.
double largest_kept(const std::vector<double>& p_values, ErrorRate rate, double alpha) {
  const auto n = static_cast<double>(p_values.size());
  if (rate != ErrorRate::kFalseDiscoveries) {
    const double bound = rate == ErrorRate::kFamilyWise ? alpha / n : alpha;
    return std::nextafter(bound, -1.0);   // only what is below it is kept
  }
  std::vector<double> sorted;
  for (const double p : p_values)
    if (!std::isnan(p)) sorted.push_back(p);
  std::ranges::sort(sorted);
  double most = -1;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] <= alpha / n * static_cast<double>(i + 1)) most = sorted[i];
  return most;
}

}   // namespace

std::vector<bool> best_columns(std::vector<double> scores, std::int64_t k) {
  make_nan_least(scores);
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t j) { return scores[j]; });
  std::vector<bool> mask(scores.size(), false);
  const auto d = static_cast<std::int64_t>(scores.size());
  for (std::int64_t i = std::max(std::int64_t{0}, d - k); i < d; ++i) mask[order[static_cast<std::size_t>(i)]] = true;
  return mask;
}

std::vector<bool> best_share(std::vector<double> scores, double percentile) {
  if (percentile == 100 || percentile == 0) return std::vector<bool>(scores.size(), percentile == 100);
  make_nan_least(scores);
  std::vector<double> sorted = scores;
  std::ranges::sort(sorted);
  const double threshold = quantile_by("linear", sorted, (100 - percentile) / 100);
  auto room = static_cast<std::int64_t>(static_cast<double>(scores.size()) * percentile / 100);
  room -= std::ranges::count_if(scores, [&](double s) { return s > threshold; });
  std::vector<bool> mask;
  for (const double s : scores) mask.push_back(s > threshold || (s == threshold && room-- > 0));
  return mask;
}

std::vector<bool> below_rate(const std::vector<double>& p_values, ErrorRate rate, double alpha) {
  const double most = largest_kept(p_values, rate, alpha);
  std::vector<bool> mask;
  for (const double p : p_values) mask.push_back(p <= most);
  return mask;
}

}   // namespace kedge::engine
