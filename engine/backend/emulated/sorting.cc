// Plain references for CUB's sorting and scanning.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "engine/backend/cuda/libraries.h"

namespace kedge::engine {
namespace {

// The radix sort's order: by value, with -0 before +0.
template <class Key>
bool before(Key a, Key b) {
  if constexpr (std::is_floating_point_v<Key>) {
    if (a == 0 && b == 0) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

}  // namespace

template <class Key>
void sort_keys(CudaRuntime&, const Key* in, Key* out, std::int64_t n) {
  std::copy_n(in, n, out);
  std::stable_sort(out, out + n, before<Key>);
}

template <class Key>
void sort_pairs(CudaRuntime&, const Key* keys, Key* keys_out, const std::int32_t* values, std::int32_t* values_out,
                std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return before(keys[a], keys[b]); });
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t from = order[static_cast<std::size_t>(i)];
    keys_out[i] = keys[from], values_out[i] = values[from];
  }
}

template <class T>
void exclusive_sum(CudaRuntime&, const T* in, T* out, std::int64_t n) {
  std::exclusive_scan(in, in + n, out, T{0});
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
