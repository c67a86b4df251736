// Trees of few levels as the device walks them: each filled up to the same number of levels, so that a step needs
// neither links nor the question whether a leaf is reached.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/cuda/trees/packed_trees.h"
#include "engine/core/array.h"
#include "engine/core/portability.h"

namespace kedge::engine {

// 8 or 16 bytes. Values up to `cut` go left; NaN goes where the lowest bit says. The cells of a block lie column after
// column, and the node knows where its column begins.
template <class Cell>
struct alignas(2 * sizeof(Cell)) ShallowNode {
  Cell cut;
  std::uint32_t packed;

  KEDGE_HD std::uint32_t column_begin() const { return packed >> 1; }
  KEDGE_HD bool goes_left(Cell value) const { return value != value ? (packed & 1U) != 0 : value <= cut; }
};

// What kernels read. The children of node i of a tree are 2 i and 2 i + 1, its root is 1; nodes from 2^n_levels on are
// leaves, in an array of their own.
template <class Cell, class Sum>
struct ShallowView {
  const ShallowNode<Cell>* nodes;   // n_trees x 2^n_levels
  const Sum* leaves;                // as many
  std::int32_t n_levels;
  std::int32_t n_together;   // trees that a block holds at once
};

// A copy of packed trees in that form, on the device, for cells of the node's type.
template <class Node, class Sum>
class ShallowTrees {
 public:
  using Cell = typename Node::Cell;
  // Packed trees on the host; `leaves` are used where sums are wider than cells.
  struct Packed {
    std::span<const Node> nodes;
    std::span<const std::int64_t> root;   // n_trees + 1
    std::span<const Sum> leaves;
    NodeLinks links;
  };
  // Null where a node asks more than for a cut, where trees have more than 8 levels, or so different numbers of levels
  // that filling them up makes more than four times the nodes. O(nodes); waits for the upload.
  static std::unique_ptr<ShallowTrees> of(CudaRuntime& runtime, const Packed& trees);

  ShallowView<Cell, Sum> view() const;
  const BlockPlan& plan() const { return plan_; }   // its cache_nodes are trees

 private:
  std::int32_t n_levels_ = 1;
  BlockPlan plan_;
  Array<ShallowNode<Cell>> nodes_;
  Array<Sum> leaves_;
};

}   // namespace kedge::engine
