// What every score of cluster shapes checks, and the clusters that it gets.
#pragma once

#include "engine/metrics/cluster_shape.h"
#include "engine/metrics/contingency.h"

namespace kedge::engine {

// Errors: kBadData unless there are 2 to n - 1 clusters, and for X that is not finite, naming row and column.
Groups checked_clusters(const char* metric, const ClusterView& clusters);

}  // namespace kedge::engine
