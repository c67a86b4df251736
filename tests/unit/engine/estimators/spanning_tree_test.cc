// The spanning tree by blocks and threads beside Prim's algorithm row by row: the same edges in the same order.
#include "engine/estimators/cluster/spanning_tree.h"

#include <gtest/gtest.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "engine/core/rng.h"
#include "engine/estimators/cluster/point_lanes.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

struct Shape {
  std::int64_t n, dims;
};

// Whole numbers, many of them equal, or any.
std::vector<double> points(const Shape& shape, bool is_grid) {
  std::vector<double> rows;
  PhiloxStream random(3, 0);
  for (std::int64_t i = 0; i < shape.n * shape.dims; ++i) {
    const double x = 6 * random.uniform() + (i / shape.dims % 4 == 0 ? 20 : 0);
    rows.push_back(is_grid ? std::floor(x) : x);
  }
  return rows;
}

using Edge = std::tuple<std::int32_t, std::int32_t, double, double>;

std::vector<Edge> plain_tree(const Shape& shape, const std::vector<double>& rows, const Distance& distance,
                             const std::vector<double>& reach) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto n = static_cast<std::size_t>(shape.n);
  const PointLanes lanes(rows, shape.n, shape.dims);
  using Best = std::tuple<double, double, std::size_t>;   // length, distance, row of the tree
  std::vector<Best> best(n, Best{kInfinity, kInfinity, 0});
  std::vector<bool> is_in(n, false);
  std::vector<Edge> edges;
  std::vector<double> pairs(n);
  const auto reach_of = [&](std::size_t i) { return reach.empty() ? 0 : reach[i]; };
  for (std::size_t newest = 0;;) {
    is_in[newest] = true;
    for (std::int64_t first = 0; first < shape.n; first += PointLanes::kBlock)
      lanes.reduced(distance, rows.data() + static_cast<std::int64_t>(newest) * shape.dims, first,
                    std::min(shape.n - first, PointLanes::kBlock), pairs.data() + first);
    std::tuple<double, double, std::size_t> least{kInfinity, kInfinity, n};
    for (std::size_t i = 0; i < n; ++i) {
      best[i] = std::min(best[i], Best{std::max({pairs[i], reach_of(i), reach_of(newest)}), pairs[i], newest});
      if (!is_in[i]) least = std::min(least, {std::get<0>(best[i]), std::get<1>(best[i]), i});
    }
    const std::size_t row = std::get<2>(least);
    if (row == n) return edges;
    edges.emplace_back(static_cast<std::int32_t>(std::get<2>(best[row])), static_cast<std::int32_t>(row),
                       std::get<0>(least), std::get<1>(least));
    newest = row;
  }
}

// The same edges in the same order, on any number of threads.
void expect_plain_tree(const Shape& shape, const std::vector<double>& rows, const Distance& distance,
                       const std::vector<double>& reach) {
  const std::vector<Edge> wanted = plain_tree(shape, rows, distance, reach);
  const Context ctx{.device = testing::device_named("cpu")};
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    std::vector<Edge> found;
    for (const TreeEdge& edge : spanning_tree(ctx, rows, shape.n, shape.dims, distance, reach))
      found.emplace_back(edge.a, edge.b, edge.length, edge.between);
    EXPECT_TRUE(found == wanted) << static_cast<int>(distance.metric) << ", " << threads << " threads";
  }
  omp_set_num_threads(before);
}

TEST(SpanningTree, IsThatOfPrimWithEveryMetricAndWithTies) {
  const Shape shape{400, 3};
  for (const Distance& distance :
       {Distance{Metric::kEuclidean}, Distance{Metric::kManhattan}, Distance{Metric::kChebyshev},
        Distance{Metric::kMinkowski, 3}, Distance{Metric::kMinkowski, 1.5}})
    for (const bool is_grid : {false, true}) {
      const std::vector<double> rows = points(shape, is_grid);
      std::vector<double> reach;
      for (std::size_t i = 0; i < 400; ++i) reach.push_back(distance.reduced(std::abs(std::round(rows[i]) / 8)));
      expect_plain_tree(shape, rows, distance, {});
      expect_plain_tree(shape, rows, distance, reach);
    }
}

TEST(SpanningTree, IsTheSameWhereThreadsShareAStep) {
  const Shape shape{2700, 16};   // beyond what one thread takes
  expect_plain_tree(shape, points(shape, true), Distance{Metric::kEuclidean}, {});
}

}   // namespace
}   // namespace kedge::engine
