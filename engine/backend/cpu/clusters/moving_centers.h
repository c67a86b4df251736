// Centres of k-means that move, on the CPU: bounds leave few rows in doubt.
#pragma once

#include <memory>

#include "engine/backend/ops/moving_centers.h"

namespace kedge::engine {

// ClusterOps::follow_centers().
template <class T>
std::unique_ptr<MovingCenters<T>> make_moving_centers(MatrixView<const T> X, VectorView<const double> weights,
                                                      VectorView<std::int32_t> labels);

}   // namespace kedge::engine
