// Products of bfloat16 by a warp's tensor units, and asynchronous copies into shared memory. Compute
// capability 8.0 and newer; older code has the functions, empty, and launches no kernel that calls them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backend/cuda/launch.cuh"

#if !defined(__CUDACC__)
#include "engine/backend/emulated/tensor.h"
#endif

namespace kedge::engine {

// Devices of 8.0 and newer, and no others, give a block at least so much shared memory.
inline bool has_tensor_units(const CudaRuntime& gpu) {
  constexpr std::size_t kLeastSharedBytes = 99 * 1024;
  return gpu.max_shared_bytes() >= kLeastSharedBytes;
}

#if defined(__CUDACC__)

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define KEDGE_TENSOR_PTX(...) asm volatile(__VA_ARGS__)
#else
#define KEDGE_TENSOR_PTX(...) static_cast<void>(0)
#endif

// sum += a b of 16 x 16 by 16 x 8 values: mma.m16n8k16 of the PTX manual, which says what each lane holds. Products are
// exact. Each addend may be cut to 2^-23 of the largest one; see TensorError.
__device__ inline void multiply_fragments(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  KEDGE_TENSOR_PTX(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(
          sum[0]),
      "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Starts a copy of 16 bytes, both ends aligned to them, as part of the thread's next group.
__device__ inline void copy_ahead(void* shared, const void* global) {
  KEDGE_TENSOR_PTX(
      "cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
      "l"(global) : "memory");
}
__device__ inline void end_copy_group() {
  KEDGE_TENSOR_PTX("cp.async.commit_group;" : : : "memory");
}
// Waits until at most kPending of the thread's latest groups are under way. Others see the bytes after a barrier.
template <int kPending>
__device__ void await_copies() {
  KEDGE_TENSOR_PTX("cp.async.wait_group %0;" : : "n"(kPending) : "memory");
}
#undef KEDGE_TENSOR_PTX

#else   // the emulator's

inline void multiply_fragments(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  emulated::multiply_fragments(sum, a, b);
}
inline void copy_ahead(void* shared, const void* global) {
  emulated::running_copies().start(shared, global);
}
inline void end_copy_group() {
  emulated::running_copies().end_group();
}
template <int kPending>
void await_copies() {
  emulated::running_copies().await(kPending);
}

#endif

}   // namespace kedge::engine
