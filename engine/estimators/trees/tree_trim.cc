// Trims forests; nodes are depth first, so that children follow their parents.
#include "engine/estimators/trees/tree_trim.h"

#include <algorithm>
#include <numeric>

namespace kedge::engine {
namespace {

std::vector<std::int32_t> depths_of(const Forest& forest) {
  std::vector<std::int32_t> depth(static_cast<std::size_t>(forest.n_nodes()));
  for (std::int64_t i = 0; i < forest.n_nodes(); ++i)
    if (forest.feature[i] >= 0) depth[forest.left[i]] = depth[forest.right[i]] = depth[i] + 1;
  return depth;
}

void copy_node(const Forest& from, std::int64_t i, bool as_leaf, Forest& to) {
  to.feature.push_back(as_leaf ? -1 : from.feature[i]), to.bin.push_back(as_leaf ? 0 : from.bin[i]);
  to.threshold.push_back(as_leaf ? 0 : from.threshold[i]);
  to.left.push_back(-1), to.right.push_back(-1);
  to.impurity.push_back(from.impurity[i]), to.weight.push_back(from.weight[i]);
  const auto share = from.value.begin() + i * from.n_classes;
  to.value.insert(to.value.end(), share, share + from.n_classes);
  if (!from.mean.empty()) to.mean.push_back(from.mean[i]);
  if (!from.n_rows.empty()) to.n_rows.push_back(from.n_rows[i]);
}

// The first n_trees trees without what is below the nodes with is_leaf(node).
template <class IsLeaf>
Forest cut_back(const Forest& from, std::int64_t n_trees, const IsLeaf& is_leaf) {
  Forest to{.n_classes = from.n_classes, .n_cols = from.n_cols, .tree_offset = {0}};
  struct Visit { std::int64_t node; std::int32_t parent; };   // parent: where to note a right child
  for (std::int64_t t = 0; t < n_trees; ++t) {
    std::vector<Visit> stack{{from.tree_offset[t], -1}};
    while (!stack.empty()) {
      const auto [node, parent] = stack.back();
      stack.pop_back();
      const auto index = static_cast<std::int32_t>(to.n_nodes());
      if (parent >= 0) to.right[parent] = index;
      const bool as_leaf = from.feature[node] < 0 || is_leaf(node);
      copy_node(from, node, as_leaf, to);
      if (as_leaf) continue;
      to.left[index] = index + 1;
      stack.push_back({from.right[node], index}), stack.push_back({from.left[node], -1});
    }
    to.tree_offset.push_back(to.n_nodes());
  }
  return to;
}

template <class U>
schema::Value numbers(const std::vector<U>& values, std::size_t n) {
  return std::vector<double>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
}

}  // namespace

Forest first_trees(const Forest& forest, std::int64_t n_trees, std::int64_t max_depth) {
  const std::vector<std::int32_t> depth = depths_of(forest);
  return cut_back(forest, n_trees, [&](std::int64_t node) { return depth[node] >= max_depth; });
}

Forest pruned(const Forest& forest, double alpha) {
  std::vector<double> cost(static_cast<std::size_t>(forest.n_nodes()));   // least of a node's subtrees
  std::vector<bool> is_leaf(cost.size());
  for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
    const std::int64_t root = forest.tree_offset[t];
    for (std::int64_t i = forest.tree_offset[t + 1]; i-- > root;) {
      const double own = forest.weight[i] * forest.impurity[i] / forest.weight[root] + alpha;
      const double below = forest.feature[i] >= 0 ? cost[forest.left[i]] + cost[forest.right[i]] : own;
      is_leaf[i] = own <= below, cost[i] = std::min(own, below);
    }
  }
  return cut_back(forest, forest.n_trees(), [&](std::int64_t node) { return is_leaf[node]; });
}

std::vector<double> feature_importances(const Forest& forest) {
  std::vector<double> mean(static_cast<std::size_t>(forest.n_cols)), tree(mean.size());
  for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
    std::fill(tree.begin(), tree.end(), 0.0);
    const auto weighted = [&](std::int64_t i) { return forest.weight[i] * forest.impurity[i]; };
    for (std::int64_t i = forest.tree_offset[t]; i < forest.tree_offset[t + 1]; ++i)
      if (forest.feature[i] >= 0) tree[forest.feature[i]] += weighted(i) - weighted(forest.left[i]) - weighted(forest.right[i]);
    const double sum = std::accumulate(tree.begin(), tree.end(), 0.0);
    if (!(sum > 0)) continue;
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += tree[j] / sum;
  }
  const double total = std::accumulate(mean.begin(), mean.end(), 0.0);
  for (double& value : mean) value = total > 0 ? value / total : 0;
  return mean;
}

schema::ValueMap tree_arrays(const Forest& forest) {
  const auto n = static_cast<std::size_t>(forest.tree_offset[1]);
  const std::vector<std::int32_t> depth = depths_of(forest);
  std::vector<double> feature(n), threshold(n);
  for (std::size_t i = 0; i < n; ++i) {   // scikit-learn's marks of a leaf
    const bool is_leaf = forest.feature[i] < 0;
    feature[i] = is_leaf ? -2 : forest.feature[i], threshold[i] = is_leaf ? -2 : forest.threshold[i];
  }
  const auto leaves = std::count(forest.feature.begin(), forest.feature.begin() + static_cast<std::ptrdiff_t>(n), -1);
  schema::ValueList values;
  for (std::size_t i = 0; i < n; ++i) {
    if (forest.n_classes == 0) values.emplace_back(std::vector<double>{forest.mean[i]});
    else values.emplace_back(std::vector<double>(forest.value.begin() + static_cast<std::ptrdiff_t>(i) * forest.n_classes,
                                                 forest.value.begin() + static_cast<std::ptrdiff_t>(i + 1) * forest.n_classes));
  }
  return {{"node_count", static_cast<std::int64_t>(n)},
          {"max_depth", static_cast<std::int64_t>(*std::max_element(depth.begin(), depth.begin() + static_cast<std::ptrdiff_t>(n)))},
          {"n_leaves", static_cast<std::int64_t>(leaves)},
          {"children_left", numbers(forest.left, n)},
          {"children_right", numbers(forest.right, n)},
          {"feature", std::move(feature)},
          {"threshold", std::move(threshold)},
          {"value", std::move(values)},
          {"impurity", numbers(forest.impurity, n)},
          {"n_node_samples", numbers(forest.n_rows, n)},
          {"weighted_n_node_samples", numbers(forest.weight, n)}};
}

}  // namespace kedge::engine
