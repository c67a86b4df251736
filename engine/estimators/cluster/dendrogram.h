// Trees of merged clusters: numbered by the order of their merges, and cut.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace kedge::engine {

// Two clusters, each known by a row in it, that become one at this height.
struct Merge {
  std::int32_t a, b;
  double height;
};

// Of n rows: node i < n is a row, node n + i is what merge i made. The last node is the root.
struct Dendrogram {
  std::vector<std::array<std::int32_t, 2>> children;   // of node n + i
  std::vector<double> heights;
  std::vector<std::int32_t> sizes;   // rows below node n + i

  std::int32_t n_rows() const { return static_cast<std::int32_t>(children.size()) + 1; }
  std::int32_t size_of(std::int32_t node) const {
    return node < n_rows() ? 1 : sizes[static_cast<std::size_t>(node - n_rows())];
  }
};

// The tree of merges that come in order of height, n - 1 of them. is_ordered: the lower node of a pair is its first
// child; otherwise that of row `a` is.
Dendrogram dendrogram(const std::vector<Merge>& merges, bool is_ordered);

// The cluster of each row where the tree is cut into this many, numbered as scikit-learn's _hc_cut() does.
std::vector<std::int32_t> cut(const Dendrogram& tree, std::int64_t n_clusters);

}   // namespace kedge::engine
