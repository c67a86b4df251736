// Packs forests for the device: see packed_trees.h. Host code alone.
#include "engine/backend/cuda/trees/packed_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/backend/cuda/trees/trees_device.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kLeastCache = 16 << 10;   // bytes of nodes that a block holds, where they take so much

std::int64_t nodes_of(const Forest& forest, std::int64_t tree) {
  return forest.tree_offset[tree + 1] - forest.tree_offset[tree];
}

// The largest number of the type up to the cut: cells of the type go the same way by it.
float rounded_down(double cut, float) {
  const auto near = static_cast<float>(cut);
  return static_cast<double>(near) > cut ? std::nextafter(near, -std::numeric_limits<float>::infinity()) : near;
}
double rounded_down(double cut, double) {
  return cut;
}

// The class of a leaf of one class; -1 for others.
std::int32_t only_class(const Forest& forest, std::int64_t leaf) {
  const double* const shares = forest.value.data() + leaf * forest.n_classes;   // none without classes
  for (std::int32_t c = 0; c < forest.n_classes; ++c)
    if (shares[c] == 1.0) return c;
  return -1;
}

template <class Node>
class Packer {
 public:
  Packer(const Forest& forest, bool by_bins, NodeLinks links)
      : forest_(forest),
        by_bins_(by_bins),
        links_(links),
        nodes(static_cast<std::size_t>(forest.n_nodes())),
        first_value_(static_cast<std::size_t>(forest.n_trees() + 1)) {
    parallel_tasks(tree_threads(), forest.n_trees(), [&](std::int64_t t, int) {
      for (std::int64_t i = forest.tree_offset[t]; i < forest.tree_offset[t + 1]; ++i)
        first_value_[t + 1] += forest.feature[i] < 0 && only_class(forest, i) < 0;
    });
    std::partial_sum(first_value_.begin(), first_value_.end(), first_value_.begin());
    values.resize(static_cast<std::size_t>(first_value_.back() * forest.n_outputs()));
    parallel_tasks(tree_threads(), forest.n_trees(), [&](std::int64_t t, int) { pack(t); });
  }

 private:
  const Forest& forest_;
  bool by_bins_;
  NodeLinks links_;

 public:
  std::vector<Node> nodes;
  std::vector<double> values;

 private:
  void pack(std::int64_t t) {
    using Cell = typename Node::Cell;
    Node* const out = nodes.data() + forest_.tree_offset[t];
    std::int64_t row = first_value_[t];
    std::vector<std::int32_t> order{static_cast<std::int32_t>(forest_.tree_offset[t])};
    order.reserve(static_cast<std::size_t>(nodes_of(forest_, t)));
    for (std::size_t at = 0; at < order.size(); ++at) {
      const std::int32_t i = order[at], column = forest_.feature[i];
      if (column < 0) {
        out[at] = Node::make_leaf(number_of(i, row), links_);
        continue;
      }
      const Cell cut = by_bins_ ? static_cast<Cell>(forest_.bin[i]) : rounded_down(forest_.threshold[i], Cell{});
      out[at] = Node::make(cut, static_cast<std::uint32_t>(order.size()), static_cast<std::uint32_t>(column), links_);
      order.push_back(forest_.left[i]), order.push_back(forest_.right[i]);
    }
  }

  std::uint32_t number_of(std::int64_t leaf, std::int64_t& row) {
    if (const std::int32_t only = only_class(forest_, leaf); only >= 0) return static_cast<std::uint32_t>(only);
    const std::int64_t k = forest_.n_outputs();
    const double* const from = forest_.n_classes > 0 ? forest_.value.data() + leaf * k : forest_.mean.data() + leaf;
    std::copy_n(from, k, values.data() + row * k);
    return static_cast<std::uint32_t>(forest_.n_classes + row++);
  }

  std::vector<std::int64_t> first_value_;   // by tree
};

std::int64_t nodes_of(const Forest& forest) {
  return forest.tree_offset.back();
}

template <class Node>
BlockPlan plan_of(const CudaRuntime& runtime, const Forest& forest) {
  return plan_blocks(runtime, forest.n_cols * static_cast<std::int64_t>(sizeof(typename Node::Cell)),
                     forest.n_outputs() * static_cast<std::int64_t>(sizeof(double)), sizeof(Node), nodes_of(forest));
}

}   // namespace

NodeLinks links_of(const Forest& forest) {
  const auto leaf = static_cast<std::uint32_t>(forest.n_cols);
  return {static_cast<std::int32_t>(std::bit_width(leaf)), leaf};
}

BlockPlan plan_blocks(const CudaRuntime& runtime, std::int64_t row_bytes, std::int64_t sum_bytes,
                      std::int64_t node_bytes, std::int64_t n_nodes) {
  constexpr std::int64_t kStatic = 1024;   // what a block takes of itself
  const std::int64_t half = static_cast<std::int64_t>(runtime.max_shared_bytes()) / 2 - kStatic,
                     nodes = n_nodes * node_bytes;
  for (const bool shares_sums : {true, false})
    for (const int threads : {512, 256, 128}) {
      const std::int64_t of_rows = threads * (row_bytes + (shares_sums ? sum_bytes : 0));
      const std::int64_t cache = std::min(nodes, half - of_rows);
      if (cache < std::min(nodes, kLeastCache)) continue;
      const std::int64_t n = cache / node_bytes;
      return {threads, shares_sums, n, static_cast<std::size_t>(of_rows + n * node_bytes)};
    }
  return {};
}

std::vector<TreeGroup> group_trees(std::span<const std::int64_t> tree_offset, std::int64_t cache_nodes) {
  std::vector<TreeGroup> groups;
  const auto n_trees = static_cast<std::int32_t>(tree_offset.size()) - 1;
  for (std::int32_t first = 0; first < n_trees;) {
    std::int32_t last = first + 1;
    while (last < n_trees && tree_offset[last + 1] - tree_offset[first] <= cache_nodes) ++last;
    const std::int64_t begin = tree_offset[first];
    groups.push_back({first, last, begin, std::min(cache_nodes, tree_offset[last] - begin)});
    first = last;
  }
  return groups;
}

template <class Node>
bool PackedTrees<Node>::fits(const Forest& forest) {
  std::int64_t most = 0;
  for (std::int64_t t = 0; t < forest.n_trees(); ++t) most = std::max(most, nodes_of(forest, t));
  return Node::fits(most, links_of(forest));
}

template <class Node>
PackedTrees<Node>::PackedTrees(CudaRuntime& runtime, const Forest& forest, bool by_bins)
    : links_(links_of(forest)),
      plan_(plan_of<Node>(runtime, forest)),
      n_classes_(forest.n_classes),
      n_outputs_(static_cast<std::int32_t>(forest.n_outputs())) {
  const Packer<Node> packed(forest, by_bins, links_);
  nodes_ = Array<Node>(runtime, std::span<const Node>(packed.nodes));
  values_ = Array<double>(runtime, std::span<const double>(packed.values));
  upload_trees(runtime, forest);
}

template <class Node>
PackedTrees<Node>::PackedTrees(CudaRuntime& runtime, const Forest& head, Array<Node> nodes, const double* values)
    : links_(links_of(head)),
      plan_(plan_of<Node>(runtime, head)),
      nodes_(std::move(nodes)),
      values_there_(values),
      n_classes_(head.n_classes),
      n_outputs_(static_cast<std::int32_t>(head.n_outputs())) {
  upload_trees(runtime, head);
}

template <class Node>
void PackedTrees<Node>::upload_trees(CudaRuntime& runtime, const Forest& forest) {
  root_ = Array<std::int64_t>(runtime, std::span<const std::int64_t>(forest.tree_offset));
  const std::vector<TreeGroup> groups = group_trees(forest.tree_offset, plan_.cache_nodes);
  groups_ = Array<TreeGroup>(runtime, std::span<const TreeGroup>(groups));
}

template <class Node>
PackedView<Node> PackedTrees<Node>::view() const {
  return {.nodes = raw(nodes_),
          .root = raw(root_),
          .groups = raw(groups_),
          .values = values_there_ ? values_there_ : raw(values_),
          .n_trees = root_.size() - 1,
          .n_groups = static_cast<std::int32_t>(groups_.size()),
          .n_classes = n_classes_,
          .n_outputs = n_outputs_,
          .links = links_};
}

template class PackedTrees<NarrowTreeNode>;
template class PackedTrees<WideTreeNode>;

}   // namespace kedge::engine
