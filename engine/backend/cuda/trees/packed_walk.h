// Trees of boosting and of other programs as the device walks them: small nodes, breadth first, children side by side,
// the trees of an output together.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/cuda/trees/packed_trees.h"
#include "engine/backend/cuda/trees/shallow_trees.h"
#include "engine/backend/ops/tree_walk.h"
#include "engine/core/array.h"
#include "engine/core/portability.h"

namespace kedge::engine {

// How a node asks. Missing values go where its lowest bit says.
enum class WalkKind : std::uint32_t { kCut, kSet, kEqual, kZeroMissing };

// 8 bytes: a child, a column, the kind and the side of missing values share 32 bits. Values up to `cut` go left; the
// cut of a set is its number; that of a leaf its value, or, where sums are wider than cells, its place among the
// leaves.
struct alignas(8) NarrowWalkNode {
  using Cell = float;
  float cut;
  std::uint32_t packed;

  KEDGE_HD bool is_missing_left() const { return (packed & 1U) != 0; }
  KEDGE_HD WalkKind kind() const { return static_cast<WalkKind>(packed >> 1 & 3U); }
  KEDGE_HD std::uint32_t column(NodeLinks links) const { return packed >> 3 & ((1U << links.column_bits) - 1); }
  KEDGE_HD std::uint32_t left(NodeLinks links) const { return packed >> (3 + links.column_bits); }
  KEDGE_HD std::uint32_t number() const { return std::bit_cast<std::uint32_t>(cut); }
  static float numbered(std::uint32_t number) { return std::bit_cast<float>(number); }
  static NarrowWalkNode make(float cut, std::uint32_t left, std::uint32_t column, std::uint32_t rule, NodeLinks links) {
    return {cut, (left << links.column_bits | column) << 3 | rule};
  }
  static bool fits(std::int64_t most_nodes, NodeLinks links) {
    return links.column_bits < 28 && most_nodes <= std::int64_t{1} << (29 - links.column_bits);
  }
};

// 16 bytes: for cells of double precision, and trees that are too large for the small ones.
struct alignas(16) WideWalkNode {
  using Cell = double;
  double cut;
  std::uint32_t left_child, packed;

  KEDGE_HD bool is_missing_left() const { return (packed & 1U) != 0; }
  KEDGE_HD WalkKind kind() const { return static_cast<WalkKind>(packed >> 1 & 3U); }
  KEDGE_HD std::uint32_t column(NodeLinks) const { return packed >> 3; }
  KEDGE_HD std::uint32_t left(NodeLinks) const { return left_child; }
  KEDGE_HD std::uint32_t number() const { return static_cast<std::uint32_t>(cut); }
  static double numbered(std::uint32_t number) { return number; }
  static WideWalkNode make(double cut, std::uint32_t left, std::uint32_t column, std::uint32_t rule, NodeLinks) {
    return {cut, left, column << 3 | rule};
  }
  static bool fits(std::int64_t, NodeLinks links) { return links.column_bits <= 29; }
};

// What kernels read.
template <class Node, class Sum>
struct WalkView {
  const Node* nodes;
  const std::int64_t* root;           // by tree
  const std::int32_t* output_begin;   // n_outputs + 1: the trees of an output
  const Sum* base;
  const Sum* leaves;   // where sums are wider than cells
  const TreeGroup* groups;
  const std::int64_t* set_offset;
  const std::uint32_t* set_words;
  std::int64_t n_trees;
  std::int32_t n_groups, n_outputs;
  Sum divisor;
  NodeLinks links;
  bool is_float32;   // how sets read their cells
};

// Trees packed and uploaded for cells of the node's type and sums of type Sum.
template <class Node, class Sum>
class PackedWalk {
 public:
  // O(nodes) on several threads; waits for the upload.
  PackedWalk(CudaRuntime& runtime, const WalkTrees& trees);
  static bool fits(const WalkTrees& trees);

  WalkView<Node, Sum> view() const;
  const BlockPlan& plan() const { return plan_; }
  const ShallowTrees<Node, Sum>* shallow() const { return shallow_.get(); }   // null: they are not

 private:
  NodeLinks links_;
  BlockPlan plan_;
  std::unique_ptr<ShallowTrees<Node, Sum>> shallow_;
  Array<Node> nodes_;
  Array<std::int64_t> root_;
  Array<std::int32_t> output_begin_;
  Array<Sum> base_, leaves_;
  Array<TreeGroup> groups_;
  Array<std::int64_t> set_offset_;
  Array<std::uint32_t> set_words_;
  Sum divisor_;
  bool is_float32_;
};

}   // namespace kedge::engine
