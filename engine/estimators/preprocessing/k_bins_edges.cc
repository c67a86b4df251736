// Quantiles by numpy's methods; Lloyd's iterations among sorted numbers.
#include "engine/estimators/preprocessing/k_bins_edges.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>

#include "engine/backend/column_functors.h"

namespace kedge::engine {
namespace {

constexpr int kMostIterations = 300;   // KMeans' max_iter and tol
constexpr double kTolerance = 1e-4;

// The constants alpha = beta of the continuous methods.
std::optional<double> plotting_constant(const std::string& method) {
  if (method == "hazen") return 0.5;
  if (method == "weibull") return 0.0;
  if (method == "linear") return 1.0;
  if (method == "median_unbiased") return 1.0 / 3.0;
  if (method == "normal_unbiased") return 3.0 / 8.0;
  return std::nullopt;
}

// Of the discrete methods: the position before `index` where it counts as that one, else the one after.
double discrete_place(double index, bool stays) { return std::max(0.0, stays ? std::floor(index) : std::floor(index) + 1); }

struct Lloyd {
  std::span<const double> x, w;
  std::vector<double> centres, weight_before, sum_before;   // before position i, so one longer than x
  std::vector<std::size_t> order;                           // centres, ascending
  std::vector<std::size_t> borders;                         // first position of each of them, then the end

  double weight(std::size_t i) const { return w.empty() ? 1.0 : w[i]; }
  void assign();
  std::vector<double> means();
  void fill_empty(std::vector<double>& sums, std::vector<double>& weights) const;
  std::size_t place_of(std::size_t i) const {   // position in `order` of the centre of number i
    return static_cast<std::size_t>(std::upper_bound(borders.begin(), borders.end() - 1, i) - borders.begin()) - 1;
  }
};

void Lloyd::assign() {
  std::ranges::stable_sort(order, {}, [&](std::size_t c) { return centres[c]; });
  borders.assign(1, 0);
  for (std::size_t k = 1; k < order.size(); ++k) {
    const double middle = 0.5 * (centres[order[k - 1]] + centres[order[k]]);
    const auto at = order[k - 1] < order[k] ? std::ranges::upper_bound(x, middle)
                                            : std::ranges::lower_bound(x, middle);   // ties go to the first centre
    borders.push_back(std::max(borders.back(), static_cast<std::size_t>(at - x.begin())));
  }
  borders.push_back(x.size());
}

// As scikit-learn: each empty cluster takes one of the numbers farthest from their centres.
void Lloyd::fill_empty(std::vector<double>& sums, std::vector<double>& weights) const {
  std::vector<std::size_t> empty;
  for (std::size_t c = 0; c < weights.size(); ++c)
    if (weights[c] == 0) empty.push_back(c);
  if (empty.empty()) return;
  std::vector<double> distance(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) distance[i] = std::abs(x[i] - centres[order[place_of(i)]]);
  std::vector<std::size_t> far(x.size());
  std::iota(far.begin(), far.end(), std::size_t{0});
  std::ranges::partial_sort(far, far.begin() + static_cast<std::ptrdiff_t>(std::min(empty.size(), far.size())), std::greater<>{},
                            [&](std::size_t i) { return distance[i]; });
  for (std::size_t e = 0; e < empty.size() && e < far.size(); ++e) {
    const std::size_t i = far[e], from = order[place_of(i)], to = empty[e];
    sums[from] -= weight(i) * x[i], weights[from] -= weight(i);
    sums[to] = weight(i) * x[i], weights[to] = weight(i);
  }
}

std::vector<double> Lloyd::means() {
  std::vector<double> sums(centres.size()), weights(centres.size()), result = centres;
  for (std::size_t k = 0; k < order.size(); ++k) {
    sums[order[k]] = sum_before[borders[k + 1]] - sum_before[borders[k]];
    weights[order[k]] = weight_before[borders[k + 1]] - weight_before[borders[k]];
  }
  fill_empty(sums, weights);
  for (std::size_t c = 0; c < centres.size(); ++c)
    if (weights[c] > 0) result[c] = sums[c] / weights[c];
  return result;
}

}  // namespace

const std::vector<std::string>& quantile_methods() {
  static const std::vector<std::string> names{
      "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
      "linear",       "median_unbiased",       "normal_unbiased"};
  return names;
}

QuantileSpot quantile_spot(const std::string& method, std::int64_t count, double q) {
  const double n = static_cast<double>(count);
  double place = n * q - 1;
  if (method == "linear") {
    place = (n - 1) * q;
  } else if (method == "inverted_cdf") {
    place = discrete_place(place, place == std::floor(place));
  } else if (method == "closest_observation") {
    place -= 0.5;
    place = discrete_place(place, place == std::floor(place) && std::fmod(std::abs(std::floor(place)), 2) == 1);
  } else if (const auto alpha = plotting_constant(method)) {
    place = n * q + (*alpha + q * (1 - *alpha - *alpha)) - 1;
  }   // interpolated_inverted_cdf and averaged_inverted_cdf: n q - 1
  if (place >= n - 1) return {count - 1, count - 1, 0};
  if (place < 0) return {0, 0, 0};
  const auto below = static_cast<std::int64_t>(place);
  double way = place - std::floor(place);
  if (method == "averaged_inverted_cdf") way = way == 0 ? 0.5 : 1.0;
  return {below, below + 1, way};
}

double quantile_at(const QuantileSpot& spot, double below, double above) {
  return spot.below == spot.above ? below : between(below, above, spot.way);
}

double quantile_by(const std::string& method, std::span<const double> sorted, double q) {
  const QuantileSpot spot = quantile_spot(method, static_cast<std::int64_t>(sorted.size()), q);
  return quantile_at(spot, sorted[static_cast<std::size_t>(spot.below)], sorted[static_cast<std::size_t>(spot.above)]);
}

std::vector<double> one_dimensional_means(std::span<const double> sorted, std::span<const double> weights,
                                          std::vector<double> centres) {
  // Like KMeans, relative to the mean, so that sums over prefixes lose nothing to an offset.
  const double n = static_cast<double>(sorted.size()), shift = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  std::vector<double> x(sorted.begin(), sorted.end());
  double squares = 0;
  for (double& v : x) v -= shift, squares += v * v;
  for (double& c : centres) c -= shift;
  Lloyd lloyd{.x = x,
              .w = weights,
              .centres = std::move(centres),
              .weight_before = {0.0},
              .sum_before = {0.0},
              .order = {},
              .borders = {}};
  for (std::size_t i = 0; i < x.size(); ++i) {
    lloyd.weight_before.push_back(lloyd.weight_before.back() + lloyd.weight(i));
    lloyd.sum_before.push_back(lloyd.sum_before.back() + lloyd.weight(i) * x[i]);
  }
  lloyd.order.resize(lloyd.centres.size());
  std::iota(lloyd.order.begin(), lloyd.order.end(), std::size_t{0});
  std::vector<std::size_t> former_order, former_borders;
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    lloyd.assign();
    std::vector<double> next = lloyd.means();
    double moved = 0;
    for (std::size_t c = 0; c < next.size(); ++c) moved += (next[c] - lloyd.centres[c]) * (next[c] - lloyd.centres[c]);
    const bool same = lloyd.order == former_order && lloyd.borders == former_borders;
    former_order = lloyd.order, former_borders = lloyd.borders;
    lloyd.centres = std::move(next);
    if (same || moved <= kTolerance * squares / n) break;
  }
  std::ranges::sort(lloyd.centres);
  for (double& c : lloyd.centres) c += shift;
  return lloyd.centres;
}

}  // namespace kedge::engine
