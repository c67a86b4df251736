// What a walk by quadrature keeps of the path to the node at work, a block of rows side by side (tree_shap.cc says how
// it counts). For the files of tree_shap alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/backend/host/tree_shap.h"
#include "engine/backend/host/tree_shap_trees.h"
#include "engine/core/stop.h"

namespace kedge::engine::shap {

inline constexpr int kRows = static_cast<int>(kShapLanes);

// Eight rows; they lie at any address. GCC makes no vectors of the choices below by itself.
using Lanes [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = double;
inline constexpr int kWidth = 8;
inline __attribute__((always_inline)) const Lanes& lanes_at(const double* cells) {
  return *reinterpret_cast<const Lanes*>(cells);
}
inline __attribute__((always_inline)) Lanes& lanes_at(double* cells) {
  return *reinterpret_cast<Lanes*>(cells);
}

// PointChange at each point.
struct Change {
  double follows_ratio[kMostPoints], leaves_ratio[kMostPoints];
  double follows_slope[kMostPoints], leaves_slope[kMostPoints];
  double lost_ratio = 1;

  inline __attribute__((always_inline)) void set(int q, const PointChange& change) {
    follows_ratio[q] = change.follows_ratio, leaves_ratio[q] = change.leaves_ratio;
    follows_slope[q] = change.follows_slope, leaves_slope[q] = change.leaves_slope;
  }
};

inline __attribute__((always_inline)) void set_change(const Node& node, const Quadrature& rule, int n_points,
                                                      Change& change) {
  const double z = node.share, y = node.before_share;
  const double *const t = rule.points.data(), *const rest = rule.rests.data();
  change.lost_ratio = z / y;
  if (node.before_depth < 0)
    for (int q = 0; q < n_points; ++q) change.set(q, point_change(z, y, false, t[q], rest[q]));
  else
    for (int q = 0; q < n_points; ++q) change.set(q, point_change(z, y, true, t[q], rest[q]));
}

// What is kept of the path to the node at work, by depth.
class Path {
 public:
  Path(std::int32_t depth, int n_points, std::int32_t n_values, const Quadrature& rule)
      : n_points_(n_points),
        level_(static_cast<std::size_t>(n_points) * kRows),
        product_(static_cast<std::size_t>(depth + 1) * level_),
        sum_(static_cast<std::size_t>((depth + 1) * n_values) * level_),
        follows_(static_cast<std::size_t>((depth + 1) * kRows), 1.0),
        changes_(static_cast<std::size_t>(depth + 1)),
        n_values_(static_cast<std::size_t>(n_values)) {
    for (int q = 0; q < n_points; ++q)
      std::fill_n(product_.begin() + q * kRows, kRows, rule.weights[static_cast<std::size_t>(q)]);
  }
  int n_points() const { return n_points_; }
  // n_points x kRows, at depth 0 the weights of the points.
  double* product(std::int32_t depth) { return product_.data() + static_cast<std::size_t>(depth) * level_; }
  // The same, of value v of the leaves below, times their products.
  double* sum(std::int32_t depth, std::int32_t v) {
    return sum_.data() + (static_cast<std::size_t>(depth) * n_values_ + static_cast<std::size_t>(v)) * level_;
  }
  // kRows: 1 where the row follows the path at all cuts by the feature of the last one, otherwise 0.
  double* follows(std::int32_t depth) { return follows_.data() + static_cast<std::size_t>(depth) * kRows; }
  Change& change(std::int32_t depth) { return changes_[static_cast<std::size_t>(depth)]; }

 private:
  int n_points_;
  std::size_t level_;
  std::vector<double> product_, sum_, follows_;
  std::vector<Change> changes_;
  std::size_t n_values_;
};

// Sets follows and the product of a node.
inline __attribute__((always_inline)) void enter(const Node& node, const Quadrature& rule,
                                                 const std::uint8_t* goes_left, Path& path) {
  const std::uint8_t* const left = goes_left + static_cast<std::int64_t>(node.cut) * kRows;
  const std::uint8_t wanted = node.is_left ? 1 : 0;
  const bool repeats = node.before_depth >= 0;
  const double* const before = path.follows(std::max(node.before_depth, 0));   // at the root all rows do
  double* __restrict const follows = path.follows(node.depth);
  for (int l = 0; l < kRows; ++l) follows[l] = before[l] * static_cast<double>(left[l] == wanted);
  Change& change = path.change(node.depth);
  set_change(node, rule, path.n_points(), change);
  const double* const above = path.product(node.depth - 1);
  double* __restrict const product = path.product(node.depth);
  for (int q = 0; q < path.n_points(); ++q) {
    const double in = change.follows_ratio[q], out = change.leaves_ratio[q], lost = repeats ? change.lost_ratio : out;
    for (int l = 0; l < kRows; l += kWidth) {
      const Lanes none{}, left_out = lanes_at(before + l) != none ? none + out : none + lost;
      const Lanes ratio = lanes_at(follows + l) != none ? none + in : left_out;
      lanes_at(product + q * kRows + l) = lanes_at(above + q * kRows + l) * ratio;
    }
  }
}

// Some values of the leaves of a tree, for a walk by a block of rows.
struct TreePart {
  const Tree& tree;
  const Quadrature& rule;
  const std::uint8_t* goes_left;   // ShapDirections of the tree
  const double* values;            // the first one's, of the tree's first node; `stride` of them a node
  std::int64_t stride;
  std::int64_t first;      // output of the first one
  std::int32_t n_values;   // at most kMostValues
  Path& path;
};

// Sets the sums of a leaf that enter() has seen.
inline __attribute__((always_inline)) void set_leaf(const TreePart& part, const Node& leaf) {
  const double* const product = part.path.product(leaf.depth);
  for (std::int32_t v = 0; v < part.n_values; ++v) {
    const double value = part.values[leaf.from * part.stride + v];
    double* __restrict const sum = part.path.sum(leaf.depth, v);
    for (int k = 0; k < part.path.n_points() * kRows; ++k) sum[k] = value * product[k];
  }
}

// Trees as blocks of rows walk through them. Borrows its arguments.
class BlockWalks {
 public:
  BlockWalks(const ShapTrees& trees, const ShapDirections& directions)
      : trees_(trees), directions_(directions), built_(trees) {}

  // All trees for a block: adds their expected answers to the last of each output's width numbers of sums, kRows each,
  // and hands over the parts of each tree that has cuts. Errors: kCancelled.
  template <class Walk>
  void run(std::int64_t block, std::int64_t width, double* sums, const Walk& walk) const {
    std::vector<std::uint8_t> left;
    for (std::int64_t t = 0; t < trees_.n_trees(); ++t) {
      check_job_stop();
      const Tree& tree = built_.tree(t);
      const std::int64_t k = trees_.leaf_values();
      const std::int64_t output = trees_.tree_output.empty() ? 0 : trees_.tree_output[static_cast<std::size_t>(t)];
      for (std::int64_t v = 0; v < k; ++v)
        for (int l = 0; l < kRows; ++l)
          sums[((output + v + 1) * width - 1) * kRows + l] += tree.expected[static_cast<std::size_t>(v)];
      if (tree.depth > 0) walk_parts(block, t, output, left, walk);
    }
  }

 private:
  template <class Walk>
  void walk_parts(std::int64_t block, std::int64_t t, std::int64_t output, std::vector<std::uint8_t>& left,
                  const Walk& walk) const {
    const Tree& tree = built_.tree(t);
    const std::int64_t begin = trees_.tree_offset[static_cast<std::size_t>(t)],
                       end = trees_.tree_offset[static_cast<std::size_t>(t) + 1], k = trees_.leaf_values();
    left.resize(static_cast<std::size_t>((end - begin) * kRows));
    directions_(block, begin, end, left.data());
    const Quadrature& rule = built_.rule(tree);
    const auto most = static_cast<std::int32_t>(std::min<std::int64_t>(k, kMostValues));
    Path path(tree.depth, tree.n_points, most, rule);
    for (std::int64_t v = 0; v < k; v += most)
      walk(TreePart{.tree = tree,
                    .rule = rule,
                    .goes_left = left.data(),
                    .values = trees_.value.data() + begin * k + v,
                    .stride = k,
                    .first = output + v,
                    .n_values = static_cast<std::int32_t>(std::min<std::int64_t>(most, k - v)),
                    .path = path});
  }

  const ShapTrees& trees_;
  const ShapDirections& directions_;
  const BuiltTrees built_;
};

}   // namespace kedge::engine::shap
