// The kernels that keep the nodes of a batch of trees: they make the children of a level, and lay out trees that are
// done.
#pragma once

#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/trees/grown_trees.h"
#include "engine/backend/cuda/trees/trees_counters.cuh"

namespace kedge::engine {

// How many nodes a batch has, how many of the next level are big and small, how many still look for a column that
// varies, how many tiny ones there are of all levels, and how many pieces the big ones have.
struct LevelCounts {
  std::int32_t nodes, big, small, constant, tiny, pieces;
};

// The nodes of the next level that may be split: big ones from the front, small ones from the back. Tiny ones wait for
// finish_nodes(); their rows stay where they are, as no other node has these places. The order does not matter.
struct NextLevel {
  LevelNode* nodes;
  std::int64_t size;
  LevelNode* tiny;
  std::int32_t tiny_rows;     // that a tiny one has at most; 0: there are none
  std::int64_t tiny_weight;   // the same of its weight
  std::int32_t big_rows;      // that a big one has at least
  LevelCounts* counts;
};

struct SplitRules {
  SplitLimits limits;
  double min_impurity_decrease;
  const double* min_weight_leaf;   // by tree, in the unit of DeviceNode::weight
  bool is_random;
};

// The parts of the nodes of a level.
struct LevelParts {
  const DeviceCut* cuts;
  const std::int32_t* left_rows;
  const std::int64_t* left_totals;
  const NodeMeasure* measures;   // of each left part and right part; null where their sums say it
};

// A place for each thread of the warp that wants one, `each` numbers apart; one atomic for all.
__device__ inline std::int32_t take_places(std::int32_t* counter, bool wants, std::int32_t each) {
  const unsigned mask = __ballot_sync(kFullWarp, wants);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::int32_t first = 0;
  if (lane == 0 && mask != 0) first = atomicAdd(counter, static_cast<std::int32_t>(__popc(mask)) * each);
  first = __shfl_sync(kFullWarp, first, 0);
  return first + static_cast<std::int32_t>(__popc(mask & ((1u << lane) - 1))) * each;
}

// All threads of the warp call it; those with `wants` add their node to the next level.
__device__ inline void add_to_level(const NextLevel& next, bool wants, const LevelNode& node) {
  const bool is_big = node.n >= next.big_rows, is_tiny = node.n <= next.tiny_rows && node.weight <= next.tiny_weight;
  const std::int32_t front = take_places(&next.counts->big, wants && is_big, 1);
  const std::int32_t back = take_places(&next.counts->small, wants && !is_big && !is_tiny, 1);
  const std::int32_t aside = take_places(&next.counts->tiny, wants && is_tiny, 1);
  if (wants) (is_tiny ? next.tiny[aside] : next.nodes[is_big ? front : next.size - 1 - back]) = node;
}

// Of nodes whose columns were all constant so far, lists those that `found` nothing either. of: the nodes' places among
// the cuts of the level; null: their own numbers.
static __global__ void list_constant(const LevelNode* nodes, const std::int32_t* of, const DeviceCut* found,
                                     std::int64_t n, DeviceCut* cuts, LevelNode* constant, std::int32_t* constant_of,
                                     std::int32_t* count) {
  const std::int64_t i = own_item();
  const bool is_constant = i < n && !found[i].varies;
  const std::int32_t place = take_places(count, is_constant, 1);
  if (i >= n) return;
  const auto own = of ? of[i] : static_cast<std::int32_t>(i);
  if (of) cuts[own] = found[i];
  if (is_constant) constant[place] = nodes[i], constant_of[place] = own;
}

// Puts what was found last back among the cuts of the level.
static __global__ void put_cuts(const std::int32_t* of, const DeviceCut* found, std::int64_t n, DeviceCut* cuts) {
  const std::int64_t i = own_item();
  if (i < n) cuts[of[i]] = found[i];
}

// Makes the children of the nodes of a level whose cut is accepted, a thread a node. Reads and writes about 300 bytes
// and the sums of three nodes.
template <class Kind>
__global__ void add_children(const LevelNode* level, std::int64_t n, LevelParts parts, DeviceTable table, Kind kind,
                             SplitRules rules, DeviceNode* nodes, std::int64_t* totals, NextLevel next) {
  const std::int64_t i = own_item();
  LevelNode at{};
  NodeMeasure measure[2] = {};
  double improvement = 0;
  bool is_split = false;
  if (i < n) {
    at = level[i];
    const DeviceNode& node = nodes[at.node];
    if (parts.cuts[i].feature >= 0) {
      const auto left = [&](std::int32_t k) { return parts.left_totals[i * kind.n_totals() + k]; };
      const auto right = [&](std::int32_t k) { return totals[std::int64_t{at.node} * kind.n_totals() + k] - left(k); };
      if constexpr (Kind::kMeasured) measure[0] = parts.measures[2 * i], measure[1] = parts.measures[2 * i + 1];
      else measure[0] = kind.measure(at.tree, left), measure[1] = kind.measure(at.tree, right);
      improvement =
          split_improvement(nodes[at.tree].weight, {node.weight, node.impurity},
                            {measure[0].weight, measure[0].impurity}, {measure[1].weight, measure[1].impurity});
      is_split = improvement + kPureImpurity >= rules.min_impurity_decrease;
    }
  }
  const std::int32_t first = take_places(&next.counts->nodes, is_split, 2);
  if (is_split) {
    const DeviceCut cut = parts.cuts[i];
    DeviceNode& node = nodes[at.node];
    const double *const low = table.low + table.offset[cut.feature], *const high =
                                                                         table.high + table.offset[cut.feature];
    const Cut chosen = rules.is_random
                           ? Cut{cut.left_bin, random_threshold(high[cut.left_bin], low[cut.right_bin], cut.threshold)}
                           : choose_cut(low, high, cut.left_bin, cut.right_bin);
    node.feature = cut.feature, node.left = first, node.improvement = improvement, node.bin = chosen.bin,
    node.threshold = chosen.threshold;
  }
  for (int side = 0; side < 2; ++side) {
    LevelNode child = at;
    bool may = false;
    child.depth = at.depth + 1;
    if (is_split) {
      const std::int32_t n_left = parts.left_rows[i];
      child.node = first + side, child.key = tree_child_key(at.key, side == 1);
      child.n = side == 0 ? n_left : at.n - n_left, child.begin = at.begin + (side == 0 ? 0 : n_left);
      std::int64_t* const own = totals + std::int64_t{child.node} * kind.n_totals();
      const std::int64_t* const parent = totals + std::int64_t{at.node} * kind.n_totals();
      for (std::int32_t k = 0; k < kind.n_totals(); ++k) {
        const std::int64_t left = parts.left_totals[i * kind.n_totals() + k];
        own[k] = side == 0 ? left : parent[k] - left;
      }
      child.weight = kind.weight([&](std::int32_t k) { return own[k]; });
      const NodeMeasure& of = measure[side];
      DeviceNode made;
      made.impurity = of.impurity, made.weight = of.weight, made.mean = of.mean, made.key = child.key,
      made.tree = at.tree;
      made.n_rows = child.n;
      nodes[child.node] = made;
      may = may_split(rules.limits, child.depth, child.n, of.weight, of.impurity, rules.min_weight_leaf[at.tree]);
    }
    add_to_level(next, may, child);
  }
}

// Of a level, from the last one up: how many nodes are below each.
static __global__ void sum_sizes(DeviceNode* nodes, std::int64_t begin, std::int64_t end) {
  const std::int64_t i = begin + own_item();
  if (i >= end) return;
  DeviceNode& node = nodes[i];
  node.size = node.left < 0 ? 1 : 1 + nodes[node.left].size + nodes[node.left + 1].size;
}

// Places the roots one tree after another; one thread, as there are few. offset: n_trees + 1.
static __global__ void place_roots(DeviceNode* nodes, std::int32_t n_trees, std::int64_t* offset) {
  if (own_item() != 0) return;
  std::int64_t place = 0;
  for (std::int32_t t = 0; t < n_trees; ++t) {
    offset[t] = place, nodes[t].place = static_cast<std::int32_t>(place);
    place += nodes[t].size;
  }
  offset[n_trees] = place;
}

// Of a level, from the first one down: places the children depth first, left before right.
static __global__ void place_children(DeviceNode* nodes, std::int64_t begin, std::int64_t end) {
  const std::int64_t i = begin + own_item();
  if (i >= end) return;
  const DeviceNode& node = nodes[i];
  if (node.left < 0 || node.place < 0 || nodes[node.left].root >= 0) return;
  nodes[node.left].place = node.place + 1;
  nodes[node.left + 1].place = node.place + 1 + nodes[node.left].size;
}

// Where a node lies in the batch's forest. One that finish_nodes() has made keeps 32 times the steps to the left on the
// way to it, and its first lane: depth first, these steps come before it, and two nodes for each leaf of lower lanes.
__device__ inline std::int32_t place_of(const DeviceNode* nodes, const LevelNode* tiny, const DeviceNode& node) {
  if (node.root < 0) return node.place;
  const LevelNode& root = tiny[node.root];
  const unsigned below = (1u << node.place % 32) - 1;
  return nodes[root.node].place + node.place / 32 + 2 * __popc(static_cast<std::uint32_t>(root.weight) & below);
}

// Writes each node to its place: about 60 bytes of it, and 8 for each class.
template <class Kind>
__global__ void put_nodes(const DeviceNode* nodes, const LevelNode* tiny, const std::int64_t* totals, std::int64_t n,
                          Kind kind, ForestColumns out) {
  const std::int64_t i = own_item();
  if (i >= n) return;
  const DeviceNode node = nodes[i];
  if (node.place < 0) return;
  const std::int32_t place = place_of(nodes, tiny, node);
  const bool is_leaf = node.left < 0;
  out.feature[place] = is_leaf ? -1 : node.feature, out.bin[place] = static_cast<std::uint8_t>(is_leaf ? 0 : node.bin);
  out.threshold[place] = is_leaf ? 0 : node.threshold;
  out.left[place] = is_leaf ? -1 : place + 1,
  out.right[place] = is_leaf ? -1 : place_of(nodes, tiny, nodes[node.left + 1]);
  out.impurity[place] = node.impurity, out.weight[place] = node.weight, out.n_rows[place] = node.n_rows;
  if constexpr (Kind::kMeasured) {
    out.mean[place] = node.mean;
  } else {
    for (std::int32_t c = 0; c < kind.n_classes; ++c) {
      const double weight = kind.class_weight(node.tree, c, totals[i * kind.n_classes + c]);
      out.value[std::int64_t{place} * kind.n_classes + c] = node.weight > 0 ? weight / node.weight : 0.0;
    }
  }
}

// Gives the inner nodes of each tree the numbers of their pairs of children, which replace their keys.
static __global__ void number_pairs(DeviceNode* nodes, std::int64_t n, std::uint32_t* of_tree) {
  const std::int64_t i = own_item();
  if (i >= n) return;
  DeviceNode& node = nodes[i];
  if (node.left >= 0 && node.place >= 0) node.key = atomicAdd(&of_tree[node.tree], 1u);
}

// Packs the nodes of trees by their bins, as Packer of packed_trees.cu does: a thread packs the children of a node, and
// the root, which is first. The row of a leaf's values is its place in the forest. value: n x n_classes.
static __global__ void pack_nodes(const DeviceNode* nodes, const LevelNode* tiny, std::int64_t n, std::int32_t n_trees,
                                  std::int32_t n_classes, const std::int64_t* offset, const double* value,
                                  NodeLinks links, NarrowTreeNode* packed) {
  const std::int64_t i = own_item();
  if (i >= n || nodes[i].place < 0) return;
  const auto pack = [&](const DeviceNode& node, std::uint32_t at) {
    NarrowTreeNode& to = packed[offset[node.tree] + at];
    if (node.left >= 0) {
      to = NarrowTreeNode::make(static_cast<float>(node.bin), 1 + 2 * static_cast<std::uint32_t>(node.key),
                                static_cast<std::uint32_t>(node.feature), links);
      return;
    }
    const std::int32_t place = place_of(nodes, tiny, node);
    std::int32_t only = 0;
    while (only < n_classes && value[std::int64_t{place} * n_classes + only] != 1.0) ++only;
    to = NarrowTreeNode::make_leaf(static_cast<std::uint32_t>(only < n_classes ? only : n_classes + place), links);
  };
  const DeviceNode& node = nodes[i];
  if (i < n_trees) pack(node, 0);
  if (node.left < 0) return;
  const auto first = 1 + 2 * static_cast<std::uint32_t>(node.key);
  pack(nodes[node.left], first), pack(nodes[node.left + 1], first + 1);
}

}   // namespace kedge::engine
