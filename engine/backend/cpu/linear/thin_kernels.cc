// One template for all widths. Vectors are never passed by value: that would be a call between functions of different targets.
#include "engine/backend/cpu/linear/thin_kernels.h"

#include <utility>

#define KEDGE_INLINE inline __attribute__((always_inline))

namespace kedge::engine {
namespace {

template <class T, int kBytes>
struct Wide {
  using Vector __attribute__((vector_size(kBytes))) = T;
};
template <class T, int kBytes>
using Vector = typename Wide<T, kBytes>::Vector;

template <class V, class T>
KEDGE_INLINE void load(const T* from, V& v) {
  __builtin_memcpy(&v, from, sizeof v);
}

// sum = a + b, each folded: lanes q and q + kHalf of each group of 2 kHalf lanes of a, then of b.
template <int kHalf, class V, int... kLane>
KEDGE_INLINE void fold_groups(const V& a, const V& b, V& sum, std::integer_sequence<int, kLane...>) {
  sum = __builtin_shufflevector(a, b, (kLane / kHalf * 2 * kHalf + kLane % kHalf)...) +
        __builtin_shufflevector(a, b, (kLane / kHalf * 2 * kHalf + kHalf + kLane % kHalf)...);
}

// out[i] = the sum of the lanes of v[i], i < n, a power of two; v is used up. Groups of 2 kHalf lanes are one sum each so far.
template <class T, class V, int n, int kHalf>
KEDGE_INLINE void sum_lanes(V* v, T* out) {
  if constexpr (kHalf == 0) {
    __builtin_memcpy(out, v, sizeof(V) * n);
  } else if constexpr (n == 1) {
    static_assert(kHalf == 1);
    for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(T)) / 2; ++i) out[i] = v[0][2 * i] + v[0][2 * i + 1];
  } else {
    constexpr std::make_integer_sequence<int, sizeof(V) / sizeof(T)> kAll;
#pragma GCC unroll 8
    for (int i = 0; i < n / 2; ++i) fold_groups<kHalf>(v[2 * i], v[2 * i + 1], v[i], kAll);
    sum_lanes<T, V, n / 2, kHalf / 2>(v, out);
  }
}

template <class T, int kBytes>
struct Kernels {
  using V = Vector<T, kBytes>;
  using Strip = ThinStrip<T>;
  static constexpr int kWidth = kBytes / static_cast<int>(sizeof(T)), kParts = 64 / kBytes;   // lanes of a vector, vectors of a strip
  static constexpr int kSums = kBytes == 64 ? 16 : 8;   // vectors that are summed at once, at most: half of the registers

  template <int R, int K>
  static KEDGE_INLINE void multiply_tile(const T* x, std::int64_t stride, std::int64_t d, const Strip* b, T* z, std::int64_t z_stride) {
    V sums[R * K * kParts] = {};
    const std::int64_t whole = d / Strip::kLanes, strips = whole + (d % Strip::kLanes != 0);
    for (std::int64_t s = 0; s < strips; ++s) {
      const T* const at = x + (s < whole ? s * Strip::kLanes : d - Strip::kLanes);
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) {
        V rows[R];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) load(at + r * stride + p * kWidth, rows[r]);
#pragma GCC unroll 4
        for (int c = 0; c < K; ++c) {
          V own;
          load(b[c * strips + s].lanes + p * kWidth, own);
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) sums[p * R * K + c * R + r] += rows[r] * own;
        }
      }
    }
#pragma GCC unroll 4
    for (int parts = kParts / 2; parts > 0; parts /= 2)
#pragma GCC unroll 16
      for (int e = 0; e < parts * R * K; ++e) sums[e] += sums[parts * R * K + e];
    T totals[R * K];
    sum_lanes<T, V, R * K, kWidth / 2>(sums, totals);
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < K; ++c) z[r * z_stride + c] = totals[c * R + r];
  }

  // As many groups of K classes as there are from class c on.
  template <int K>
  static KEDGE_INLINE void multiply_groups(const T* x, std::int64_t stride, std::int64_t d, const Strip* b, std::int64_t k, std::int64_t& c, T* z) {
    constexpr int kAtOnce = kSums / kParts / K, R = kAtOnce > kThinRows ? kThinRows : kAtOnce;
    const std::int64_t strips = (d + Strip::kLanes - 1) / Strip::kLanes;
    for (; c + K <= k; c += K)
      for (int r = 0; r < kThinRows; r += R) multiply_tile<R, K>(x + r * stride, stride, d, b + c * strips, z + r * k + c, k);
  }

  static KEDGE_INLINE void multiply_along(const T* x, std::int64_t stride, std::int64_t d, const Strip* b, std::int64_t k, T* z) {
    std::int64_t c = 0;
    if constexpr (kBytes == 64) multiply_groups<4>(x, stride, d, b, k, c, z);
    multiply_groups<2>(x, stride, d, b, k, c, z);
    multiply_groups<1>(x, stride, d, b, k, c, z);
  }

  static KEDGE_INLINE void multiply_across(const T* x, std::int64_t stride, std::int64_t d, const Strip* b, std::int64_t k, T* z) {
    constexpr int R = 8 / kParts;
    for (std::int64_t c = 0; c < k; c += Strip::kLanes, b += d)
      for (int first = 0; first < kThinRows; first += R) {
        V sums[R * kParts] = {};
        for (std::int64_t j = 0; j < d; ++j)
#pragma GCC unroll 4
          for (int p = 0; p < kParts; ++p) {
            V own;
            load(b[j].lanes + p * kWidth, own);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) sums[r * kParts + p] += x[(first + r) * stride + j] * own;
          }
        const std::int64_t count = k - c < Strip::kLanes ? k - c : Strip::kLanes;
        for (int r = 0; r < R; ++r) __builtin_memcpy(z + (first + r) * k + c, &sums[r * kParts], static_cast<std::size_t>(count) * sizeof(T));
      }
  }

  // K classes and N vectors of columns.
  template <int K, int N>
  static KEDGE_INLINE void add_tile(const T* x, std::int64_t stride, std::int64_t rows, const T* z, std::int64_t z_stride, T* sums, std::int64_t d) {
    V total[K * N];
#pragma GCC unroll 16
    for (int e = 0; e < K * N; ++e) load(sums + e / N * d + e % N * kWidth, total[e]);
    for (std::int64_t r = 0; r < rows; ++r) {
      V row[N];
#pragma GCC unroll 16
      for (int v = 0; v < N; ++v) load(x + r * stride + v * kWidth, row[v]);
#pragma GCC unroll 16
      for (int e = 0; e < K * N; ++e) total[e] += z[r * z_stride + e / N] * row[e % N];
    }
#pragma GCC unroll 16
    for (int e = 0; e < K * N; ++e) __builtin_memcpy(sums + e / N * d + e % N * kWidth, &total[e], sizeof(V));
  }

  template <int K, int N>
  static KEDGE_INLINE void add_groups(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t d, const T* z, std::int64_t z_stride,
                                      std::int64_t k, std::int64_t& c, T* sums) {
    for (; c + K <= k; c += K) {
      std::int64_t j = 0;
      for (; j + N * kWidth <= d; j += N * kWidth) add_tile<K, N>(x + j, stride, rows, z + c, z_stride, sums + c * d + j, d);
      for (; j + kWidth <= d; j += kWidth) add_tile<K, 1>(x + j, stride, rows, z + c, z_stride, sums + c * d + j, d);
    }
  }

  static KEDGE_INLINE void add(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t d, const T* z, std::int64_t z_stride, std::int64_t k,
                               T* sums) {
    std::int64_t c = 0;
    add_groups<5, 2>(x, stride, rows, d, z, z_stride, k, c, sums);
    add_groups<3, 3>(x, stride, rows, d, z, z_stride, k, c, sums);
    add_groups<1, 6>(x, stride, rows, d, z, z_stride, k, c, sums);
    if (d % kWidth == 0) return;
    for (std::int64_t r = 0; r < rows; ++r)
      for (c = 0; c < k; ++c)
        for (std::int64_t j = d / kWidth * kWidth; j < d; ++j) sums[c * d + j] += z[r * z_stride + c] * x[r * stride + j];
  }
};

#if defined(__x86_64__)
#define KEDGE_WIDE __attribute__((target("arch=x86-64-v4")))
#define KEDGE_MIDDLE __attribute__((target("arch=x86-64-v3")))
bool has(int vector_bytes) {
  return vector_bytes == 64   ? __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2")
         : vector_bytes == 32 ? __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")
                              : vector_bytes == 16;
}
#else
#define KEDGE_WIDE
#define KEDGE_MIDDLE
bool has(int vector_bytes) { return vector_bytes == 16; }
#endif

// The functions of one width, compiled for the CPUs that have it.
#define KEDGE_KERNELS(name, bytes, compiled_for)                                                                                       \
  template <class T>                                                                                                                   \
  struct name {                                                                                                                        \
    compiled_for static void along(const T* x, std::int64_t stride, std::int64_t d, const ThinStrip<T>* b, std::int64_t k, T* z) {     \
      Kernels<T, bytes>::multiply_along(x, stride, d, b, k, z);                                                                        \
    }                                                                                                                                  \
    compiled_for static void across(const T* x, std::int64_t stride, std::int64_t d, const ThinStrip<T>* b, std::int64_t k, T* z) {    \
      Kernels<T, bytes>::multiply_across(x, stride, d, b, k, z);                                                                       \
    }                                                                                                                                  \
    compiled_for static void add(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t d, const T* z, std::int64_t z_stride, \
                                 std::int64_t k, T* sums) {                                                                            \
      Kernels<T, bytes>::add(x, stride, rows, d, z, z_stride, k, sums);                                                                \
    }                                                                                                                                  \
    static constexpr ThinKernels<T> kAll{&along, &across, &add};                                                                       \
  }
KEDGE_KERNELS(WideKernels, 64, KEDGE_WIDE);
KEDGE_KERNELS(MiddleKernels, 32, KEDGE_MIDDLE);
KEDGE_KERNELS(PlainKernels, 16, );

}  // namespace

template <class T>
const ThinKernels<T>* thin_kernels_of(int vector_bytes) {
  if (!has(vector_bytes)) return nullptr;
  return vector_bytes == 64 ? &WideKernels<T>::kAll : vector_bytes == 32 ? &MiddleKernels<T>::kAll : &PlainKernels<T>::kAll;
}

template <class T>
const ThinKernels<T>& thin_kernels() {
  static const ThinKernels<T>& widest = []() -> const ThinKernels<T>& {
    for (const int bytes : {64, 32})
      if (const ThinKernels<T>* kernels = thin_kernels_of<T>(bytes)) return *kernels;
    return PlainKernels<T>::kAll;
  }();
  return widest;
}

template const ThinKernels<float>* thin_kernels_of(int);
template const ThinKernels<double>* thin_kernels_of(int);
template const ThinKernels<float>& thin_kernels();
template const ThinKernels<double>& thin_kernels();

}  // namespace kedge::engine
