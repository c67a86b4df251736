// What columns are made of, found on the GPU: sorted copies, and the runs of equal numbers in them.
#pragma once

#include <span>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/neighbours/selection.cuh"
#include "engine/core/array.h"

namespace kedge::engine {

// As ColumnOps::column_centres() and count_numbers(), which have the contracts.
template <class T>
void column_centres(CudaRuntime& runtime, DeviceLibraries& libraries, ColumnCentre kind, const Selection<T>& X,
                    const T* missing, double* centre, std::int64_t* present);
template <class T>
std::vector<NumberCounts<T>> count_numbers(CudaRuntime& runtime, DeviceLibraries& libraries, const Selection<T>& X,
                                           std::span<const std::int32_t> columns);

}   // namespace kedge::engine
