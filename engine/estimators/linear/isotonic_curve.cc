// Pools adjacent violators.
#include "engine/estimators/linear/isotonic_curve.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr std::size_t kBetweenStops = 1 << 16;

struct Point {
  double x = 0;
  std::size_t row = 0;
};

// Ascending by x, rows of the same x in their order; rows that weigh nothing are left out.
std::vector<Point> sorted_points(std::span<const double> x, std::span<const double> weights) {
  std::vector<Point> points;
  points.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (weights.empty() || weights[i] > 0) points.push_back({x[i], i});
  check_job_stop();
  std::ranges::sort(points, [](const Point& a, const Point& b) { return a.x < b.x || (a.x == b.x && a.row < b.row); });
  check_job_stop();
  return points;
}

// Neighbouring points of one height.
struct Block {
  double weight = 0, sum = 0;
  std::size_t points = 0;
  double mean() const { return sum / weight; }
};

// Leaves out what lies between two points of its own height.
void drop_inner_points(IsotonicCurve& curve) {
  std::vector<double>&x = curve.x, &y = curve.y;
  std::size_t kept = 0;
  double before = y[0];   // of the last point, whether it was kept or not
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double height = y[i];
    const bool is_inner = i > 0 && i + 1 < y.size() && height == before && height == y[i + 1];
    before = height;
    if (is_inner) continue;
    x[kept] = x[i], y[kept] = height;
    ++kept;
  }
  x.resize(kept), y.resize(kept);
}

// Doubled ranks, so that mean ranks are whole numbers.
std::vector<double> doubled_ranks(std::span<const double> values) {
  const std::vector<Point> points = sorted_points(values, {});
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < points.size();) {
    std::size_t end = first;
    while (end < points.size() && points[end].x == points[first].x) ++end;
    for (std::size_t i = first; i < end; ++i) ranks[points[i].row] = static_cast<double>(first + end - 1);
    first = end;
  }
  return ranks;
}

}   // namespace

IsotonicCurve IsotonicCurve::fitted(std::span<const double> x, std::span<const double> values,
                                    std::span<const double> weights, const IsotonicLimits& limits) {
  const std::vector<Point> points = sorted_points(x, weights);
  const double sign = limits.increasing ? 1 : -1;
  IsotonicCurve curve;
  std::vector<Block> blocks;   // of distinct x; means times the sign ascend
  std::size_t seen = 0;
  for (std::size_t i = 0; i < points.size();) {
    if (i - seen >= kBetweenStops) check_job_stop(), seen = i;
    Block block{.points = 1};
    const double here = points[i].x;
    for (; i < points.size() && points[i].x == here; ++i) {
      const double weight = weights.empty() ? 1 : weights[points[i].row];
      block.weight += weight, block.sum += weight * values[points[i].row];
    }
    curve.x.push_back(here);
    while (!blocks.empty() && sign * blocks.back().mean() >= sign * block.mean()) {
      const Block& last = blocks.back();
      block.weight += last.weight, block.sum += last.sum, block.points += last.points;
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  curve.y.reserve(curve.x.size());
  for (const Block& block : blocks)
    curve.y.insert(curve.y.end(), block.points, std::min(std::max(block.mean(), limits.low), limits.high));
  drop_inner_points(curve);
  return curve;
}

double IsotonicCurve::at(double score) const {
  const auto above = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), score) - x.begin());
  if (above == 0) return y.front();
  if (above == x.size()) return y.back();
  const double x0 = x[above - 1], x1 = x[above], y0 = y[above - 1], width = x1 - x0;
  if (std::isfinite(width)) return y0 + (score - x0) * ((y[above] - y0) / width);
  return y0 + (score / 2 - x0 / 2) / (x1 / 2 - x0 / 2) * (y[above] - y0);   // the ends are too far apart for a double
}

double rank_correlation(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> a = doubled_ranks(x), b = doubled_ranks(y);
  const double mean = static_cast<double>(x.size()) - 1;   // of ranks 0, 2, 4 ...
  double both = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double u = a[i] - mean, v = b[i] - mean;
    both += u * v, first += u * u, second += v * v;
  }
  return both / (std::sqrt(first) * std::sqrt(second));
}

}   // namespace kedge::engine
