// A tree while it grows, and how it becomes part of a Forest: host code that every device's body of TreeOps shares.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <vector>

#include "engine/backend/host/sklearn_draw.h"
#include "engine/backend/ops/trees.h"
#include "engine/backend/tree_functors.h"

namespace kedge::engine {

// Class weights and limits of one tree, derived from the options and from what the tree sees.
struct TreeRules {
  bool entropy = false;
  std::vector<double> class_weight;   // empty: every class counts 1
  double min_weight_leaf = 0;         // weight that a leaf must have

  double weight_of(std::int32_t cls) const { return class_weight.empty() ? 1.0 : class_weight[cls]; }
  CutRules cut_rules() const { return {entropy, class_weight.empty() ? nullptr : class_weight.data(), min_weight_leaf}; }
  SideSum sum(std::span<const std::int32_t> counts) const;
};

// A cut whose threshold is the midpoint between the two nearest values.
inline constexpr double kMidpoint = std::numeric_limits<double>::quiet_NaN();

// Nodes in the order in which they were made; 0 is the root. A node whose split was found has children whether or not it is
// `expanded`; only expanded nodes are inner nodes of the tree.
struct DraftNode {
  std::int32_t feature = -1, left = -1, right = -1, depth = 0;
  std::int32_t left_bin = 0, right_bin = 0;   // largest bin present on the left, smallest on the right
  bool expanded = false;
  std::int32_t n_rows = 0;                    // different ones
  double threshold = kMidpoint;               // of a random cut
  double impurity = 0, weight = 0;
  double improvement = 0;   // weighted decrease of impurity by the split, as a share of the tree
  std::uint64_t key = 0;    // names the path from the root; random draws depend on it
};

struct DraftTree {
  std::vector<DraftNode> nodes;
  // Records the split's improvement from its children; false if that is below min_impurity_decrease (scikit-learn's rule).
  bool accept_split(std::int32_t node, double min_impurity_decrease);
};

// Nodes with their drawn rows of each class.
struct ClassDraft : DraftTree {
  std::int32_t n_classes = 0;
  std::vector<std::int32_t> counts;   // nodes x n_classes

  explicit ClassDraft(std::int32_t n_classes) : n_classes(n_classes) {}
  std::span<const std::int32_t> counts_of(std::int32_t node) const {
    return {counts.data() + std::int64_t{node} * n_classes, static_cast<std::size_t>(n_classes)};
  }
  // Appends a node with these counts and returns its number. `node_counts` must not point into `counts`.
  std::int32_t add(const std::int32_t* node_counts, std::int32_t depth, std::uint64_t key, const TreeRules& rules);
  // Appends the node's class shares to out.value.
  void append_value(std::int32_t node, const TreeRules& rules, Forest& out) const;
};

// Expands the nodes with the largest improvement first until there are max_leaf_nodes leaves; equal improvements by
// key. evaluate(node) returns whether the node has an acceptable split. It may look for it only then.
template <class Evaluate>
void expand_best_first(DraftTree& tree, std::int64_t max_leaf_nodes, const Evaluate& evaluate, std::int32_t root = 0) {
  const auto worse = [&](std::int32_t a, std::int32_t b) {
    const DraftNode &x = tree.nodes[a], &y = tree.nodes[b];
    return x.improvement != y.improvement ? x.improvement < y.improvement : x.key > y.key;
  };
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, decltype(worse)> frontier(worse);
  if (evaluate(root)) frontier.push(root);
  for (std::int64_t leaves = 1; leaves < max_leaf_nodes && !frontier.empty(); ++leaves) {
    const std::int32_t node = frontier.top();
    frontier.pop();
    tree.nodes[node].expanded = true;
    for (const std::int32_t child : {tree.nodes[node].left, tree.nodes[node].right})
      if (evaluate(child)) frontier.push(child);
  }
}

// The same in any number, depth first, left before right; with max_leaf_nodes > 0 as expand_best_first().
template <class Evaluate>
void expand(DraftTree& tree, std::int64_t max_leaf_nodes, const Evaluate& evaluate) {
  if (max_leaf_nodes > 0) return expand_best_first(tree, max_leaf_nodes, evaluate);
  std::vector<std::int32_t> stack{0};
  while (!stack.empty()) {
    const std::int32_t node = stack.back();
    stack.pop_back();
    if (!evaluate(node)) continue;
    tree.nodes[node].expanded = true;
    stack.push_back(tree.nodes[node].right), stack.push_back(tree.nodes[node].left);
  }
}

// Cuts a column between two bins; choose_cut() of tree_functors.h.
Cut choose_cut(const BinEdges& edges, std::int64_t feature, int left_bin, int right_bin);
// The threshold of a random cut between these bins: the value drawn, where it lies between them.
double random_threshold(const BinEdges& edges, std::int64_t feature, int left_bin, int right_bin, double drawn);

// One finished tree with node indices of its own, in depth-first order, left before right. append_value(node, out) appends what
// the node predicts to out.value or out.mean.
Forest finish_tree(const DraftTree& tree, std::int32_t n_classes, const BinEdges& edges, std::int64_t n_cols,
                   const std::function<void(std::int32_t, Forest&)>& append_value);
// Joins forests of the same kind, in order.
Forest join_trees(std::vector<Forest> trees, std::int32_t n_classes, std::int64_t n_cols, int n_threads = 1);

// How often each position in [0, n) is drawn for a tree; `counts` is resized. seeds: those of the tree's forest.
// Errors: kInvalidValue above 65,535.
void draw_rows(const ForestOptions& options, const TreeSeeds& seeds, std::int64_t tree, std::int64_t n,
               std::vector<std::uint32_t>& counts);

// Whether a node with n_rows different rows may be split at all.
bool may_split(const DraftNode& node, std::int64_t n_rows, const ForestOptions& options, const TreeRules& rules);

// The weights of one tree from the options; `drawn` are the drawn rows by class.
TreeRules make_rules(const ForestOptions& options, std::span<const std::int32_t> drawn);

}  // namespace kedge::engine
