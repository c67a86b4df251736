// The points of the quadrature, and trees in the order of their walk.
#include "engine/backend/host/tree_shap_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/backend/host/row_chunks.h"
#include "engine/core/require.h"

namespace kedge::engine::shap {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr std::int32_t kMostLevels = 1024;   // of a tree, by which memory grows

class TreeBuilder {
 public:
  TreeBuilder(const ShapTrees& trees, std::int64_t t)
      : trees_(trees),
        begin_(trees.tree_offset[static_cast<std::size_t>(t)]),
        n_nodes_(static_cast<std::size_t>(trees.tree_offset[static_cast<std::size_t>(t) + 1] - begin_)),
        expected_(static_cast<std::size_t>(trees.leaf_values())) {}

  Tree build() {
    struct Waiting {
      std::int64_t node;
      std::int32_t parent;
      bool is_left;
    };
    tree_.nodes.reserve(n_nodes_), reach_.reserve(n_nodes_), different_.reserve(n_nodes_);
    std::vector<Waiting> waiting{{begin_, -1, false}};
    while (!waiting.empty()) {
      const Waiting next = waiting.back();
      waiting.pop_back();
      require(tree_.nodes.size() < n_nodes_, schema::ErrorCode::kModelCorrupt,
              "model: a node of a tree has two parents");
      const std::int32_t place = add(next.node, next.parent, next.is_left);
      const auto at = static_cast<std::size_t>(next.node);
      if (trees_.feature[at] < 0) continue;
      waiting.push_back({trees_.right[at], place, false});
      waiting.push_back({trees_.left[at], place, true});
    }
    tree_.n_points = std::clamp((most_different_ + 1) / 2, 1, kMostPoints);
    tree_.expected = std::move(expected_);
    set_slots();
    return std::move(tree_);
  }

 private:
  std::int32_t add(std::int64_t from, std::int32_t parent, bool is_left) {
    const auto place = static_cast<std::int32_t>(tree_.nodes.size());
    Node node{.from = static_cast<std::int32_t>(from - begin_), .parent = parent, .is_left = is_left};
    node.is_leaf = trees_.feature[static_cast<std::size_t>(from)] < 0;
    double reach = 1;
    std::int32_t different = 0;
    if (parent >= 0) {
      const auto above = static_cast<std::size_t>(parent);
      node.cut = tree_.nodes[above].from, node.depth = tree_.nodes[above].depth + 1;
      const double own = share_of(from, begin_ + node.cut);
      reach = reach_[above] * own;
      different = different_[above] + (find_before(node) ? 0 : 1);
      node.share = own * node.before_share;
    }
    if (node.depth > kMostLevels)
      throw schema::Error(
          schema::ErrorCode::kInvalidValue,
          fmt::format("contributions are of trees of at most {} levels, this model has more", kMostLevels), "output");
    reach_.push_back(reach), different_.push_back(different);
    most_different_ = std::max(most_different_, different), tree_.depth = std::max(tree_.depth, node.depth);
    const auto k = static_cast<std::size_t>(trees_.leaf_values());
    for (std::size_t v = 0; node.is_leaf && v < k; ++v)
      expected_[v] += reach * trees_.value[static_cast<std::size_t>(from) * k + v];
    tree_.nodes.push_back(node);
    return place;
  }

  double share_of(std::int64_t node, std::int64_t above) const {
    constexpr double kLeast = 1e-15;   // of a node that no weighted row reached
    const double all = trees_.cover[static_cast<std::size_t>(above)];
    return std::max(kLeast, all > 0 ? trees_.cover[static_cast<std::size_t>(node)] / all : 0.5);
  }

  // Sets what the node shares with an earlier cut by the same feature on its path.
  bool find_before(Node& node) const {
    node.feature = trees_.feature[static_cast<std::size_t>(begin_ + node.cut)];
    for (std::int32_t up = node.parent; up >= 0; up = tree_.nodes[static_cast<std::size_t>(up)].parent) {
      const Node& earlier = tree_.nodes[static_cast<std::size_t>(up)];
      if (earlier.feature != node.feature) continue;
      node.before_depth = earlier.depth, node.before_share = earlier.share;
      return true;
    }
    return false;
  }

  void set_slots() {
    std::vector<std::int32_t>& columns = tree_.columns;
    for (const Node& node : tree_.nodes)
      if (node.is_left) columns.push_back(node.feature);   // each cut once
    std::ranges::sort(columns);
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    for (Node& node : tree_.nodes)
      if (node.parent >= 0)
        node.slot = static_cast<std::int32_t>(std::ranges::lower_bound(columns, node.feature) - columns.begin());
  }

  const ShapTrees& trees_;
  const std::int64_t begin_;
  const std::size_t n_nodes_;
  Tree tree_;
  std::vector<double> expected_, reach_;
  std::vector<std::int32_t> different_;   // by node: different columns on its path
  std::int32_t most_different_ = 1;
};

}   // namespace

Quadrature::Quadrature(int n) {
  for (int i = 0; i < n; ++i) {
    double x = std::cos(kPi * (i + 0.75) / (n + 0.5)), slope = 0;
    for (int step = 0; step < 100; ++step) {   // Newton, from near
      double p = 1, before = 0;
      for (int k = 1; k <= n; ++k) {
        const double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
        before = p, p = next;
      }
      slope = n * (x * p - before) / (x * x - 1);
      const double move = p / slope;
      x -= move;
      if (std::abs(move) < 1e-16) break;
    }
    points.push_back((1 - x) / 2), rests.push_back((1 + x) / 2);
    weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
}

BuiltTrees::BuiltTrees(const ShapTrees& trees) {
  built_.resize(static_cast<std::size_t>(trees.n_trees()));
  constexpr std::int64_t kNodeNs = 100;
  for_tasks(trees.n_trees(), static_cast<std::int64_t>(trees.feature.size()) * kNodeNs,
            [&](std::int64_t t) { built_[static_cast<std::size_t>(t)] = TreeBuilder(trees, t).build(); });
  for (const Tree& tree : built_)
    if (auto& rule = rules_[static_cast<std::size_t>(tree.n_points)]; !rule) rule.emplace(tree.n_points);
}

}   // namespace kedge::engine::shap
