// Merges become numbered nodes by a union-find; a cut splits the highest node again and again.
#include "engine/estimators/cluster/dendrogram.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kedge::engine {
namespace {

// The nodes that rows belong to, so far.
class Tops {
 public:
  explicit Tops(std::int32_t n) : parent_(2 * static_cast<std::size_t>(n) - 1) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  std::int32_t of(std::int32_t node) {
    while (parent(node) != node) node = std::exchange(parent(node), parent(parent(node)));   // halves the path
    return node;
  }
  void put_below(std::int32_t node, std::int32_t top) { parent(node) = top; }

 private:
  std::int32_t& parent(std::int32_t node) { return parent_[static_cast<std::size_t>(node)]; }
  std::vector<std::int32_t> parent_;
};

// Python's heapq over negated numbers: the largest is first, and the order of the rest is the one that numbers
// scikit-learn's labels.
class NodeHeap {
 public:
  explicit NodeHeap(std::int32_t first) : nodes_{first} {}
  const std::vector<std::int32_t>& nodes() const { return nodes_; }

  void push(std::int32_t node) {
    nodes_.push_back(node);
    rise(0, nodes_.size() - 1);
  }
  // Puts `node` in, and takes the largest out.
  void push_pop(std::int32_t node) {
    if (nodes_[0] <= node) return;
    nodes_[0] = node;
    sink();
  }

 private:
  void rise(std::size_t top, std::size_t place) {
    const std::int32_t node = nodes_[place];
    while (place > top && nodes_[(place - 1) / 2] < node) {
      nodes_[place] = nodes_[(place - 1) / 2];
      place = (place - 1) / 2;
    }
    nodes_[place] = node;
  }
  // To a leaf along the larger children, then up to where it belongs.
  void sink() {
    const std::int32_t node = nodes_[0];
    std::size_t place = 0;
    for (std::size_t child = 1; child < nodes_.size(); child = 2 * place + 1) {
      if (child + 1 < nodes_.size() && nodes_[child] <= nodes_[child + 1]) ++child;
      nodes_[place] = nodes_[child];
      place = child;
    }
    nodes_[place] = node;
    rise(0, place);
  }
  std::vector<std::int32_t> nodes_;
};

}   // namespace

Dendrogram dendrogram(const std::vector<Merge>& merges, bool is_ordered) {
  const auto n = static_cast<std::int32_t>(merges.size()) + 1;
  Tops tops(n);
  Dendrogram tree;
  tree.children.reserve(merges.size()), tree.heights.reserve(merges.size()), tree.sizes.reserve(merges.size());
  for (const Merge& merge : merges) {
    std::array<std::int32_t, 2> pair{tops.of(merge.a), tops.of(merge.b)};
    if (is_ordered && pair[1] < pair[0]) std::swap(pair[0], pair[1]);
    std::int32_t size = 0;
    for (const std::int32_t node : pair) size += node < n ? 1 : tree.sizes[static_cast<std::size_t>(node - n)];
    const auto made = n + static_cast<std::int32_t>(tree.children.size());
    tree.children.push_back(pair), tree.heights.push_back(merge.height), tree.sizes.push_back(size);
    for (const std::int32_t node : pair) tops.put_below(node, made);
  }
  return tree;
}

std::vector<std::int32_t> cut(const Dendrogram& tree, std::int64_t n_clusters) {
  const std::int32_t n = tree.n_rows();
  NodeHeap heap(2 * n - 2);
  for (std::int64_t i = 1; i < n_clusters; ++i) {
    const auto [first, second] = tree.children[static_cast<std::size_t>(heap.nodes()[0] - n)];
    heap.push(first);
    heap.push_pop(second);
  }
  std::vector<std::int32_t> labels(static_cast<std::size_t>(n)), below;
  for (std::size_t label = 0; label < heap.nodes().size(); ++label) {
    below.assign(1, heap.nodes()[label]);
    while (!below.empty()) {
      const std::int32_t node = below.back();
      below.pop_back();
      if (node < n) labels[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(label);
      else below.insert(below.end(), tree.children[static_cast<std::size_t>(node - n)].begin(),
                        tree.children[static_cast<std::size_t>(node - n)].end());
    }
  }
  return labels;
}

}   // namespace kedge::engine
