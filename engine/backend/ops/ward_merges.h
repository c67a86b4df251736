// What a device that merges clusters by Ward's linkage itself has beside DistanceOps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/backend/ops/distances.h"

namespace kedge::engine {

// Clusters a < b, each known by its lowest row, become one. gap: what the merge adds to twice the criterion.
struct WardMerge {
  std::int32_t a, b;
  double gap;
};

class WardOps {
 public:
  virtual ~WardOps() = default;

  // The n - 1 merges of the rows of `points`, in no order: in each round all pairs that are each other's nearest, which
  // are the merges of nearest-neighbour chains because a merge brings no cluster nearer to others. Centroids move and
  // gaps are made as the host does it, with its bits. Nothing where two clusters are as near to a third, and for fewer
  // than 2 rows. Calls pause(merges), which may throw, now and then. A round costs the clusters that lost their nearest
  // times all clusters, times d; usually about log(n) rounds. Waits.
  // Source: Muellner, "Modern hierarchical, agglomerative clustering algorithms", arXiv:1109.2378, section 2.
  virtual std::optional<std::vector<WardMerge>> ward_merges(MatrixView<const double> points,
                                                            const std::function<void(std::int64_t)>& pause) = 0;
};

// Null where the host's threads merge.
template <class T>
WardOps* ward_ops(DistanceOps<T>& distances) {
  return dynamic_cast<WardOps*>(&distances);
}

}   // namespace kedge::engine
