// The spanning tree by blocks and threads beside Prim's algorithm row by row: the same edges in the same order.
#include "engine/estimators/cluster/spanning_tree.h"

#include <gtest/gtest.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stop_token>
#include <tuple>

#include "engine/backend/kd_search.h"
#include "engine/backend/ops/spanning_tree.h"
#include "engine/backend/ops/ward_merges.h"
#include "engine/core/rng.h"
#include "engine/estimators/cluster/joined_parts.h"
#include "engine/estimators/cluster/linkage.h"
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
    std::tuple<double, double, std::size_t, std::size_t, std::size_t> least{kInfinity, kInfinity, n, n, n};
    for (std::size_t i = 0; i < n; ++i) {
      best[i] = std::min(best[i], Best{std::max({pairs[i], reach_of(i), reach_of(newest)}), pairs[i], newest});
      const auto& [length, between, from] = best[i];
      if (!is_in[i]) least = std::min(least, {length, between, std::min(i, from), std::max(i, from), i});
    }
    const std::size_t row = std::get<4>(least);
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

// Two groups far from each other, from one column to as many as a k-d tree takes, one row more than leaves hold; with
// reaches that make many lengths equal, and with rows that occur twice.
TEST(SpanningTree, IsThatOfPrimWherePartsAreJoined) {
  for (const Shape& shape : {Shape{257, 1}, Shape{1000, 2}, Shape{3000, 5}, Shape{700, kKdColumns}})
    for (const Distance& distance : {Distance{Metric::kEuclidean}, Distance{Metric::kMinkowski, 1.5}}) {
      std::vector<double> rows = points(shape, false);
      std::copy_n(rows.begin(), 20 * shape.dims, rows.end() - 20 * shape.dims);
      std::vector<double> reach;
      for (std::int64_t i = 0; i < shape.n; ++i)
        reach.push_back(distance.reduced(std::round(std::abs(rows[static_cast<std::size_t>(i)])) / 4));
      const Context ctx{.device = testing::device_named("cpu")};
      for (const std::vector<double>& reached : {std::vector<double>{}, reach}) {
        EXPECT_EQ(std::ssize(join_parts(ctx, rows, shape.n, shape.dims, distance, reached)), shape.n - 1);
        expect_plain_tree(shape, rows, distance, reached);
      }
    }
}

TEST(SpanningTree, IsThatOfTheLowerRowsWhereEdgesAreEqual) {
  const Shape shape{300, 2};
  expect_plain_tree(shape, points(shape, true), {}, {});
  expect_plain_tree(shape, std::vector<double>(600, 7.0), {}, {});
  std::vector<double> far = points(shape, false);
  for (double& x : far) x *= 1e200;   // squares overflow
  expect_plain_tree(shape, far, {}, {});
}

TEST(SpanningTree, StopsWhereTheJobDoes) {
  const Shape shape{300, 2};
  std::stop_source stop;
  stop.request_stop();
  const Context ctx{.device = testing::device_named("cpu"), .stop = stop.get_token()};
  EXPECT_THROW(join_parts(ctx, points(shape, false), shape.n, shape.dims, {}, {}), schema::Error);
}

std::vector<Edge> tree_on(const std::string& device, const Shape& shape, const std::vector<double>& rows,
                          const Distance& distance, const std::vector<double>& reach) {
  std::vector<Edge> found;
  const Context ctx{.device = testing::device_named(device)};
  for (const TreeEdge& edge : spanning_tree(ctx, rows, shape.n, shape.dims, distance, reach))
    found.emplace_back(edge.a, edge.b, edge.length, edge.between);
  return found;
}

// More columns than a tile has, more rows than a tile, reaches that make many lengths equal; and grids, whose equal
// edges are left to the host, as are powers that are not whole.
TEST(SpanningTree, HasTheSameEdgesInTheSameOrderOnAGpu) {
  for (const Shape& shape : {Shape{2, 1}, Shape{64, 3}, Shape{150, 20}, Shape{80, 33}})
    for (const Distance& distance :
         {Distance{Metric::kEuclidean}, Distance{Metric::kManhattan}, Distance{Metric::kChebyshev},
          Distance{Metric::kMinkowski, 3}, Distance{Metric::kMinkowski, 1.5}})
      for (const bool is_grid : {false, true}) {
        const std::vector<double> rows = points(shape, is_grid);
        std::vector<double> reach;
        for (std::int64_t i = 0; i < shape.n; ++i)
          reach.push_back(distance.reduced(std::abs(std::round(rows[static_cast<std::size_t>(i)]) / 2)));
        for (const std::vector<double>& reached : {std::vector<double>{}, reach})
          EXPECT_TRUE(tree_on("emulated", shape, rows, distance, reached) ==
                      tree_on("cpu", shape, rows, distance, reached))
              << shape.n << " rows, metric " << static_cast<int>(distance.metric) << ", grid " << is_grid;
      }
}

// Equal edges: the device says so, and finds the tree where there are none.
TEST(SpanningTree, IsFoundByTheGpuWhereItIsTheOnlyOne) {
  const Shape shape{150, 4};
  Device& device = testing::device_named("emulated");
  SpanningTreeOps* const ops = spanning_tree_ops(*device.ops<double>().distances);
  ASSERT_NE(ops, nullptr);
  for (const bool is_grid : {false, true}) {
    const Matrix<double> rows(device.memory(), shape.n, shape.dims, points(shape, is_grid));
    const auto found = ops->spanning_edges(rows.view(), Distance{Metric::kEuclidean}, {}, [](std::int64_t) {});
    EXPECT_EQ(found.has_value(), !is_grid);
    if (found) {
      EXPECT_EQ(std::ssize(*found), shape.n - 1);
    }
  }
  EXPECT_EQ(spanning_tree_ops(*testing::device_named("cpu").ops<double>().distances), nullptr);
}

std::vector<std::tuple<std::int32_t, std::int32_t, double>> ward_on(const std::string& device, const Shape& shape,
                                                                    const std::vector<double>& rows) {
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> merges;
  const Context ctx{.device = testing::device_named(device)};
  for (const Merge& one : linkage_merges(ctx, Linkage::kWard, rows, shape.n, shape.dims, {}, false))
    merges.emplace_back(one.a, one.b, one.height);
  return merges;
}

// Rows in no order merge on the device; those of a grid, some of which are as near to others, on the host.
TEST(WardLinkage, HasTheSameMergesOnAGpu) {
  Device& device = testing::device_named("emulated");
  WardOps* const ops = ward_ops(*device.ops<double>().distances);
  ASSERT_NE(ops, nullptr);
  for (const Shape& shape : {Shape{2, 1}, Shape{65, 3}, Shape{200, 20}})
    for (const bool is_grid : {false, true}) {
      const std::vector<double> rows = points(shape, is_grid);
      EXPECT_TRUE(ward_on("emulated", shape, rows) == ward_on("cpu", shape, rows)) << shape.n << ", grid " << is_grid;
      const Matrix<double> uploaded(device.memory(), shape.n, shape.dims, rows);
      EXPECT_EQ(ops->ward_merges(uploaded.view(), [](std::int64_t) {}).has_value(), shape.n == 2 || !is_grid);
    }
}

TEST(SpanningTree, IsTheSameWhereThreadsShareAStep) {
  const Shape shape{2700, 16};   // beyond what one thread takes
  expect_plain_tree(shape, points(shape, true), Distance{Metric::kEuclidean}, {});
}

}   // namespace
}   // namespace kedge::engine
