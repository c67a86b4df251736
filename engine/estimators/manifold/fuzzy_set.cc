// The width of each neighbourhood by bisection; the curve by Levenberg's and Marquardt's steps.
#include "engine/estimators/manifold/fuzzy_set.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "engine/estimators/manifold/row_blocks.h"

namespace kedge::engine {
namespace {

constexpr double kTolerance = 1e-5, kLeastWidth = 1e-3;   // umap-learn's; the second of a mean distance

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(1, values.size()));
}

// The distance from which a neighbour counts less.
double nearest_of(std::span<const double> distances, double local_connectivity) {
  const auto first = std::ranges::find_if(distances, [](double d) { return d > 0; });
  const auto others = distances.subspan(static_cast<std::size_t>(first - distances.begin()));
  if (others.empty()) return 0;
  if (static_cast<double>(others.size()) < local_connectivity) return others.back();
  const auto whole = static_cast<std::size_t>(std::floor(local_connectivity));
  const double share = local_connectivity - static_cast<double>(whole);
  if (whole == 0) return share * others[0];
  const double below = others[whole - 1];
  return share > kTolerance && whole < others.size() ? below + share * (others[whole] - below) : below;
}

double width_of(std::span<const double> distances, double nearest) {
  constexpr int kSteps = 64;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double target = std::log2(static_cast<double>(distances.size()));
  double low = 0, high = kInfinity, width = 1;
  for (int step = 0; step < kSteps; ++step) {
    double sum = 0;
    for (const double distance : distances.subspan(1))
      sum += distance > nearest ? std::exp(-(distance - nearest) / width) : 1.0;
    if (std::abs(sum - target) < kTolerance) break;
    if (sum > target) high = width, width = (low + high) / 2;
    else low = width, width = std::isinf(high) ? width * 2 : (low + high) / 2;
  }
  return width;
}

}   // namespace

std::vector<double> memberships(const Context& ctx, const NeighborLists& lists, double local_connectivity,
                                bool own_rows) {
  const auto k = static_cast<std::size_t>(lists.k);
  const double mean = mean_of(lists.distances);
  std::vector<double> made(lists.distances.size());
  for_row_blocks(lists.n, [&](std::int64_t begin, std::int64_t end) {
    ctx.check_stop();
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const std::span<const double> distances(lists.distances.data() + i * k, k);
      const double nearest = nearest_of(distances, local_connectivity);
      const double width =
          std::max(width_of(distances, nearest), kLeastWidth * (nearest > 0 ? mean_of(distances) : mean));
      for (std::size_t j = 0; j < k; ++j) {
        const double beyond = distances[j] - nearest;
        const bool is_itself = own_rows && lists.indices[i * k + j] == static_cast<std::int32_t>(i);
        made[i * k + j] = is_itself ? 0 : beyond <= 0 || width == 0 ? 1 : std::exp(-beyond / width);
      }
    }
  });
  return made;
}

NearnessCurve nearness_curve(double spread, double min_dist) {
  constexpr int kPoints = 300, kMostSteps = 500;
  const auto residuals = [&](const NearnessCurve& curve, std::array<double, 5>* normal) {
    double squares = 0;   // normal: the sums of a'a, a'b, b'b, a'r, b'r over the derivatives and the residual
    for (int i = 0; i < kPoints; ++i) {
      const double x = 3 * spread * i / (kPoints - 1), wanted = x < min_dist ? 1 : std::exp(-(x - min_dist) / spread);
      const double power = x > 0 ? std::pow(x, 2 * curve.b) : 0, value = 1 / (1 + curve.a * power),
                   left = wanted - value;
      squares += left * left;
      if (!normal) continue;
      const double by_a = -power * value * value, by_b = x > 0 ? by_a * curve.a * 2 * std::log(x) : 0;
      const std::array<double, 5> terms{by_a * by_a, by_a * by_b, by_b * by_b, by_a * left, by_b * left};
      for (std::size_t t = 0; t < terms.size(); ++t) (*normal)[t] += terms[t];
    }
    return squares;
  };
  NearnessCurve best{1, 1};
  double least = residuals(best, nullptr), damping = 1e-3;
  for (int step = 0; step < kMostSteps && damping < 1e12; ++step) {
    std::array<double, 5> m{};
    residuals(best, &m);
    const double aa = m[0] * (1 + damping), bb = m[2] * (1 + damping), determinant = aa * bb - m[1] * m[1];
    const NearnessCurve next{best.a + (m[3] * bb - m[4] * m[1]) / determinant,
                             best.b + (m[4] * aa - m[3] * m[1]) / determinant};
    const double squares =
        next.a > 0 && next.b > 0 ? residuals(next, nullptr) : std::numeric_limits<double>::infinity();
    if (!(squares < least)) {
      damping *= 10;
      continue;
    }
    const bool is_settled = least - squares <= 1e-15 * least;
    best = next, least = squares, damping /= 10;
    if (is_settled) break;
  }
  return best;
}

}   // namespace kedge::engine
