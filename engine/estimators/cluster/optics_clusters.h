// Clusters in an order of OPTICS: below a distance, or between steep slopes of the reachability.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/estimators/cluster/optics_order.h"

namespace kedge::engine {

struct XiOptions {
  double xi = 0.05;
  std::int64_t min_samples = 5, min_cluster_size = 5;
  bool corrects_predecessors = true;
};
using XiCluster = std::array<std::int32_t, 2>;   // first and last place in the order

// By first and last place in the order, smaller clusters before those that hold them. Sources: Ankerst et al., figure
// 19; the correction by predecessors: Schubert, Gertz, "Improving the cluster structure extracted from OPTICS plots",
// LWDA 2018, algorithm 2.
std::vector<XiCluster> xi_clusters(const OpticsOrder& found, const XiOptions& options);
// The smallest cluster that each row is in, -1 for none.
std::vector<std::int32_t> xi_labels(const OpticsOrder& found, const std::vector<XiCluster>& clusters);
// About DBSCAN's clusters with this eps.
std::vector<std::int32_t> labels_within(const OpticsOrder& found, double eps);

}   // namespace kedge::engine
