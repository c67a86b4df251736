// Sorting on the GPU: CUB's segmented sort, one segment a row, and its radix sort of pairs, which is stable.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <vector>

#include "engine/backend/cuda/native/handles.h"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {

template <class T>
void DeviceLibraries::sort_rows(MatrixView<T> A) {
  if (A.rows == 0 || A.cols < 2) return;
  CudaRuntime& runtime = impl_->runtime;
  std::vector<std::int64_t> offsets;   // begin of each row, then the end of each
  for (std::int64_t i = 0; i < A.rows; ++i) offsets.push_back(i * A.stride);
  for (std::int64_t i = 0; i < A.rows; ++i) offsets.push_back(i * A.stride + A.cols);
  const std::int64_t extent = (A.rows - 1) * A.stride + A.cols;
  Array<std::int64_t> bounds(runtime, offsets);
  Array<T> sorted(runtime, extent);
  runtime.copy(sorted.data(), raw(A),
               static_cast<std::size_t>(extent) * sizeof(T));   // what lies between rows must stay
  const auto stream = static_cast<cudaStream_t>(runtime.stream());
  const auto sort = [&](void* work, std::size_t& bytes) {
    KEDGE_CHECK(cub::DeviceSegmentedSort::SortKeys(work, bytes, static_cast<const T*>(raw(A)), raw(sorted), extent,
                                                   A.rows, raw(bounds), raw(bounds) + A.rows, stream));
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);
  Array<unsigned char> work(runtime, static_cast<std::int64_t>(bytes));
  sort(work.data(), bytes);
  runtime.copy(raw(A), sorted.data(), static_cast<std::size_t>(extent) * sizeof(T));
}

void DeviceLibraries::sort_pairs(std::int32_t* keys, std::int32_t* values, std::int64_t n) {
  if (n < 2) return;
  CudaRuntime& runtime = impl_->runtime;
  Array<std::int32_t> sorted_keys(runtime, n), sorted_values(runtime, n);
  const auto sort = [&](void* work, std::size_t& bytes) {
    KEDGE_CHECK(cub::DeviceRadixSort::SortPairs(work, bytes, static_cast<const std::int32_t*>(keys), raw(sorted_keys),
                                                static_cast<const std::int32_t*>(values), raw(sorted_values), n, 0, 31,
                                                static_cast<cudaStream_t>(runtime.stream())));
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);
  Array<unsigned char> work(runtime, static_cast<std::int64_t>(bytes));
  sort(work.data(), bytes);
  runtime.copy(keys, sorted_keys.data(), static_cast<std::size_t>(n) * sizeof(std::int32_t));
  runtime.copy(values, sorted_values.data(), static_cast<std::size_t>(n) * sizeof(std::int32_t));
}

template void DeviceLibraries::sort_rows(MatrixView<float>);
template void DeviceLibraries::sort_rows(MatrixView<double>);

}  // namespace kedge::engine
