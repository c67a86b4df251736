// Weighted sums and means that hold twice a double's bits, on the GPU.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/core/view.h"

namespace kedge::engine {

// As RowOps::precise_means(). weights: null for 1 each.
template <class T>
void precise_means(CudaRuntime& runtime, MatrixView<const T> Z, const double* weights, double* mean, double* total);

// As RowOps::weighted_sums().
template <class T>
void precise_sums(CudaRuntime& runtime, MatrixView<const T> Z, const double* weights, double* sums);

}   // namespace kedge::engine
