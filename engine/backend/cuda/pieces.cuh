// Four neighbouring values as one access of 16 bytes (doubles: two), where they lie so.
#pragma once

#include <cstdint>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/raw.h"
#include "engine/core/portability.h"
#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
struct alignas(16) FourValues {
  T values[4];
};

// Whether every fourth value of each row begins such a piece.
template <class T>
KEDGE_HD bool lies_in_pieces(MatrixView<T> X) {
  return X.stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(raw(X)) % 16 == 0;
}

template <class T>
__device__ FourValues<T> four_at(const T* p) {
  return *reinterpret_cast<const FourValues<T>*>(p);
}
template <class T>
__device__ void put_four(T* p, const FourValues<T>& four) {
  *reinterpret_cast<FourValues<T>*>(p) = four;
}

// What one thread along x takes of a row of n columns: pieces of four, or every blockDim.x-th column. out[j] = f(j,
// row[j]).
template <class T, class U, class F>
__device__ void map_row(const T* row, U* out, std::int64_t n, bool in_pieces, F&& f) {
  if (!in_pieces) {
    for (std::int64_t j = threadIdx.x; j < n; j += blockDim.x) out[j] = f(j, row[j]);
    return;
  }
  for (std::int64_t j = 4 * static_cast<std::int64_t>(threadIdx.x); j < n;
       j += 4 * static_cast<std::int64_t>(blockDim.x)) {
    if (j + 4 > n) {
      for (; j < n; ++j) out[j] = f(j, row[j]);
      return;
    }
    const FourValues<T> from = four_at(row + j);
    FourValues<U> to;
    for (int e = 0; e < 4; ++e) to.values[e] = f(j + e, from.values[e]);
    put_four(out + j, to);
  }
}

}   // namespace kedge::engine
