// Points prepared for neighbour searches on the CPU.
#pragma once

#include <memory>

#include "engine/backend/ops/neighbour_index.h"
#include "engine/backend/ops/neighbours.h"

namespace kedge::engine {

// DistanceOps::index_points(); `ops` search in many columns.
template <class T>
std::unique_ptr<NeighbourIndex<T>> make_neighbour_index(NeighbourOps<T>& ops, MatrixView<const T> points,
                                                        const Distance& distance);

}   // namespace kedge::engine
