// Packs trees of boosting and of other programs for the device: see packed_walk.h. Host code alone.
#include "engine/backend/cuda/trees/packed_walk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/cuda/trees/trees_device.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

NodeLinks links_of(const WalkTrees& trees) {
  const auto leaf = static_cast<std::uint32_t>(trees.n_cols);
  return {static_cast<std::int32_t>(std::bit_width(leaf)), leaf};
}

// The largest number of the type that is at most, or below, the threshold: cells of the type that go left by the one go
// left by the other. NaN where there is none, which no cell is at most.
template <class Cell>
Cell cut_of(double threshold, bool is_strict) {
  constexpr Cell kLeast = -std::numeric_limits<Cell>::infinity();
  auto near = static_cast<Cell>(threshold);
  if (static_cast<double>(near) > threshold) near = std::nextafter(near, kLeast);
  if (!is_strict || static_cast<double>(near) < threshold) return near;
  return near == kLeast ? std::numeric_limits<Cell>::quiet_NaN() : std::nextafter(near, kLeast);
}

// Trees by their outputs, each output's in their order.
std::vector<std::int32_t> order_of(const WalkTrees& trees, std::vector<std::int32_t>& output_begin) {
  std::vector<std::int32_t> order(trees.tree_output.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t t) { return trees.tree_output[t]; });
  output_begin.assign(static_cast<std::size_t>(trees.n_outputs) + 1, 0);
  for (const std::int32_t output : trees.tree_output) ++output_begin[output + 1];
  std::partial_sum(output_begin.begin(), output_begin.end(), output_begin.begin());
  return order;
}

template <class Node, class Sum>
class WalkPacker {
 public:
  static constexpr bool kListsLeaves = sizeof(Sum) > sizeof(typename Node::Cell);

  WalkPacker(const WalkTrees& trees, NodeLinks links)
      : root{0}, trees_(trees), links_(links), order_(order_of(trees, output_begin)) {
    nodes.resize(trees.feature.size());
    if (kListsLeaves) leaves.resize(trees.feature.size());
    for (const std::int32_t t : order_) root.push_back(root.back() + nodes_of(t));
    parallel_tasks(tree_threads(), static_cast<std::int64_t>(order_.size()), [&](std::int64_t p, int) { pack(p); });
  }

  std::vector<Node> nodes;
  std::vector<std::int64_t> root;
  std::vector<std::int32_t> output_begin;
  std::vector<Sum> leaves;   // by node

 private:
  using Cell = typename Node::Cell;

  std::int64_t nodes_of(std::int32_t t) const { return trees_.tree_offset[t + 1] - trees_.tree_offset[t]; }

  void pack(std::int64_t place) {
    const std::int32_t tree = order_[place];
    const std::int64_t begin = trees_.tree_offset[tree];
    std::vector<std::int32_t> order{0};
    order.reserve(static_cast<std::size_t>(nodes_of(tree)));
    for (std::size_t at = 0; at < order.size(); ++at) {
      const std::int64_t node = begin + order[at], own = root[place] + static_cast<std::int64_t>(at);
      if (trees_.feature[node] < 0) {
        nodes[own] = leaf_of(node, own);
        continue;
      }
      const auto left = static_cast<std::uint32_t>(order.size());
      nodes[own] = inner(node, left);
      const std::int32_t child = trees_.left[node];
      order.push_back(child), order.push_back(child + 1);
    }
  }

  Node leaf_of(std::int64_t node, std::int64_t own) {
    const auto value = static_cast<Sum>(trees_.threshold[node]);
    if constexpr (kListsLeaves) {
      leaves[own] = value;
      return Node::make(Node::numbered(static_cast<std::uint32_t>(own)), 0, links_.leaf, 0, links_);
    } else {
      return Node::make(static_cast<Cell>(value), 0, links_.leaf, 0, links_);
    }
  }

  // The side of NaN is known where it is compared as 0.
  Node inner(std::int64_t node, std::uint32_t left) const {
    const std::uint8_t flags = trees_.flags[node];
    const double threshold =
        trees_.is_float32 ? static_cast<double>(static_cast<float>(trees_.threshold[node])) : trees_.threshold[node];
    const auto column = static_cast<std::uint32_t>(trees_.feature[node]);
    bool is_missing_left = (flags & walk_flag::kMissingLeft) != 0;
    auto kind = WalkKind::kCut;
    Cell cut = cut_of<Cell>(threshold, trees_.is_strict);
    if (flags & walk_flag::kCategory) {
      kind = WalkKind::kSet, cut = Node::numbered(static_cast<std::uint32_t>(trees_.set[node]));
    } else if (flags & walk_flag::kEqual) {
      kind = WalkKind::kEqual, cut = static_cast<Cell>(threshold);
      if (static_cast<double>(cut) != threshold) cut = std::numeric_limits<Cell>::quiet_NaN();
    } else if (flags & walk_flag::kZeroIsMissing) {
      kind = WalkKind::kZeroMissing;
    } else if (flags & walk_flag::kMissingIsZero) {
      is_missing_left = trees_.is_strict ? 0 < threshold : 0 <= threshold;
    }
    const std::uint32_t rule = static_cast<std::uint32_t>(kind) << 1 | (is_missing_left ? 1U : 0U);
    return Node::make(cut, left, column, rule, links_);
  }

  const WalkTrees& trees_;
  NodeLinks links_;
  std::vector<std::int32_t> order_;
};

template <class U, class V>
Array<U> uploaded(CudaRuntime& runtime, const V& values) {
  return Array<U>(runtime, std::span<const U>(values));
}

}   // namespace

template <class Node, class Sum>
bool PackedWalk<Node, Sum>::fits(const WalkTrees& trees) {
  std::int64_t most = 0;
  for (std::size_t t = 0; t + 1 < trees.tree_offset.size(); ++t)
    most = std::max(most, trees.tree_offset[t + 1] - trees.tree_offset[t]);
  return Node::fits(most, links_of(trees));
}

template <class Node, class Sum>
PackedWalk<Node, Sum>::PackedWalk(CudaRuntime& runtime, const WalkTrees& trees)
    : links_(links_of(trees)),
      plan_(plan_blocks(runtime, trees.n_cols * static_cast<std::int64_t>(sizeof(typename Node::Cell)), 0, sizeof(Node),
                        static_cast<std::int64_t>(trees.feature.size()))),
      divisor_(static_cast<Sum>(trees.divisor)),
      is_float32_(trees.is_float32) {
  const WalkPacker<Node, Sum> packed(trees, links_);
  shallow_ = ShallowTrees<Node, Sum>::of(runtime, {packed.nodes, packed.root, packed.leaves, links_});
  nodes_ = uploaded<Node>(runtime, packed.nodes);
  root_ = uploaded<std::int64_t>(runtime, packed.root);
  output_begin_ = uploaded<std::int32_t>(runtime, packed.output_begin);
  leaves_ = uploaded<Sum>(runtime, packed.leaves);
  base_ = uploaded<Sum>(runtime, std::vector<Sum>(trees.base.begin(), trees.base.end()));
  groups_ = uploaded<TreeGroup>(runtime, group_trees(packed.root, plan_.cache_nodes));
  set_offset_ = uploaded<std::int64_t>(runtime, trees.set_offset);
  set_words_ = uploaded<std::uint32_t>(runtime, trees.set_words);
}

template <class Node, class Sum>
WalkView<Node, Sum> PackedWalk<Node, Sum>::view() const {
  return {.nodes = raw(nodes_),
          .root = raw(root_),
          .output_begin = raw(output_begin_),
          .base = raw(base_),
          .leaves = raw(leaves_),
          .groups = raw(groups_),
          .set_offset = raw(set_offset_),
          .set_words = raw(set_words_),
          .n_trees = root_.size() - 1,
          .n_groups = static_cast<std::int32_t>(groups_.size()),
          .n_outputs = static_cast<std::int32_t>(base_.size()),
          .divisor = divisor_,
          .links = links_,
          .is_float32 = is_float32_};
}

template class PackedWalk<NarrowWalkNode, float>;
template class PackedWalk<NarrowWalkNode, double>;
template class PackedWalk<WideWalkNode, float>;
template class PackedWalk<WideWalkNode, double>;

}   // namespace kedge::engine
