// Points prepared for neighbour searches on the GPU.
#pragma once

#include <memory>

#include "engine/backend/cuda/cuda_ops.h"

namespace kedge::engine {

// DistanceOps::index_points().
template <class T>
std::unique_ptr<NeighbourIndex<T>> make_neighbour_index(const CudaParts<T>& parts, MatrixView<const T> points,
                                                        const Distance& distance);

}   // namespace kedge::engine
