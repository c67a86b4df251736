// Sorting a few thousand (key, index) pairs in shared memory by one block.
#pragma once

#include <cstdint>

#include "engine/backend/cuda/launch.cuh"

namespace kedge::engine {

// Pairs in shared memory, ordered by key and then by index. All threads of the block call sort(); it begins and ends with
// every thread seeing the pairs. `size` is a power of two.
template <class Key>
struct SharedPairs {
  Key* keys;
  std::int32_t* indices;
  int size;

  __device__ bool before(int a, int b) const { return keys[a] < keys[b] || (keys[a] == keys[b] && indices[a] < indices[b]); }

  __device__ void sort() const {   // bitonic (Batcher, 1968)
    __syncthreads();
    for (int run = 2; run <= size; run *= 2) {
      for (int step = run / 2; step > 0; step /= 2) {
        for (int a = static_cast<int>(threadIdx.x); a < size; a += static_cast<int>(blockDim.x)) {
          const int b = a ^ step;
          if (b > a && before(b, a) == ((a & run) == 0)) swap(a, b);
        }
        __syncthreads();
      }
    }
  }

  __device__ void swap(int a, int b) const {
    const Key key = keys[a];
    const std::int32_t index = indices[a];
    keys[a] = keys[b], indices[a] = indices[b];
    keys[b] = key, indices[b] = index;
  }
};

}  // namespace kedge::engine
