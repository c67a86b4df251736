// Parity of the trees over rows that a device finds itself: to the bit, as their distances are summed in one order.
#include "tests/parity/merge_rows.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "engine/backend/ops/spanning_tree.h"
#include "engine/backend/ops/ward_merges.h"

namespace kedge::parity {
namespace {

using engine::Distance;
using engine::Metric;

constexpr double kExact = 0;

// Rows of which no two are as far apart as two others, in all likelihood.
Table scattered(std::int64_t rows, std::int64_t cols) {
  Table table(rows, cols);
  engine::PhiloxStream random(17, 0);
  for (double& v : table.values) v = random.uniform();
  return table;
}

double reduced(const Table& X, std::int64_t i, std::int64_t j, const Distance& distance) {
  return engine::with_metric(distance.metric, [&]<Metric M>() {
    return engine::short_distance<M>(X.values.data() + i * X.cols, X.values.data() + j * X.cols, X.cols,
                                     distance.power);
  });
}

using Edge = std::tuple<double, double, std::int64_t, std::int64_t>;   // length, distance, rows

// Kruskal's algorithm over all edges.
std::vector<Edge> plain_tree(const Table& X, const Distance& distance, const std::vector<double>& reach) {
  std::vector<Edge> all, tree;
  for (std::int64_t i = 0; i < X.rows; ++i)
    for (std::int64_t j = i + 1; j < X.rows; ++j) {
      const double between = reduced(X, i, j, distance);
      const auto at = [&](std::int64_t row) { return reach.empty() ? 0 : reach[static_cast<std::size_t>(row)]; };
      all.emplace_back(std::max({between, at(i), at(j)}), between, i, j);
    }
  std::ranges::sort(all);
  std::vector<std::int64_t> part(static_cast<std::size_t>(X.rows));
  std::iota(part.begin(), part.end(), std::int64_t{0});
  for (const Edge& edge : all) {
    const std::int64_t a = part[static_cast<std::size_t>(std::get<2>(edge))],
                       b = part[static_cast<std::size_t>(std::get<3>(edge))];
    if (a == b) continue;
    tree.push_back(edge);
    std::ranges::replace(part, b, a);
  }
  return tree;
}

template <class T>
void check_spanning_edges(Probe<T>& probe) {
  auto* const ops = engine::spanning_tree_ops(*probe.ops().distances);
  if (!ops) return;   // a device that leaves it to the host
  const Table X = scattered(probe.shape().rows, probe.shape().cols);
  const Padded<double> points(probe.memory(), X);
  const std::vector<double> weights = probe.weights(X.rows);
  for (const Distance& distance :
       {Distance{}, Distance{Metric::kManhattan}, Distance{Metric::kChebyshev}, Distance{Metric::kMinkowski, 3}})
    for (const std::vector<double>& reach : {std::vector<double>{}, weights}) {
      const auto found = ops->spanning_edges(points.view(), distance, probe.upload(reach).view(), [](std::int64_t) {});
      ASSERT_TRUE(found.has_value());
      std::vector<Edge> edges;
      for (const engine::SpanningEdge& one : *found) edges.emplace_back(one.length, one.between, one.a, one.b);
      std::ranges::sort(edges);
      EXPECT_TRUE(edges == plain_tree(X, distance, reach)) << "metric " << static_cast<int>(distance.metric);
    }
}

using Gap = std::tuple<double, std::int64_t, std::int64_t>;

// The least gap of all, again and again.
std::vector<Gap> plain_merges(Table X) {
  std::vector<double> sizes(static_cast<std::size_t>(X.rows), 1.0);
  std::vector<Gap> merges;
  for (std::int64_t left = X.rows; left > 1; --left) {
    Gap least{std::numeric_limits<double>::infinity(), 0, 0};
    for (std::int64_t i = 0; i < X.rows; ++i)
      for (std::int64_t j = i + 1; j < X.rows; ++j) {
        const double a = sizes[static_cast<std::size_t>(i)], b = sizes[static_cast<std::size_t>(j)];
        if (a > 0 && b > 0) least = std::min(least, Gap{reduced(X, i, j, {}) * (2 * a * b / (a + b)), i, j});
      }
    merges.push_back(least);
    const auto [gap, i, j] = least;
    double &to = sizes[static_cast<std::size_t>(i)], &from = sizes[static_cast<std::size_t>(j)];
    for (std::int64_t c = 0; c < X.cols; ++c) X.at(i, c) += (X.at(j, c) - X.at(i, c)) * (from / (to + from));
    to += from, from = 0;
  }
  return merges;
}

template <class T>
void check_ward(Probe<T>& probe) {
  auto* const ops = engine::ward_ops(*probe.ops().distances);
  if (!ops) return;
  const Table X = scattered(probe.shape().rows, probe.shape().cols);
  const Matrix<double> points(probe.memory(), X.rows, X.cols, X.values);
  const auto found = ops->ward_merges(points.view(), [](std::int64_t) {});
  ASSERT_TRUE(found.has_value());
  std::vector<Gap> merges;
  for (const engine::WardMerge& one : *found) merges.emplace_back(one.gap, one.a, one.b);
  std::ranges::sort(merges);
  EXPECT_TRUE(merges == plain_merges(X));
}

// Equal rows leave a choice, which is the caller's; one row has no tree.
template <class T>
void check_left_to_host(Probe<T>& probe) {
  auto* const spanning = engine::spanning_tree_ops(*probe.ops().distances);
  if (!spanning) return;
  auto* const ward = engine::ward_ops(*probe.ops().distances);
  const auto pause = [](std::int64_t) {};
  for (const std::int64_t n : {1, 70}) {
    Matrix<double> equal(probe.memory(), n, 3);
    equal.zero();
    EXPECT_FALSE(spanning->spanning_edges(equal.view(), {}, {}, pause).has_value());
    EXPECT_FALSE(ward->ward_merges(equal.view(), pause).has_value());
  }
  const Matrix<double> two(probe.memory(), 2, 1, std::vector<double>{0, 1});
  EXPECT_FALSE(spanning->spanning_edges(two.view(), {Metric::kMinkowski, 1.5}, {}, pause).has_value());
}

}   // namespace

template <class T>
std::vector<Row<T>> merge_rows() {
  const std::vector<Shape> shapes{{2, 1, 0}, {9, 3, 0}, {64, 16, 0}, {130, 17, 0}};
  return {{"spanning_edges", kExact, &check_spanning_edges<T>, shapes},
          {"ward_merges", kExact, &check_ward<T>, shapes},
          {"merges_left_to_host", kExact, &check_left_to_host<T>, {{1, 1, 1}}}};
}

template std::vector<Row<float>> merge_rows();
template std::vector<Row<double>> merge_rows();

}   // namespace kedge::parity
