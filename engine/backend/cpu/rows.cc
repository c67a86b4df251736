// Row-wise ops on the CPU.
#include "engine/backend/cpu/rows.h"

#include <algorithm>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/logistic_rows.h"
#include "engine/backend/cpu/thin_product.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

template <class T>
KEDGE_CLONES double squared_norm(const T* row, std::int64_t cols) {
  return lane_sum(cols, [=](std::int64_t j) { return static_cast<double>(row[j]) * static_cast<double>(row[j]); });
}

template <class T>
KEDGE_CLONES void add_row(const T* row, std::int64_t cols, double* __restrict sums) {
  for (std::int64_t j = 0; j < cols; ++j) sums[j] += static_cast<double>(row[j]);
}

constexpr std::int64_t kExpNs = 10;   // an exponential or logarithm in double

}  // namespace

template <class T>
void CpuRows<T>::fill_normal(std::uint64_t seed, std::uint64_t stream, MatrixView<T> out) {
  const std::int64_t n = out.size(), cols = out.cols;
  const auto put = [&](std::int64_t e, double value) { out.data[e / cols * out.stride + e % cols] = static_cast<T>(value); };
  for_rows((n + 1) / 2, 4 * kExpNs, [&](std::int64_t i) {
    const NormalPair pair = normal_pair(seed, stream, static_cast<std::uint64_t>(i));
    put(2 * i, pair.first);
    if (2 * i + 1 < n) put(2 * i + 1, pair.second);
  });
}

template <class T>
void CpuRows<T>::add_to_rows(VectorView<const T> v, MatrixView<T> Z) {
  for_rows(Z.rows, Z.cols, [&](std::int64_t i) {
    for (std::int64_t j = 0; j < Z.cols; ++j) Z.data[i * Z.stride + j] += v.data[j];
  });
}

template <class T>
void CpuRows<T>::column_sums(MatrixView<const T> Z, VectorView<double> sums) {
  const auto total = tile_table_sums(Z.rows, Z.cols, kRowTile, Z.cols, [&](std::int64_t i, double* table) {
    add_row(Z.data + i * Z.stride, Z.cols, table);
  });
  std::copy(total.begin(), total.end(), sums.data);
}

template <class T>
void CpuRows<T>::row_squared_norms(MatrixView<const T> X, VectorView<T> norms) {
  for_rows(X.rows, X.cols, [&](std::int64_t i) { norms.data[i] = static_cast<T>(squared_norm(X.data + i * X.stride, X.cols)); });
}

template <class T>
void CpuRows<T>::softmax_rows(MatrixView<T> Z) {
  for_rows(Z.cols ? Z.rows : 0, kExpNs * Z.cols, [&](std::int64_t i) { softmax_row(Z.data + i * Z.stride, Z.cols); });
}

template <class T>
void CpuRows<T>::argmax_rows(MatrixView<const T> Z, VectorView<std::int32_t> out) {
  for_rows(Z.rows, Z.cols, [&](std::int64_t i) { out.data[i] = argmax_row(Z.data + i * Z.stride, Z.cols); });
}

template <class T>
double CpuRows<T>::logistic_loss(MatrixView<T> Z, VectorView<const T> b, VectorView<const std::int32_t> y,
                                 VectorView<const double> weights) {
  const T* const intercepts = b.empty() ? nullptr : b.data;
  const double* const by_row = weights.empty() ? nullptr : weights.data;
  return tile_sums(Z.rows, kExpNs * (Z.cols + 1), [&](std::int64_t begin, std::int64_t end) {
    return logistic_rows(Z, intercepts, y.data, by_row, begin, end);
  });
}

template <class T>
double CpuRows<T>::logistic_gradient(MatrixView<const T> X, MatrixView<const T> B, VectorView<const T> b, VectorView<const std::int32_t> y,
                                     VectorView<const double> weights, MatrixView<T> Z, MatrixView<T> G) {
  const std::int64_t n = X.rows, d = X.cols, m = B.rows;
  if (!is_thin_rows(n, d, m) || !is_thin_columns(n, d, m)) return Backend<T>::logistic_gradient(X, B, b, y, weights, Z, G);
  const T* const intercepts = b.empty() ? nullptr : b.data;
  const double* const by_row = weights.empty() ? nullptr : weights.data;
  const auto change = [&](std::int64_t begin, std::int64_t end) { return logistic_rows(Z, intercepts, y.data, by_row, begin, end); };
  return thin_pass(X, B, Z.last_columns(m), change, G);
}

template <class T>
void CpuRows<T>::logistic_curvature(MatrixView<const T> Z, VectorView<const T> b, VectorView<const double> weights, MatrixView<double> W) {
  const T* const intercepts = b.empty() ? nullptr : b.data;
  for_rows(Z.rows, kExpNs * Z.cols + W.cols, [&](std::int64_t i) {
    curvature_row(Z.data + i * Z.stride, Z.cols, intercepts, weights.empty() ? 1.0 : weights.data[i], W.data + i * W.stride);
  });
}

template class CpuRows<float>;
template class CpuRows<double>;

}  // namespace kedge::engine
