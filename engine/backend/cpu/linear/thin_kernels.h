// The inner loops of thin products, for each width of vectors that x86 has.
#pragma once

#include <cstdint>

namespace kedge::engine {

constexpr std::int64_t kThin = 16;   // classes, at most
constexpr int kThinRows = 8;         // rows at once: enough sums in flight to hide the latency of one

// 64 bytes: a strip is one vector of AVX-512, or several narrower ones.
template <class T>
struct alignas(64) ThinStrip {
  static constexpr std::int64_t kLanes = 64 / sizeof(T);
  T lanes[kLanes] = {};
};

// Multiply-adds are fused where the CPU has them, and then every width gives the same bits.
template <class T>
struct ThinKernels {
  // z[r][c] = sum over j < d of x[r][j] * b[c][j] for kThinRows rows and k classes; z has no padding. `b`: the strips of a class one after the
  // other, d / kLanes whole ones and one for the columns that are left, with zeros before them: it meets the last kLanes columns of x, d >= kLanes.
  void (*multiply_along)(const T* x, std::int64_t stride, std::int64_t d, const ThinStrip<T>* b, std::int64_t k, T* z);
  // The same by strips of kLanes classes: strip j of the first d has column j of the first classes, and so on.
  void (*multiply_across)(const T* x, std::int64_t stride, std::int64_t d, const ThinStrip<T>* b, std::int64_t k, T* z);
  // sums[c][j] += sum over r < rows of z[r][c] * x[r][j], in that order; sums has no padding.
  void (*add)(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t d, const T* z, std::int64_t z_stride, std::int64_t k, T* sums);
};

// Those for vectors of so many bytes (64, 32 or 16); null where this CPU has none.
template <class T>
const ThinKernels<T>* thin_kernels_of(int vector_bytes);

// Those for the widest vectors.
template <class T>
const ThinKernels<T>& thin_kernels();

}  // namespace kedge::engine
