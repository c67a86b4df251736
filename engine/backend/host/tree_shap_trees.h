// Trees in the order of their walks by quadrature, as all devices have them (tree_shap.cc says how a walk counts), and
// what a cut changes. For the files of tree_shap alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/backend/ops/tree_shap.h"
#include "engine/core/portability.h"

namespace kedge::engine::shap {

inline constexpr int kMostPoints = 32;   // exact for 64 different columns on a path
inline constexpr int kMostValues = 4;    // of a leaf that are added up in one walk

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
  std::int32_t slot = -1;      // of the feature among Tree::columns
  std::int32_t depth = 0;
  std::int32_t before_depth = -1;   // of the nearest node above that has the same feature; -1: none
  bool is_left = false, is_leaf = false;
  double share = 1, before_share = 1;   // z, of all cuts by the feature up to here, and without this one
};

struct Tree {
  std::vector<Node> nodes;
  int n_points = 1;
  std::int32_t depth = 0;
  std::vector<std::int32_t> columns;   // that its cuts are by, ascending
  std::vector<double> expected;        // by value of a leaf
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

// What a cut changes at one point: the product of the factors is multiplied by a ratio, and slope is what (o - z) / f
// grows by. Where an earlier cut by the feature had lost the row, the ratio is share / before_share and the slope 0.
struct PointChange {
  double follows_ratio, leaves_ratio, follows_slope, leaves_slope;
};

// z: the share; y: that before, where the path was cut by the feature before; t: the point; rest: 1 - t.
KEDGE_HD_INLINE PointChange point_change(double z, double y, bool repeats, double t, double rest) {
  const double out = z * rest, in = out + t;
  if (!repeats) return {in, out, (1 - z) / in, -1 / rest};
  const double before = y * rest + t, earlier = (1 - y) / before;
  return {in / before, out / before, (1 - z) / in - earlier, -1 / rest - earlier};
}

}   // namespace kedge::engine::shap
