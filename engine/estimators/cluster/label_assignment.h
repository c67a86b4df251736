// Clusters of the places that a spectral map gives: by rotations towards a partition, or by a pivoted decomposition.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/context.h"
#include "engine/core/legacy_random.h"

namespace kedge::engine {

// The partition nearest to the places (n rows of k numbers) under rotations, found in turns with the rotation, as
// scikit-learn's discretize(). Errors: kCancelled. Source: Yu, Shi, "Multiclass spectral clustering", ICCV 2003.
std::vector<std::int32_t> discretized_labels(const Context& ctx, std::vector<double> places, std::int64_t k,
                                             LegacyRandom& random);
// The coordinate that is largest once k rows, which lie apart most, have turned to the axes, as cluster_qr().
// Source: Damle, Minden, Ying, "Simple, direct, and efficient multi-way spectral clustering", Information and Inference
// 8(1), 2019.
std::vector<std::int32_t> pivoted_labels(const Context& ctx, const std::vector<double>& places, std::int64_t k);

}   // namespace kedge::engine
