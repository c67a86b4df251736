// Fills up trees of few levels: see shallow_trees.h. Host code alone.
#include "engine/backend/cuda/trees/shallow_trees.h"

#include <algorithm>
#include <vector>

#include "engine/backend/cuda/trees/packed_walk.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int32_t kMostLevels = 8;
constexpr std::int64_t kMostFilling = 4;   // nodes for each packed one

template <class Node, class Sum>
class Filler {
 public:
  using Cell = typename Node::Cell;
  using Packed = typename ShallowTrees<Node, Sum>::Packed;

  explicit Filler(const Packed& trees) : trees_(trees), n_trees_(static_cast<std::int64_t>(trees.root.size()) - 1) {}

  bool fits() {
    for (std::int64_t t = 0; t < n_trees_; ++t)
      if (!are_few_levels(trees_.root[t], 0, 0)) return false;
    return n_trees_ << n_levels <= kMostFilling * static_cast<std::int64_t>(trees_.nodes.size());
  }
  // For blocks of so many rows.
  void fill(int threads) {
    threads_ = static_cast<std::uint32_t>(threads);
    nodes.resize(static_cast<std::size_t>(n_trees_ << n_levels));
    leaves.resize(nodes.size());
    for (std::int64_t t = 0; t < n_trees_; ++t) put(t, 0, 1, 0);
  }

  std::int32_t n_levels = 1;
  std::vector<ShallowNode<Cell>> nodes;
  std::vector<Sum> leaves;

 private:
  bool is_leaf(const Node& node) const { return node.column(trees_.links) == trees_.links.leaf; }

  bool are_few_levels(std::int64_t root, std::uint32_t at, std::int32_t level) {
    const Node& node = trees_.nodes[root + at];
    if (is_leaf(node)) return n_levels = std::max(n_levels, level), true;
    if (level == kMostLevels || node.kind() != WalkKind::kCut) return false;
    const std::uint32_t left = node.left(trees_.links);
    return are_few_levels(root, left, level + 1) && are_few_levels(root, left + 1, level + 1);
  }

  Sum value_of(const Node& leaf) const {
    if constexpr (sizeof(Sum) > sizeof(Cell)) return trees_.leaves[leaf.number()];
    else return static_cast<Sum>(leaf.cut);
  }

  // The node `at` of tree t becomes node `place`. All leaves below a leaf are that leaf.
  void put(std::int64_t t, std::uint32_t at, std::uint32_t place, std::int32_t level) {
    const Node& node = trees_.nodes[trees_.root[t] + at];
    const std::int64_t begin = t << n_levels;
    if (is_leaf(node)) {
      const std::int32_t below = n_levels - level;
      const std::int64_t first = (std::int64_t{place} << below) - (std::int64_t{1} << n_levels);
      std::fill_n(leaves.begin() + begin + first, std::int64_t{1} << below, value_of(node));
      return;
    }
    const std::uint32_t column_begin = node.column(trees_.links) * threads_;
    nodes[begin + place] = {node.cut, column_begin << 1 | (node.is_missing_left() ? 1U : 0U)};
    const std::uint32_t left = node.left(trees_.links);
    put(t, left, 2 * place, level + 1), put(t, left + 1, 2 * place + 1, level + 1);
  }

  const Packed& trees_;
  std::int64_t n_trees_;
  std::uint32_t threads_ = 0;
};

}   // namespace

template <class Node, class Sum>
std::unique_ptr<ShallowTrees<Node, Sum>> ShallowTrees<Node, Sum>::of(CudaRuntime& runtime, const Packed& trees) {
  Filler<Node, Sum> filled(trees);
  if (!filled.fits()) return nullptr;
  const std::int64_t n_trees = static_cast<std::int64_t>(trees.root.size()) - 1,
                     tree_bytes = static_cast<std::int64_t>(sizeof(ShallowNode<Cell>) + sizeof(Sum)) << filled.n_levels;
  auto made = std::make_unique<ShallowTrees>();
  made->n_levels_ = filled.n_levels;
  made->plan_ =
      plan_blocks(runtime, static_cast<std::int64_t>(trees.links.leaf * sizeof(Cell)), 0, tree_bytes, n_trees);
  if (made->plan_.threads == 0) return nullptr;
  filled.fill(made->plan_.threads);
  made->nodes_ = Array<ShallowNode<Cell>>(runtime, std::span<const ShallowNode<Cell>>(filled.nodes));
  made->leaves_ = Array<Sum>(runtime, std::span<const Sum>(filled.leaves));
  return made;
}

template <class Node, class Sum>
ShallowView<typename Node::Cell, Sum> ShallowTrees<Node, Sum>::view() const {
  return {raw(nodes_), raw(leaves_), n_levels_, static_cast<std::int32_t>(plan_.cache_nodes)};
}

template class ShallowTrees<NarrowWalkNode, float>;
template class ShallowTrees<NarrowWalkNode, double>;
template class ShallowTrees<WideWalkNode, float>;
template class ShallowTrees<WideWalkNode, double>;

}   // namespace kedge::engine
