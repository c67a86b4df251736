// The tree is walked in breadth, as scikit-learn walks it, so that clusters have the same numbers.
#include "engine/estimators/cluster/condensed_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace kedge::engine {
namespace {

constexpr std::int32_t kNone = -1;

// A row, or a cluster, leaves a cluster at this density (1 / distance).
struct Leaving {
  std::int32_t parent, child;   // clusters are numbered from 0, the root
  double density;
  std::int32_t size;
  bool is_row;
};

struct CondensedTree {
  std::vector<Leaving> leavings;   // a cluster's own after the one by which it leaves its parent
  std::int32_t n_clusters = 1;
};

// Nodes of a tree, the level below another behind it.
void in_breadth(const Dendrogram& tree, std::int32_t top, std::vector<std::int32_t>& nodes) {
  nodes.assign(1, top);
  for (std::size_t next = 0; next < nodes.size(); ++next) {
    if (nodes[next] < tree.n_rows()) continue;
    const auto& pair = tree.children[static_cast<std::size_t>(nodes[next] - tree.n_rows())];
    nodes.insert(nodes.end(), pair.begin(), pair.end());
  }
}

CondensedTree condense(const Dendrogram& tree, std::int64_t min_cluster_size) {
  const std::int32_t n = tree.n_rows(), root = 2 * n - 2;
  CondensedTree made;
  std::vector<std::int32_t> nodes, below, cluster(static_cast<std::size_t>(root) + 1, kNone);   // of each node
  cluster[static_cast<std::size_t>(root)] = 0;
  in_breadth(tree, root, nodes);
  for (const std::int32_t node : nodes) {
    const std::int32_t own = cluster[static_cast<std::size_t>(node)];
    if (node < n || own == kNone) continue;   // its rows have left with a node above
    const auto& pair = tree.children[static_cast<std::size_t>(node - n)];
    const double distance = tree.heights[static_cast<std::size_t>(node - n)];
    const double density = distance > 0 ? 1 / distance : std::numeric_limits<double>::infinity();
    const bool parts = std::ranges::all_of(pair, [&](std::int32_t child) { return tree.size_of(child) >= min_cluster_size; });
    for (const std::int32_t child : pair) {
      if (parts) {
        cluster[static_cast<std::size_t>(child)] = made.n_clusters++;
        made.leavings.push_back(
            {own, cluster[static_cast<std::size_t>(child)], density, tree.size_of(child), false});
      } else if (tree.size_of(child) >= min_cluster_size) {
        cluster[static_cast<std::size_t>(child)] = own;
      } else {
        in_breadth(tree, child, below);
        for (const std::int32_t row : below)
          if (row < n) made.leavings.push_back({own, row, density, 1, true});
      }
    }
  }
  return made;
}

// Answers questions about the clusters of a condensed tree, by their numbers.
class Clusters {
 public:
  Clusters(const CondensedTree& tree, const ClusterChoice& choice)
      : choice_(choice), parent_(count(tree), kNone), birth_(count(tree), 0.0), size_(count(tree)),
        children_(count(tree)), stability_(count(tree), 0.0) {
    for (const Leaving& one : tree.leavings) {
      const auto parent = static_cast<std::size_t>(one.parent), child = static_cast<std::size_t>(one.child);
      stability_[parent] += (one.density - birth_[parent]) * one.size;
      if (one.is_row) continue;
      parent_[child] = one.parent, birth_[child] = one.density, size_[child] = one.size;
      children_[parent].push_back(one.child);
      if (one.parent == 0) size_[0] += one.size;   // as scikit-learn has it: without the rows that leave by themselves
    }
  }

  // Whether each is an answer.
  std::vector<char> answers() {
    const std::vector<char> chosen = choice_.by_leaves ? leaves() : most_stable();
    return choice_.epsilon > 0 && !chosen[0] ? far_enough(chosen) : chosen;
  }

 private:
  static std::size_t count(const CondensedTree& tree) { return static_cast<std::size_t>(tree.n_clusters); }

  // From the leaves up: a cluster, or the best within it, whichever exists longer.
  std::vector<char> most_stable() {
    std::vector<char> chosen(parent_.size(), 1);
    chosen[0] = choice_.allows_one;
    for (auto c = static_cast<std::int32_t>(parent_.size()) - 1; c >= (choice_.allows_one ? 0 : 1); --c) {
      const auto own = static_cast<std::size_t>(c);
      double within = 0;
      for (const std::int32_t child : children_[own]) within += stability_[static_cast<std::size_t>(child)];
      if (within > stability_[own] || size_[own] > choice_.max_cluster_size.value_or(kMostRows)) {
        chosen[own] = 0, stability_[own] = within;
      } else {
        mark_below(c, 0, chosen);
      }
    }
    return chosen;
  }

  std::vector<char> leaves() const {
    std::vector<char> chosen(parent_.size());
    for (std::size_t c = 1; c < chosen.size(); ++c) chosen[c] = children_[c].empty();
    return chosen;
  }

  // In place of each cluster that parts from its parent at less than epsilon, the one above that does not.
  std::vector<char> far_enough(const std::vector<char>& chosen) const {
    std::vector<char> kept(chosen.size()), passed(chosen.size());
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      if (!chosen[c] || passed[c]) continue;
      auto own = static_cast<std::int32_t>(c);
      if (distance_of(own) < choice_.epsilon) {
        own = ancestor(own);
        mark_below(own, 0, kept), mark_below(own, 1, passed);
      }
      kept[static_cast<std::size_t>(own)] = 1;
    }
    return kept;
  }
  std::int32_t ancestor(std::int32_t c) const {
    for (;;) {
      const std::int32_t above = parent_[static_cast<std::size_t>(c)];
      if (above == 0) return choice_.allows_one ? 0 : c;
      c = above;
      if (distance_of(c) > choice_.epsilon) return c;
    }
  }
  double distance_of(std::int32_t c) const { return 1 / birth_[static_cast<std::size_t>(c)]; }

  void mark_below(std::int32_t top, char mark, std::vector<char>& marks) const {
    std::vector<std::int32_t> left = children_[static_cast<std::size_t>(top)];
    while (!left.empty()) {
      const auto c = static_cast<std::size_t>(left.back());
      left.pop_back();
      marks[c] = mark;
      left.insert(left.end(), children_[c].begin(), children_[c].end());
    }
  }

  static constexpr std::int64_t kMostRows = std::numeric_limits<std::int64_t>::max();
  const ClusterChoice& choice_;
  std::vector<std::int32_t> parent_;
  std::vector<double> birth_;   // the density at which it parts from its parent
  std::vector<std::int32_t> size_;
  std::vector<std::vector<std::int32_t>> children_;
  std::vector<double> stability_;
};

// The answer that each cluster lies in, or none.
std::vector<std::int32_t> answer_of(const CondensedTree& tree, const std::vector<char>& chosen) {
  std::vector<std::int32_t> answer(chosen.size(), kNone);
  if (chosen[0]) answer[0] = 0;
  for (const Leaving& one : tree.leavings) {
    if (one.is_row) continue;
    const auto child = static_cast<std::size_t>(one.child);
    answer[child] = chosen[child] ? one.child : answer[static_cast<std::size_t>(one.parent)];
  }
  return answer;
}

}   // namespace

ChosenClusters choose_clusters(const Dendrogram& dendrogram, const ClusterChoice& choice) {
  const CondensedTree tree = condense(dendrogram, choice.min_cluster_size);
  const std::vector<char> chosen = Clusters(tree, choice).answers();
  std::vector<double> death(chosen.size(), 0.0);   // the last density at which something leaves
  for (const Leaving& one : tree.leavings) {
    double& last = death[static_cast<std::size_t>(one.parent)];
    last = std::max(last, one.density);
  }
  const double root_death = choice.epsilon > 0 ? 1 / choice.epsilon : death[0];

  ChosenClusters made;
  std::vector<std::int32_t> label(chosen.size(), kNone);
  for (std::size_t c = 0; c < chosen.size(); ++c)
    if (chosen[c]) label[c] = made.n_clusters++;
  const std::vector<std::int32_t> answer = answer_of(tree, chosen);
  const auto n = static_cast<std::size_t>(dendrogram.n_rows());
  made.labels.assign(n, kNone), made.probabilities.assign(n, 0.0);
  for (const Leaving& row : tree.leavings) {
    if (!row.is_row) continue;
    const std::int32_t in = answer[static_cast<std::size_t>(row.parent)];
    // A row of the root is noise, unless the root is the only answer and the row is among its densest.
    if (in == kNone || (in == 0 && !(made.n_clusters == 1 && choice.allows_one && row.density >= root_death))) continue;
    const double last = death[static_cast<std::size_t>(in)];
    made.labels[static_cast<std::size_t>(row.child)] = label[static_cast<std::size_t>(in)];
    made.probabilities[static_cast<std::size_t>(row.child)] =
        last == 0 || std::isinf(row.density) ? 1.0 : std::min(row.density, last) / last;
  }
  return made;
}

}   // namespace kedge::engine
