// Thin products: several rows at once against a strip that stays in the first-level cache.
#include "engine/backend/cpu/thin_product.h"

#include <algorithm>
#include <vector>

#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kTile = 1024;   // rows summed in T before the sum goes on in double
constexpr std::int64_t kMostTasks = 64;
constexpr int kRows = 8;               // rows at once: enough sums in flight to hide the latency of one
constexpr std::int64_t kBlock = 16;    // rows that stay in the second-level cache while their columns are summed

template <class T>
struct Wide {
  using Vector __attribute__((vector_size(64))) = T;
};
template <class T>
constexpr int kLanesOf = 64 / sizeof(T);

// out[r] = sum over j of x[r][j] * strip[j], for kRows rows at once; strip[j] and out[r] are one vector each.
template <class T>
KEDGE_CLONES void multiply_rows(const T* x, std::int64_t stride, std::int64_t d, const T* __restrict strip, T* __restrict out) {
  typename Wide<T>::Vector sums[kRows] = {};
  for (std::int64_t j = 0; j < d; ++j) {
    typename Wide<T>::Vector b;
    __builtin_memcpy(&b, strip + j * kLanesOf<T>, sizeof b);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sums[r] += x[r * stride + j] * b;
  }
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kLanesOf<T>; ++c) out[r * kLanesOf<T> + c] = sums[r][c];
}

// sums[c][j] += sum over r of z[r][c] * x[r][j] for one vector of columns j and K classes c, over `rows` rows.
template <class T, int K>
KEDGE_CLONES void add_rows(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t n_vectors, const T* __restrict z,
                           std::int64_t z_stride, T* __restrict sums, std::int64_t sums_stride) {
  using Vector = typename Wide<T>::Vector;
  for (std::int64_t v = 0; v < n_vectors; ++v) {
    const std::int64_t j = v * kLanesOf<T>;
    Vector total[K];
    for (int c = 0; c < K; ++c) __builtin_memcpy(&total[c], sums + c * sums_stride + j, sizeof(Vector));
    for (std::int64_t r = 0; r < rows; ++r) {
      Vector row;
      __builtin_memcpy(&row, x + r * stride + j, sizeof row);
#pragma GCC unroll 8
      for (int c = 0; c < K; ++c) total[c] += z[r * z_stride + c] * row;
    }
    for (int c = 0; c < K; ++c) __builtin_memcpy(sums + c * sums_stride + j, &total[c], sizeof(Vector));
  }
}

// The same for any number of classes, by groups that fit the registers, and the columns that fill no vector.
template <class T>
void add_block(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t d, const T* z, std::int64_t z_stride, std::int64_t k,
               T* sums) {
  const std::int64_t n_vectors = d / kLanesOf<T>;
  std::int64_t c = 0;
  for (; c + 5 <= k; c += 5) add_rows<T, 5>(x, stride, rows, n_vectors, z + c, z_stride, sums + c * d, d);
  for (; c + 2 <= k; c += 2) add_rows<T, 2>(x, stride, rows, n_vectors, z + c, z_stride, sums + c * d, d);
  for (; c < k; ++c) add_rows<T, 1>(x, stride, rows, n_vectors, z + c, z_stride, sums + c * d, d);
  for (std::int64_t r = 0; r < rows; ++r)
    for (c = 0; c < k; ++c)
      for (std::int64_t j = n_vectors * kLanesOf<T>; j < d; ++j) sums[c * d + j] += z[r * z_stride + c] * x[r * stride + j];
}

// Columns first .. first + lanes - 1 of C.
template <class T>
void strip_product(MatrixView<const T> X, MatrixView<const T> B, std::int64_t first, MatrixView<T> C) {
  constexpr int W = kLanesOf<T>;
  const std::int64_t cols = std::min<std::int64_t>(W, B.rows - first);
  std::vector<T> strip(static_cast<std::size_t>(X.cols * W), T{0});   // B', padded with zeros
  for (std::int64_t c = 0; c < cols; ++c)
    for (std::int64_t j = 0; j < X.cols; ++j) strip[static_cast<std::size_t>(j * W + c)] = B.data[(first + c) * B.stride + j];
  for_tiles(X.rows, kTile, X.size(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    T out[kRows * W];
    for (std::int64_t i = begin; i < end; i += kRows) {
      const std::int64_t top = std::max<std::int64_t>(0, std::min(i, X.rows - kRows));   // the last rows are done twice
      multiply_rows<T>(X.data + top * X.stride, X.stride, X.cols, strip.data(), out);
      for (std::int64_t r = i - top; r < std::min<std::int64_t>(kRows, end - top); ++r)
        for (std::int64_t c = 0; c < cols; ++c) C.data[(top + r) * C.stride + first + c] = out[r * W + c];
    }
  });
}

}  // namespace

template <class T>
void thin_rows_product(MatrixView<const T> X, MatrixView<const T> B, MatrixView<T> C) {
  for (std::int64_t first = 0; first < B.rows; first += kLanesOf<T>) strip_product(X, B, first, C);
}

template <class T>
void thin_columns_product(MatrixView<const T> Z, MatrixView<const T> X, MatrixView<T> C) {
  const std::int64_t n = X.rows, d = X.cols, k = Z.cols;
  const std::int64_t task_rows = tiles_of(tiles_of(n, kTile), kMostTasks) * kTile;
  std::vector<std::vector<double>> partial(static_cast<std::size_t>(tiles_of(n, task_rows)));
  for_tiles(n, task_rows, X.size() * k / 4, [&](std::int64_t task, std::int64_t begin, std::int64_t end) {
    std::vector<double>& total = partial[static_cast<std::size_t>(task)];
    total.assign(static_cast<std::size_t>(k * d), 0.0);
    std::vector<T> sums;
    for (std::int64_t tile = begin; tile < end; tile += kTile) {
      sums.assign(total.size(), T{0});
      for (std::int64_t i = tile; i < std::min(end, tile + kTile); i += kBlock)
        add_block(X.data + i * X.stride, X.stride, std::min({kBlock, end - i, tile + kTile - i}), d, Z.data + i * Z.stride, Z.stride,
                  k, sums.data());
      for (std::size_t e = 0; e < sums.size(); ++e) total[e] += static_cast<double>(sums[e]);
    }
  });
  for_tiles(k, 1, k * d * static_cast<std::int64_t>(partial.size()), [&](std::int64_t c, std::int64_t, std::int64_t) {
    for (std::int64_t j = 0; j < d; ++j) {
      double sum = 0;
      for (const auto& total : partial) sum += total[static_cast<std::size_t>(c * d + j)];
      C.data[c * C.stride + j] = static_cast<T>(sum);
    }
  });
}

template void thin_rows_product(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void thin_rows_product(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);
template void thin_columns_product(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void thin_columns_product(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);

}  // namespace kedge::engine
