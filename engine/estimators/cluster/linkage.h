// Hierarchical clustering: which clusters of rows are merged, and at what height.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/distance.h"
#include "engine/core/context.h"
#include "engine/estimators/cluster/dendrogram.h"

namespace kedge::engine {

enum class Linkage { kWard, kComplete, kAverage, kSingle };

// The n - 1 merges of n rows of `dims` numbers, by height. Ward and single linkage store no distances, the others n^2
// of them. Of equal distances that of the lower rows is first. halves: distances are half the squared ones, as
// those of cosines are between rows of length 1. Errors: kCancelled.
// Source: Müllner, "Modern hierarchical, agglomerative clustering algorithms", arXiv:1109.2378: nearest-neighbour
// chains, and the spanning tree for single linkage.
std::vector<Merge> linkage_merges(const Context& ctx, Linkage linkage, const std::vector<double>& rows, std::int64_t n,
                                  std::int64_t dims, const Distance& distance, bool halves);

}   // namespace kedge::engine
