// Dividing a row by its norm, one warp a row: its sum is folded as everywhere, its maximum any way.
#pragma once

#include "engine/backend/column_functors.h"
#include "engine/backend/cuda/sums.cuh"

namespace kedge::engine {

// By all lanes of a warp, on n values side by side; a row whose norm is tiny stays as it is.
template <class T>
__device__ void divide_values(RowNorm norm, T* row, std::int64_t n) {
  double size = 0;
  for (std::int64_t j = threadIdx.x; j < n; j += kLanes) {
    const double x = fabs(static_cast<double>(row[j]));
    if (norm == RowNorm::kMax)
      size = x > size ? x : size;
    else
      size += norm == RowNorm::kL2 ? x * x : x;
  }
  if (norm == RowNorm::kMax) {
    for (int width = kLanes / 2; width > 0; width /= 2) {
      const double other = __shfl_down_sync(kFullWarp, size, width);
      size = other > size ? other : size;
    }
  } else {
    size = fold_lanes(size);
  }
  size = __shfl_sync(kFullWarp, size, 0);
  if (norm == RowNorm::kL2) size = sqrt(size);
  if (is_tiny_norm<T>(size)) return;
  for (std::int64_t j = threadIdx.x; j < n; j += kLanes) row[j] = static_cast<T>(static_cast<double>(row[j]) / size);
}

}  // namespace kedge::engine
