// Gaussian naive Bayes on the CPU: moments of each class, and the log likelihood of each row under each class.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/tables/mixtures.h"
#include "engine/backend/raw.h"
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

// What tiles of rows hold of each class, a table of classes x columns a tile: a tile is read from memory once and then
// from the cache.
struct ClassTables {
  ClassTables(std::int64_t tiles, std::int64_t classes, std::int64_t cols)
      : tiles(tiles),
        classes(classes),
        entries(classes * cols),
        count(static_cast<std::size_t>(tiles * classes)),
        sum(static_cast<std::size_t>(tiles * entries)),
        squares(sum.size()) {}

  std::int64_t tiles, classes, entries;
  std::vector<double> count, sum, squares;   // sum: less the origin; squares: of deviations from the tile's own mean
};

template <class T>
void sum_tile(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> y,
              VectorView<const double> weights, const std::vector<double>& origin, std::int64_t tile,
              std::int64_t begin, std::int64_t end, ClassTables& tables) {
  const std::int64_t d = X.cols;
  const auto weight = [&](std::int64_t i) { return weights.empty() ? 1.0 : raw(weights)[i]; };
  double *const count = tables.count.data() + tile * tables.classes,
                *const sum = tables.sum.data() + tile * tables.entries,
                *const squares = tables.squares.data() + tile * tables.entries;
  for (std::int64_t i = begin; i < end; ++i) {   // where classes are many a tile has all rows
    check_job_stop();
    count[raw(y)[i]] += weight(i);
    add_deviations(row_at(X, rows, i), origin.data(), weight(i), d, sum + raw(y)[i] * d);
  }
  std::vector<double> mean(static_cast<std::size_t>(tables.entries));
  for (std::int64_t c = 0; c < tables.classes; ++c)
    for (std::int64_t j = 0; j < d; ++j)
      mean[static_cast<std::size_t>(c * d + j)] = count[c] > 0 ? sum[c * d + j] / count[c] : 0.0;
  for (std::int64_t i = begin; i < end; ++i) {
    check_job_stop();
    add_squares(row_at(X, rows, i), origin.data(), mean.data() + raw(y)[i] * d, weight(i), d, squares + raw(y)[i] * d);
  }
}

// Makes the squares of a tile those of deviations from the mean of all rows (Chan, Golub, LeVeque, "Updating formulae",
// 1979).
void shift_squares(ClassTables& tables, std::int64_t tile, MatrixView<const double> mean) {
  for (std::int64_t c = 0; c < tables.classes; ++c) {
    const double n = tables.count[static_cast<std::size_t>(tile * tables.classes + c)];
    if (n == 0) continue;
    const double* const sum = tables.sum.data() + tile * tables.entries + c * mean.cols;
    double* const squares = tables.squares.data() + tile * tables.entries + c * mean.cols;
    for (std::int64_t j = 0; j < mean.cols; ++j) {
      const double shift = sum[j] / n - raw(mean)[c * mean.stride + j];
      squares[j] += n * shift * shift;
    }
  }
}

template <class T>
class CpuBayes final : public BayesOps<T>, public CpuMixtures {
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
    Ranks* const ranks = ranks_of_rows(n);
    const Part own = own_part(ranks, tiles_of(n, tile_rows));
    const std::int64_t first = std::min(n, own.begin * tile_rows), last = std::min(n, own.end * tile_rows);
    ClassTables tables(own.size(), classes, d);
    const auto sum_own = [&] {
      for_tiles(last - first, tile_rows, 2 * n * d, [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
        sum_tile(X, rows, y, weights, origin, tile, first + begin, first + end, tables);
      });
      return Tables{tables.count.data(), tables.tiles};
    };
    std::vector<double> total(static_cast<std::size_t>(classes * d));
    const auto divide = [&](MatrixView<double> out) {
      for (std::int64_t c = 0; c < classes; ++c)
        for (std::int64_t j = 0; j < d; ++j)
          raw(out)[c * out.stride + j] = total[static_cast<std::size_t>(c * d + j)] / raw(count)[c];
    };
    const auto shift_own = [&] {
      for_tiles(tables.tiles, 1, tables.tiles * classes * d,
                [&](std::int64_t tile, std::int64_t, std::int64_t) { shift_squares(tables, tile, mean); });
      return Tables{tables.squares.data(), tables.tiles};
    };
    add_tables_of_ranks(ranks, classes, sum_own, raw(count));
    add_tables_of_ranks(ranks, classes * d, [&] { return Tables{tables.sum.data(), tables.tiles}; }, total.data());
    divide(mean);
    add_tables_of_ranks(ranks, classes * d, shift_own, total.data());
    divide(variance);
    for (std::int64_t c = 0; c < classes; ++c)
      for (std::int64_t j = 0; j < d; ++j) raw(mean)[c * mean.stride + j] += origin[static_cast<std::size_t>(j)];
  }

  void gaussian_log_likelihood(MatrixView<const T> X, MatrixView<const double> mean, MatrixView<const double> variance,
                               VectorView<const double> log_prior, MatrixView<T> Z) override {
    const std::int64_t d = X.cols, classes = mean.rows;
    std::vector<double> precision(static_cast<std::size_t>(classes * d)), constant(static_cast<std::size_t>(classes));
    for (std::int64_t c = 0; c < classes; ++c) {
      double logs = 0;
      for (std::int64_t j = 0; j < d; ++j) {
        const double v = raw(variance)[c * variance.stride + j];
        logs += std::log(2 * std::numbers::pi * v);
        precision[static_cast<std::size_t>(c * d + j)] = 1 / v;
      }
      constant[static_cast<std::size_t>(c)] = raw(log_prior)[c] - 0.5 * logs;
    }
    for_tiles(X.rows, kRowTile, X.size() * classes, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        check_job_stop();
        for (std::int64_t c = 0; c < classes; ++c) {
          const double sum =
              weighted_distance(raw(X) + i * X.stride, raw(mean) + c * mean.stride, precision.data() + c * d, d);
          raw(Z)[i * Z.stride + c] = static_cast<T>(constant[static_cast<std::size_t>(c)] - 0.5 * sum);
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
