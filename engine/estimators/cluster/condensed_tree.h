// What HDBSCAN takes from a tree of merged rows: clusters of some size, from the density at which they part from their
// parent to that at which they part themselves, and which of them are answers.
// Source: Campello, Moulavi, Zimek, Sander, "Hierarchical density estimates for data clustering, visualization, and
// outlier detection", TKDD 2015; numbered as scikit-learn does.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/estimators/cluster/dendrogram.h"

namespace kedge::engine {

struct ClusterChoice {
  std::int64_t min_cluster_size = 5;
  std::optional<std::int64_t> max_cluster_size;
  double epsilon = 0;      // clusters that part at less than this distance are not answers by themselves
  bool by_leaves = false;   // the leaves, instead of the clusters that exist longest
  bool allows_one = false;   // the root may be an answer
};

struct ChosenClusters {
  std::vector<std::int32_t> labels;     // of each row; -1: in none
  std::vector<double> probabilities;    // how near the densest rows of its cluster each row is
  std::int32_t n_clusters = 0;
};

ChosenClusters choose_clusters(const Dendrogram& tree, const ClusterChoice& choice);

}   // namespace kedge::engine
