// Sorting and scanning through CUB, the temporary storage taken from the runtime's pool.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "engine/backend/cuda/libraries.h"
#include "engine/backend/cuda/native/check.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

// CUB's calls are made twice: once to learn how much temporary storage they need, once for real.
template <class Call>
void with_storage(CudaRuntime& runtime, const char* what, Call&& call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes), what);
  Array<unsigned char> storage(runtime, static_cast<std::int64_t>(bytes));
  check(call(storage.data(), bytes), what);
}

cudaStream_t stream_of(CudaRuntime& runtime) { return static_cast<cudaStream_t>(runtime.stream()); }

}  // namespace

template <class Key>
void sort_keys(CudaRuntime& runtime, const Key* in, Key* out, std::int64_t n) {
  with_storage(runtime, "sort_keys", [&](void* p, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(p, bytes, in, out, n, 0, static_cast<int>(sizeof(Key) * 8), stream_of(runtime));
  });
}

template <class Key>
void sort_pairs(CudaRuntime& runtime, const Key* keys, Key* keys_out, const std::int32_t* values, std::int32_t* values_out,
                std::int64_t n) {
  with_storage(runtime, "sort_pairs", [&](void* p, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(p, bytes, keys, keys_out, values, values_out, n, 0,
                                           static_cast<int>(sizeof(Key) * 8), stream_of(runtime));
  });
}

template <class T>
void exclusive_sum(CudaRuntime& runtime, const T* in, T* out, std::int64_t n) {
  with_storage(runtime, "exclusive_sum", [&](void* p, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(p, bytes, in, out, n, stream_of(runtime));
  });
}

template void sort_keys(CudaRuntime&, const float*, float*, std::int64_t);
template void sort_keys(CudaRuntime&, const double*, double*, std::int64_t);
template void sort_keys(CudaRuntime&, const std::uint32_t*, std::uint32_t*, std::int64_t);
template void sort_keys(CudaRuntime&, const std::uint64_t*, std::uint64_t*, std::int64_t);
template void sort_pairs(CudaRuntime&, const float*, float*, const std::int32_t*, std::int32_t*, std::int64_t);
template void sort_pairs(CudaRuntime&, const double*, double*, const std::int32_t*, std::int32_t*, std::int64_t);
template void sort_pairs(CudaRuntime&, const std::uint32_t*, std::uint32_t*, const std::int32_t*, std::int32_t*, std::int64_t);
template void sort_pairs(CudaRuntime&, const std::uint64_t*, std::uint64_t*, const std::int32_t*, std::int32_t*, std::int64_t);
template void exclusive_sum(CudaRuntime&, const std::int32_t*, std::int32_t*, std::int64_t);
template void exclusive_sum(CudaRuntime&, const std::int64_t*, std::int64_t*, std::int64_t);

}  // namespace kedge::engine
