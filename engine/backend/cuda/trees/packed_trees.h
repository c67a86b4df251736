// Trees as the device walks them: small nodes, breadth first, children side by side.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/ops/trees.h"
#include "engine/core/array.h"
#include "engine/core/portability.h"

namespace kedge::engine {

// Where nodes of one forest have their column and their left child, which counts from the root of the tree; the right
// one is behind it.
struct NodeLinks {
  std::int32_t column_bits = 0;
  std::uint32_t leaf = 0;   // the column of leaves: the forest's number of columns
};

// 8 bytes: a child and a column share 32 bits. Values up to `cut` go left; the cut of a leaf is its number.
struct alignas(8) NarrowTreeNode {
  using Cell = float;
  float cut;
  std::uint32_t packed;

  KEDGE_HD std::uint32_t column(NodeLinks links) const { return packed & ((1U << links.column_bits) - 1); }
  KEDGE_HD std::uint32_t left(NodeLinks links) const { return packed >> links.column_bits; }
  KEDGE_HD std::uint32_t number() const { return std::bit_cast<std::uint32_t>(cut); }
  KEDGE_HD static NarrowTreeNode make(float cut, std::uint32_t left, std::uint32_t column, NodeLinks links) {
    return {cut, left << links.column_bits | column};
  }
  KEDGE_HD static NarrowTreeNode make_leaf(std::uint32_t number, NodeLinks links) {
    return {std::bit_cast<float>(number), links.leaf};
  }
  static bool fits(std::int64_t most_nodes, NodeLinks links) {
    return links.column_bits < 31 && most_nodes <= std::int64_t{1} << (32 - links.column_bits);
  }
};

// 16 bytes: for cuts of double precision, and trees that are too large for the small ones.
struct alignas(16) WideTreeNode {
  using Cell = double;
  double cut;
  std::uint32_t left_child, column_read;

  KEDGE_HD std::uint32_t column(NodeLinks) const { return column_read; }
  KEDGE_HD std::uint32_t left(NodeLinks) const { return left_child; }
  KEDGE_HD std::uint32_t number() const { return left_child; }
  static WideTreeNode make(double cut, std::uint32_t left, std::uint32_t column, NodeLinks) {
    return {cut, left, column};
  }
  static WideTreeNode make_leaf(std::uint32_t number, NodeLinks links) { return {0, number, links.leaf}; }
  static bool fits(std::int64_t, NodeLinks) { return true; }
};

// Trees that a block of threads goes through together: its shared memory holds the first n_cached nodes from `begin`
// on, which are all of them, or the first levels of one tree.
struct TreeGroup {
  std::int32_t first, last;   // trees
  std::int64_t begin, n_cached;
};

// What kernels read.
template <class Node>
struct PackedView {
  const Node* nodes;
  const std::int64_t* root;   // by tree
  const TreeGroup* groups;
  const double* values;   // of leaves, a row of n_outputs numbers each
  std::int64_t n_trees;
  std::int32_t n_groups, n_classes, n_outputs;
  NodeLinks links;
};

// How a block that takes many rows uses its shared memory.
struct BlockPlan {
  int threads = 0;   // and rows; 0: rows are too wide
  bool shares_sums = false;
  std::int64_t cache_nodes = 0;
  std::size_t shared_bytes = 0;
};

NodeLinks links_of(const Forest& forest);

// Two blocks a multiprocessor, each with its rows, their sums if there is room for them, and the nodes of some trees.
BlockPlan plan_blocks(const CudaRuntime& runtime, std::int64_t row_bytes, std::int64_t sum_bytes,
                      std::int64_t node_bytes, std::int64_t n_nodes);
// tree_offset: n_trees + 1.
std::vector<TreeGroup> group_trees(std::span<const std::int64_t> tree_offset, std::int64_t cache_nodes);

// A forest packed and uploaded. The number of a leaf of one class is the class; of others n_classes and a row of
// values.
template <class Node>
class PackedTrees {
 public:
  // by_bins: cuts are bins. O(nodes) on several threads; waits for the upload.
  PackedTrees(CudaRuntime& runtime, const Forest& forest, bool by_bins);
  // Packed already, by bins. head: the forest, of which nodes are not read; values: a row for each node, borrowed.
  PackedTrees(CudaRuntime& runtime, const Forest& head, Array<Node> nodes, const double* values);
  static bool fits(const Forest& forest);

  PackedView<Node> view() const;
  const BlockPlan& plan() const { return plan_; }

 private:
  void upload_trees(CudaRuntime& runtime, const Forest& forest);

  NodeLinks links_;
  BlockPlan plan_;
  Array<Node> nodes_;
  Array<std::int64_t> root_;
  Array<TreeGroup> groups_;
  Array<double> values_;
  const double* values_there_ = nullptr;   // where they are not its own
  std::int32_t n_classes_ = 0, n_outputs_ = 1;
};

}   // namespace kedge::engine
