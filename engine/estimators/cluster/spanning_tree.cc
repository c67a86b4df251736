// Prim's algorithm over rows that are not yet in the tree, a block of them at a time; or over the edges of the tree
// that a device, or a k-d tree, has found.
#include "engine/estimators/cluster/spanning_tree.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>

#include "engine/backend/host/step_team.h"
#include "engine/backend/kd_search.h"
#include "engine/backend/ops/spanning_tree.h"
#include "engine/backend/simd.h"
#include "engine/estimators/cluster/joined_parts.h"
#include "engine/estimators/cluster/point_lanes.h"

namespace kedge::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The best edge from the tree to each place.
struct Candidates {
  std::vector<double> reach, length, between;
  std::vector<std::int64_t> from, row;   // rows

  Candidates(std::int64_t n, std::span<const double> reached)
      : reach(reached.begin(), reached.end()), length(static_cast<std::size_t>(n), kInfinity), between(length),
        from(static_cast<std::size_t>(n)), row(static_cast<std::size_t>(n)) {
    reach.resize(static_cast<std::size_t>(n), 0.0);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::int64_t>(i);
  }
  void remove(std::size_t place) {
    for (auto* const values : {&reach, &length, &between}) (*values)[place] = values->back(), values->pop_back();
    for (auto* const values : {&from, &row}) (*values)[place] = values->back(), values->pop_back();
  }
};

// Takes the edges from row `own`, of this reach, where they are better; pair: its distances.
KEDGE_CLONES void improve(const double* __restrict pair, const double* __restrict reach, double own_reach,
                          std::int64_t own, std::int64_t n, double* __restrict length, double* __restrict between,
                          std::int64_t* __restrict from) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double reached = reach[i] > own_reach ? reach[i] : own_reach;
    const double made = pair[i] > reached ? pair[i] : reached;
    const bool is_better = (made < length[i]) | ((made == length[i]) & ((pair[i] < between[i]) |
                                                 ((pair[i] == between[i]) & (own < from[i]))));
    length[i] = is_better ? made : length[i];
    between[i] = is_better ? pair[i] : between[i];
    from[i] = is_better ? own : from[i];
  }
}

class Prim {
 public:
  Prim(const std::vector<double>& rows, std::int64_t n, std::int64_t dims, const Distance& distance,
       std::span<const double> reach, StepTeam& team)
      : distance_(distance),
        team_(team),
        points_(rows, n, dims),
        best_(n, reach),
        found_(static_cast<std::size_t>((n + PointLanes::kBlock - 1) / PointLanes::kBlock)) {
    take(0);
  }

  // The next edge; there must be rows that are not in the tree.
  TreeEdge next() {
    constexpr std::int64_t kAlone = 50'000;   // coordinates that one thread takes
    const std::int64_t size = points_.size(), blocks = (size + PointLanes::kBlock - 1) / PointLanes::kBlock;
    const auto join = [&](std::int64_t block, int) {
      const std::int64_t begin = block * PointLanes::kBlock;
      found_[static_cast<std::size_t>(block)] = join_block(begin, std::min(size - begin, PointLanes::kBlock));
    };
    if (size * (points_.dims() + 4) >= kAlone) team_.run(blocks, join);
    else
      for (std::int64_t block = 0; block < blocks; ++block) join(block, 0);
    const Found least = *std::min_element(found_.begin(), found_.begin() + blocks);
    const auto place = static_cast<std::size_t>(std::get<4>(least));
    const TreeEdge edge{static_cast<std::int32_t>(best_.from[place]), static_cast<std::int32_t>(best_.row[place]),
                        std::get<0>(least), std::get<1>(least)};
    take(place);
    return edge;
  }

 private:
  // length, distance, lower row, other row, place
  using Found = std::tuple<double, double, std::int64_t, std::int64_t, std::int64_t>;

  void take(std::size_t place) {
    newest_ = best_.row[place], newest_reach_ = best_.reach[place];
    newest_point_ = points_.point(static_cast<std::int64_t>(place));
    points_.remove(static_cast<std::int64_t>(place)), best_.remove(place);
  }

  // Offers the newest row to a block of places, and returns the best edge to one of them.
  Found join_block(std::int64_t begin, std::int64_t count) {
    std::array<double, PointLanes::kBlock> pair;
    points_.reduced(distance_, newest_point_.data(), begin, count, pair.data());
    double* const length = best_.length.data() + begin;
    improve(pair.data(), best_.reach.data() + begin, newest_reach_, newest_, count, length,
            best_.between.data() + begin, best_.from.data() + begin);
    const double least = least_of(length, count);
    Found found{kInfinity, kInfinity, std::numeric_limits<std::int64_t>::max(), 0, -1};
    for (std::int64_t i = 0; i < count; ++i) {
      if (length[i] != least) continue;
      const auto place = static_cast<std::size_t>(begin + i);
      const auto [lower, other] = std::minmax(best_.row[place], best_.from[place]);
      found = std::min(found, Found{least, best_.between[place], lower, other, begin + i});
    }
    return found;
  }

  Distance distance_;
  StepTeam& team_;
  PointLanes points_;
  Candidates best_;
  std::vector<Found> found_;   // of each block
  std::int64_t newest_ = 0;
  double newest_reach_ = 0;
  std::vector<double> newest_point_;
};

// The edges of a tree in the order, and with the ends, in which Prim's algorithm takes them from row 0 on.
std::vector<TreeEdge> in_order_of_prim(const std::vector<SpanningEdge>& tree, std::int64_t n) {
  std::vector<std::size_t> first(static_cast<std::size_t>(n) + 1), at(2 * tree.size());   // edges at each row
  for (const SpanningEdge& edge : tree)
    ++first[static_cast<std::size_t>(edge.a)], ++first[static_cast<std::size_t>(edge.b)];
  std::size_t sum = 0;
  for (std::size_t& one : first) one = (sum += one);
  for (std::size_t e = 0; e < tree.size(); ++e)
    for (const std::int32_t row : {tree[e].a, tree[e].b}) at[--first[static_cast<std::size_t>(row)]] = e;
  // length, distance, lower row, other row, edge, whether it leads to the lower row
  using Open = std::tuple<double, double, std::int32_t, std::int32_t, std::size_t, bool>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  std::vector<TreeEdge> ordered;
  ordered.reserve(tree.size());
  const auto take = [&](std::int32_t row, std::size_t by) {
    for (std::size_t i = first[static_cast<std::size_t>(row)]; i < first[static_cast<std::size_t>(row) + 1]; ++i) {
      const SpanningEdge& edge = tree[at[i]];
      if (at[i] != by) open.emplace(edge.length, edge.between, edge.a, edge.b, at[i], edge.b == row);
    }
  };
  take(0, tree.size());
  while (!open.empty()) {
    const auto [length, between, a, b, edge, is_to_lower] = open.top();
    open.pop();
    ordered.push_back({is_to_lower ? b : a, is_to_lower ? a : b, length, between});
    take(ordered.back().b, edge);
  }
  return ordered;
}

// Nothing where the device has no such operation, or where equal edges leave it a choice that Prim's order makes.
std::optional<std::vector<TreeEdge>> tree_of_device(const Context& ctx, const std::vector<double>& rows, std::int64_t n,
                                                    std::int64_t dims, const Distance& distance,
                                                    std::span<const double> reach) {
  SpanningTreeOps* const ops = spanning_tree_ops(*ctx.ops<double>().distances);
  if (!ops || dims == 0) return std::nullopt;
  const Matrix<double> points(ctx.memory(), n, dims, rows);
  const Array<double> reached(ctx.memory(), reach);
  const auto pause = [&](std::int64_t edges) {
    ctx.check_stop();
    ctx.progress("joining rows", edges, n - 1, "rows");
  };
  const auto tree = ops->spanning_edges(points.view(), distance, reached.view(), pause);
  if (!tree) return std::nullopt;
  return in_order_of_prim(*tree, n);
}

}   // namespace

std::vector<TreeEdge> spanning_tree(const Context& ctx, const std::vector<double>& rows, std::int64_t n,
                                    std::int64_t dims, const Distance& distance, std::span<const double> reach) {
  constexpr std::int64_t kShown = 1024;   // rows between two looks at the stop token
  if (auto found = tree_of_device(ctx, rows, n, dims, distance, reach)) return *std::move(found);
  if (dims >= 1 && dims <= kKdColumns && n >= kKdFewestPoints)
    return in_order_of_prim(join_parts(ctx, rows, n, dims, distance, reach), n);
  std::vector<TreeEdge> edges;
  edges.reserve(static_cast<std::size_t>(n - 1));
  with_step_team([&](StepTeam& team) {
    Prim prim(rows, n, dims, distance, reach, team);
    while (static_cast<std::int64_t>(edges.size()) < n - 1) {
      if (edges.size() % kShown == 0) {
        ctx.check_stop();
        ctx.progress("joining rows", static_cast<std::int64_t>(edges.size()), n - 1, "rows");
      }
      edges.push_back(prim.next());
    }
  });
  return edges;
}

}   // namespace kedge::engine
