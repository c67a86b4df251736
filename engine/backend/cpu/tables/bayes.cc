// Gaussian naive Bayes on the CPU: moments of each class, and the log likelihood of each row under each class.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

template <class T>
KEDGE_CLONES void add_deviations(const T* row, const double* origin, double w, std::int64_t cols, double* __restrict sum) {
  for (std::int64_t j = 0; j < cols; ++j) sum[j] += w * (static_cast<double>(row[j]) - origin[j]);
}

// squares += w ((x - origin) - mean)^2
template <class T>
KEDGE_CLONES void add_squares(const T* row, const double* origin, const double* mean, double w, std::int64_t cols, double* __restrict squares) {
  for (std::int64_t j = 0; j < cols; ++j) {
    const double deviation = static_cast<double>(row[j]) - origin[j] - mean[j];
    squares[j] += w * deviation * deviation;
  }
}

template <class T>
KEDGE_CLONES double weighted_distance(const T* row, const double* mean, const double* precision, std::int64_t cols) {
  return lane_sum(cols, [=](std::int64_t j) { return gaussian_term(row[j], mean[j], precision[j]); });
}

// What a tile of rows holds of each class, classes x columns: the tile is read from memory once and then from the cache.
struct TileMoments {
  std::vector<double> count, mean, squares;   // mean: less the origin; squares: of deviations from the tile's own mean
};

template <class T>
TileMoments tile_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> y,
                         VectorView<const double> weights, const std::vector<double>& origin, std::int64_t classes, std::int64_t begin,
                         std::int64_t end) {
  const std::int64_t d = X.cols;
  const auto weight = [&](std::int64_t i) { return weights.empty() ? 1.0 : weights.data[i]; };
  TileMoments m{std::vector<double>(static_cast<std::size_t>(classes)), std::vector<double>(static_cast<std::size_t>(classes * d)),
                std::vector<double>(static_cast<std::size_t>(classes * d))};
  for (std::int64_t i = begin; i < end; ++i) {   // where classes are many a tile has all rows
    check_job_stop();
    m.count[static_cast<std::size_t>(y.data[i])] += weight(i);
    add_deviations(row_at(X, rows, i), origin.data(), weight(i), d, m.mean.data() + y.data[i] * d);
  }
  for (std::int64_t e = 0; e < classes * d; ++e) {
    const double n = m.count[static_cast<std::size_t>(e / d)];
    if (n > 0) m.mean[static_cast<std::size_t>(e)] /= n;
  }
  for (std::int64_t i = begin; i < end; ++i) {
    check_job_stop();
    add_squares(row_at(X, rows, i), origin.data(), m.mean.data() + y.data[i] * d, weight(i), d, m.squares.data() + y.data[i] * d);
  }
  return m;
}

// The moments of class c over all tiles, in their order (Chan, Golub, LeVeque, "Updating formulae", 1979). Returns its count.
double merge_class(const std::vector<TileMoments>& tiles, std::int64_t c, std::int64_t d, const std::vector<double>& origin, double* mean,
                   double* variance) {
  double total = 0;
  std::fill_n(mean, d, 0.0), std::fill_n(variance, d, 0.0);
  for (const TileMoments& tile : tiles) {
    const double n = tile.count[static_cast<std::size_t>(c)];
    total += n;
    for (std::int64_t j = 0; j < d; ++j) mean[j] += n * tile.mean[static_cast<std::size_t>(c * d + j)];
  }
  for (std::int64_t j = 0; j < d; ++j) mean[j] /= total;
  for (const TileMoments& tile : tiles) {
    const double n = tile.count[static_cast<std::size_t>(c)];
    for (std::int64_t j = 0; j < d; ++j) {
      const double shift = tile.mean[static_cast<std::size_t>(c * d + j)] - mean[j];
      variance[j] += tile.squares[static_cast<std::size_t>(c * d + j)] + n * shift * shift;
    }
  }
  for (std::int64_t j = 0; j < d; ++j) variance[j] /= total, mean[j] += origin[static_cast<std::size_t>(j)];
  return total;
}

template <class T>
class CpuBayes final : public BayesOps<T> {
 public:
  void class_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> y,
                     VectorView<const double> weights, VectorView<double> count, MatrixView<double> mean,
                     MatrixView<double> variance) override {
    const std::int64_t n = selected(X, rows), d = X.cols, classes = mean.rows,
                       tile_rows = class_tile_rows(n, classes * d);
    // Deviations are taken from the first row, so that a constant column has exactly its value as mean, and no
    // variance.
    std::vector<double> origin(static_cast<std::size_t>(d));
    if (n > 0) origin.assign(row_at(X, rows, 0), row_at(X, rows, 0) + d);
    std::vector<TileMoments> tiles(static_cast<std::size_t>(tiles_of(n, tile_rows)));
    for_tiles(n, tile_rows, 2 * n * d, [&](std::int64_t t, std::int64_t begin, std::int64_t end) {
      tiles[static_cast<std::size_t>(t)] = tile_moments(X, rows, y, weights, origin, classes, begin, end);
    });
    for_tiles(classes, 1, classes * d * static_cast<std::int64_t>(tiles.size()),
              [&](std::int64_t c, std::int64_t, std::int64_t) {
                count.data[c] =
                    merge_class(tiles, c, d, origin, mean.data + c * mean.stride, variance.data + c * variance.stride);
              });
  }

  void gaussian_log_likelihood(MatrixView<const T> X, MatrixView<const double> mean, MatrixView<const double> variance,
                               VectorView<const double> log_prior, MatrixView<T> Z) override {
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
        check_job_stop();
        for (std::int64_t c = 0; c < classes; ++c) {
          const double sum =
              weighted_distance(X.data + i * X.stride, mean.data + c * mean.stride, precision.data() + c * d, d);
          Z.data[i * Z.stride + c] = static_cast<T>(constant[static_cast<std::size_t>(c)] - 0.5 * sum);
        }
      }
    });
  }
};

}   // namespace

template <class T>
std::unique_ptr<BayesOps<T>> make_cpu_bayes() {
  return std::make_unique<CpuBayes<T>>();
}
template std::unique_ptr<BayesOps<float>> make_cpu_bayes<float>();
template std::unique_ptr<BayesOps<double>> make_cpu_bayes<double>();

}  // namespace kedge::engine
