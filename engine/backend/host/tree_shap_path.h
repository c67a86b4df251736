// Trees as a walk by quadrature reads them, and what it keeps of the path to the node at work (tree_shap.cc says how it
// counts). For the files of tree_shap alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/backend/host/tree_shap.h"

namespace kedge::engine::shap {

inline constexpr int kRows = static_cast<int>(kShapLanes);
inline constexpr int kMostPoints = 32;   // exact for 64 different columns on a path
inline constexpr int kMostValues = 4;    // of a leaf that are added up in one walk

// Eight rows; they lie at any address. GCC makes no vectors of the choices below by itself.
using Lanes [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = double;
inline constexpr int kWidth = 8;
inline __attribute__((always_inline)) const Lanes& lanes_at(const double* cells) {
  return *reinterpret_cast<const Lanes*>(cells);
}
inline __attribute__((always_inline)) Lanes& lanes_at(double* cells) {
  return *reinterpret_cast<Lanes*>(cells);
}

// Gauss's points and weights on [0, 1].
struct Quadrature {
  std::vector<double> points, rests, weights;   // t, 1 - t

  explicit Quadrature(int n);
};

// A node in depth-first order, the left child behind its parent.
struct Node {
  std::int32_t from = 0;       // its place among the nodes of its tree
  std::int32_t cut = -1;       // the place of its parent there
  std::int32_t parent = -1;    // place in this order
  std::int32_t feature = -1;   // that the parent is cut by
  std::int32_t depth = 0;
  std::int32_t before_depth = -1;   // of the nearest node above that has the same feature; -1: none
  bool is_left = false, is_leaf = false;
  double share = 1, before_share = 1;   // z, of all cuts by the feature up to here, and without this one
};

struct Tree {
  std::vector<Node> nodes;
  int n_points = 1;
  std::int32_t depth = 0;
  std::vector<double> expected;   // by value of a leaf
};

// The trees in the order of their walks, each with its points. Borrows the trees.
class BuiltTrees {
 public:
  // O(nodes * depth), on all threads. Errors: kModelCorrupt for a node with two parents; kInvalidValue for a tree of
  // more than 1,024 levels.
  explicit BuiltTrees(const ShapTrees& trees);
  const Tree& tree(std::int64_t t) const { return built_[static_cast<std::size_t>(t)]; }
  const Quadrature& rule(const Tree& tree) const { return *rules_[static_cast<std::size_t>(tree.n_points)]; }

 private:
  std::vector<Tree> built_;
  std::array<std::optional<Quadrature>, kMostPoints + 1> rules_;   // by points
};

// What a cut changes at each point: the product of the factors is multiplied by a ratio, and slope is what
// (o - z) / f grows by. Where an earlier cut by the feature had lost the row, the ratio is one number and the slope 0.
struct Change {
  double follows_ratio[kMostPoints], leaves_ratio[kMostPoints];
  double follows_slope[kMostPoints], leaves_slope[kMostPoints];
  double lost_ratio = 1;
};

inline __attribute__((always_inline)) void set_change(const Node& node, const Quadrature& rule, int n_points,
                                                      Change& change) {
  const double z = node.share, y = node.before_share;
  const double *const t = rule.points.data(), *const rest = rule.rests.data();
  change.lost_ratio = z / y;
  if (node.before_depth < 0) {
    for (int q = 0; q < n_points; ++q) {
      const double out = z * rest[q], in = out + t[q];
      change.follows_ratio[q] = in, change.leaves_ratio[q] = out;
      change.follows_slope[q] = (1 - z) / in, change.leaves_slope[q] = -1 / rest[q];
    }
    return;
  }
  for (int q = 0; q < n_points; ++q) {
    const double out = z * rest[q], in = out + t[q], before = y * rest[q] + t[q], earlier = (1 - y) / before;
    change.follows_ratio[q] = in / before, change.leaves_ratio[q] = out / before;
    change.follows_slope[q] = (1 - z) / in - earlier, change.leaves_slope[q] = -1 / rest[q] - earlier;
  }
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

}   // namespace kedge::engine::shap
