// The first include of every kernel file: CUDA under nvcc, the fiber emulator's vocabulary under g++. Kernels are launched
// and reach dynamic shared memory through the two macros here and in no other way.
#pragma once

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/raw.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#else
#include <tuple>

#include "engine/backend/emulated/shim.h"
#endif

// KEDGE_LAUNCH(runtime, (kernel<T, 4>), grid, block, shared_bytes, arguments...): on the runtime's stream, checked.
// A kernel name that contains a comma goes in parentheses.
#define KEDGE_LAUNCH(runtime, kernel, grid, block, shared_bytes, ...) \
  ::kedge::engine::launch_kernel(runtime, #kernel, kernel, grid, block, shared_bytes __VA_OPT__(, ) __VA_ARGS__)

// KEDGE_UNROLL before a loop over an array that must stay in registers: an index that is not known when it is compiled
// would put the whole array into memory.
#if defined(__CUDACC__)
#define KEDGE_UNROLL _Pragma("unroll")
#else
#define KEDGE_UNROLL
#endif

// KEDGE_DYNAMIC_SHARED(T, name): inside a kernel, `T* name` is the block's dynamic shared memory, aligned to 16 bytes.
#if defined(__CUDACC__)
#define KEDGE_DYNAMIC_SHARED(T, name)                                          \
  extern __shared__ __align__(16) unsigned char kedge_dynamic_shared_memory[]; \
  T* const name = reinterpret_cast<T*>(kedge_dynamic_shared_memory)
#else
#define KEDGE_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::kedge::engine::emulated::dynamic_shared())
#endif

namespace kedge::engine {

inline constexpr unsigned kFullWarp = 0xffffffffu;

// A kernel takes the pointers behind views.
template <class T>
const T& kernel_argument(const T& value) {
  return value;
}
template <class T>
T* kernel_argument(DevicePointer<T> pointer) {
  return raw(pointer);
}

template <class... Params, class... Args>
void launch_kernel(CudaRuntime& runtime, const char* name, void (*kernel)(Params...), dim3 grid, dim3 block,
                   std::size_t shared_bytes, Args&&... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;   // CUDA refuses an empty grid
  if (shared_bytes > 0) runtime.allow_shared(reinterpret_cast<const void*>(kernel), name, shared_bytes);
#if defined(__CUDACC__)
  kernel<<<grid, block, shared_bytes, static_cast<cudaStream_t>(runtime.stream())>>>(
      static_cast<Params>(kernel_argument(args))...);
#else
  emulated::launch(runtime.stream(), {name, reinterpret_cast<const void*>(kernel), grid, block, shared_bytes},
                   [kernel, params = std::tuple<Params...>(static_cast<Params>(kernel_argument(args))...)] {
                     std::apply(kernel, params);   // a recording keeps them
                   });
#endif
  runtime.check_launch(name);
}

// Blocks of `threads` that cover n items, never more than a grid may have.
inline unsigned blocks_for(std::int64_t n, std::int64_t threads) {
  const std::int64_t blocks = (n + threads - 1) / threads;
  return static_cast<unsigned>(blocks < 0x7fffffff ? blocks : 0x7fffffff);
}

// A grid of x times y blocks. No GPU takes more than runtime.max_grid_rows() in y, so the rest goes to z: kernels take
// their place from block_y(). The last layer may reach beyond y: kernels leave alone what is not there.
inline dim3 tall_grid(const CudaRuntime& runtime, unsigned x, unsigned y) {
  const unsigned most = runtime.max_grid_rows(), layers = y / most + (y % most != 0);
  return layers < 2 ? dim3(x, y) : dim3(x, y / layers + (y % layers != 0), layers);
}

__device__ inline std::int64_t block_y() {
  return static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
}

}  // namespace kedge::engine
