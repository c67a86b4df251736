// Gaussian naive Bayes on the CPU: moments of each class, and the log likelihood of each row under each class.
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/simd.h"

namespace kedge::engine {
namespace {

template <class T>
KEDGE_CLONES void add_deviations(const T* row, const double* origin, double w, std::int64_t cols, double* __restrict sum) {
  for (std::int64_t j = 0; j < cols; ++j) sum[j] += w * (static_cast<double>(row[j]) - origin[j]);
}

template <class T>
KEDGE_CLONES void add_squares(const T* row, const double* mean, double w, std::int64_t cols, double* __restrict squares) {
  for (std::int64_t j = 0; j < cols; ++j) {
    const double deviation = static_cast<double>(row[j]) - mean[j];
    squares[j] += w * deviation * deviation;
  }
}

template <class T>
KEDGE_CLONES double weighted_distance(const T* row, const double* mean, const double* precision, std::int64_t cols) {
  return lane_sum(cols, [=](std::int64_t j) { return gaussian_term(row[j], mean[j], precision[j]); });
}

}  // namespace

template <class T>
void CpuBackend<T>::class_moments(MatrixView<const T> X, VectorView<const std::int32_t> y, VectorView<const double> weights,
                                  VectorView<double> count, MatrixView<double> mean, MatrixView<double> variance) {
  const std::int64_t d = X.cols, classes = mean.rows, tile = class_tile_rows(X.rows, classes * d);
  const auto weight = [&](std::int64_t i) { return weights.empty() ? 1.0 : weights.data[i]; };
  const auto counts = tile_table_sums(X.rows, classes, tile, 2, [&](std::int64_t i, double* table) { table[y.data[i]] += weight(i); });
  std::copy(counts.begin(), counts.end(), count.data);
  const std::vector<double> origin = X.rows ? std::vector<double>(X.data, X.data + d) : std::vector<double>(static_cast<std::size_t>(d));
  const auto sums = tile_table_sums(X.rows, classes * d, tile, d, [&](std::int64_t i, double* table) {
    add_deviations(X.data + i * X.stride, origin.data(), weight(i), d, table + y.data[i] * d);
  });
  for (std::int64_t c = 0; c < classes; ++c) {
    for (std::int64_t j = 0; j < d; ++j)
      mean.data[c * mean.stride + j] = origin[static_cast<std::size_t>(j)] + sums[static_cast<std::size_t>(c * d + j)] / count.data[c];
  }
  const auto squares = tile_table_sums(X.rows, classes * d, tile, d, [&](std::int64_t i, double* table) {
    add_squares(X.data + i * X.stride, mean.data + y.data[i] * mean.stride, weight(i), d, table + y.data[i] * d);
  });
  for (std::int64_t c = 0; c < classes; ++c) {
    for (std::int64_t j = 0; j < d; ++j)
      variance.data[c * variance.stride + j] = squares[static_cast<std::size_t>(c * d + j)] / count.data[c];
  }
}

template <class T>
void CpuBackend<T>::gaussian_log_likelihood(MatrixView<const T> X, MatrixView<const double> mean, MatrixView<const double> variance,
                                            VectorView<const double> log_prior, MatrixView<T> Z) {
  const std::int64_t d = X.cols, classes = mean.rows;
  std::vector<double> precision(static_cast<std::size_t>(classes * d)), constant(static_cast<std::size_t>(classes));
  for (std::int64_t c = 0; c < classes; ++c) {
    double logs = 0;
    for (std::int64_t j = 0; j < d; ++j) {
      const double v = variance.data[c * variance.stride + j];
      logs += std::log(2 * std::numbers::pi * v);
      precision[static_cast<std::size_t>(c * d + j)] = 1 / v;
    }
    constant[static_cast<std::size_t>(c)] = log_prior.data[c] - 0.5 * logs;
  }
  for_tiles(X.rows, kRowTile, X.size() * classes, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t c = 0; c < classes; ++c) {
        const double sum = weighted_distance(X.data + i * X.stride, mean.data + c * mean.stride, precision.data() + c * d, d);
        Z.data[i * Z.stride + c] = static_cast<T>(constant[static_cast<std::size_t>(c)] - 0.5 * sum);
      }
    }
  });
}

template class CpuBackend<float>;
template class CpuBackend<double>;

}  // namespace kedge::engine
