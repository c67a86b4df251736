// The ops of k-means on the CPU: nearest centres with proof, sums by label, and the draws of k-means++.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/backend/cpu/blas.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/row_distance.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/thin_product.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kRowBlock = 256, kCenterBlock = 512;
constexpr std::int64_t kFewCenters = 2 * kThin;   // up to here rows are multiplied in place

// In any order of summation: for bounds alone.
template <class T>
KEDGE_CLONES double rough_squared_norm(const T* row, std::int64_t d) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < d; ++j) sum += static_cast<double>(row[j]) * static_cast<double>(row[j]);
  return sum;
}

// dots = X B', n x k; not for results.
template <class T>
void multiply_few(MatrixView<const T> X, MatrixView<const T> B, T* dots) {
  const std::int64_t k = B.rows;
  if (k > kFewCenters || X.cols > kLongestThin || X.rows < kFewestThinRows)
    return blas::gemm(Transpose::kNo, Transpose::kYes, X.rows, k, X.cols, T{1}, X.data, X.stride, B.data, B.stride, T{0}, dots,
                      k);
  for (std::int64_t first = 0; first < k; first += kThin) {
    const std::int64_t n = std::min(kThin, k - first);
    thin_rows_product<T>(X, B.row_range(first, n), MatrixView<T>(dots + first, X.rows, n, k));
  }
}

template <class T>
KEDGE_CLONES T row_norm(const T* row, std::int64_t d) {
  return static_cast<T>(
      std::sqrt(lane_sum(d, [=](std::int64_t j) { return static_cast<double>(row[j]) * static_cast<double>(row[j]); })));
}

template <class T>
KEDGE_CLONES double squared_between(const T* a, const T* b, std::int64_t d) {
  return squared_distance(a, b, d);
}

// The smallest score of a row so far and the smallest of the others; scores[c] = norms[c] - 2 x.c.
template <class T>
struct BestTwo {
  T best = std::numeric_limits<T>::infinity(), second = std::numeric_limits<T>::infinity();
  std::int32_t center = -1;
};

template <class T>
KEDGE_CLONES void take_scores(const T* dots, const T* norms, std::int64_t n, std::int32_t first, BestTwo<T>& two) {
  constexpr int kWidth = 16;
  T best[kWidth], second[kWidth];
  for (int l = 0; l < kWidth; ++l) best[l] = second[l] = std::numeric_limits<T>::infinity();
  const auto take = [&](std::int64_t c, int l) {
    const T score = norms[c] - 2 * dots[c], larger = score < best[l] ? best[l] : score;
    best[l] = score < best[l] ? score : best[l];
    second[l] = larger < second[l] ? larger : second[l];
  };
  std::int64_t c = 0;
  for (; c + kWidth <= n; c += kWidth) {
    for (int l = 0; l < kWidth; ++l) take(c + l, l);
  }
  for (int l = 0; c + l < n; ++l) take(c + l, l);
  const T before = two.best;
  for (int l = 0; l < kWidth; ++l) {
    two.second = std::min({two.second, second[l], std::max(best[l], two.best)});
    two.best = std::min(two.best, best[l]);
  }
  if (!(two.best < before)) return;
  for (c = 0; norms[c] - 2 * dots[c] != two.best;) ++c;
  two.center = first + static_cast<std::int32_t>(c);
}

template <class T>
struct Centers {
  MatrixView<const T> rows;
  std::vector<T> norms;   // squared
  T largest = 0;          // of the norms
};

template <class T>
Centers<T> prepare(MatrixView<const T> centers) {
  Centers<T> c{centers, std::vector<T>(static_cast<std::size_t>(centers.rows))};
  for (std::int64_t i = 0; i < centers.rows; ++i) {
    const T norm = row_norm(centers.data + i * centers.stride, centers.cols);
    c.norms[static_cast<std::size_t>(i)] = norm * norm;
    c.largest = norm <= c.largest ? c.largest : norm;   // NaN stays
  }
  return c;
}

// The centre of one row by its definition.
template <class T>
std::int32_t exact_center(const T* row, MatrixView<const T> centers) {
  std::int32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t c = 0; c < centers.rows; ++c) {
    const double squared = squared_between(row, centers.data + c * centers.stride, centers.cols);
    if (squared < least) least = squared, best = static_cast<std::int32_t>(c);
  }
  return best;
}

// Scores settle nearly every row: where the best is ahead of all others by more than their rounding.
template <class T>
std::int64_t assign_rows(MatrixView<const T> X, const Centers<T>& centers, std::int32_t* labels) {
  const std::int64_t d = X.cols, k = centers.rows.rows;
  std::vector<T> dots(static_cast<std::size_t>(X.rows * std::min(k, kCenterBlock)));
  std::vector<BestTwo<T>> best(static_cast<std::size_t>(X.rows));
  for (std::int64_t first = 0; first < k; first += kCenterBlock) {
    const std::int64_t n = std::min(kCenterBlock, k - first);
    const MatrixView<const T> block = centers.rows.row_range(first, n);
    multiply_few(X, block, dots.data());
    for (std::int64_t i = 0; i < X.rows; ++i)
      take_scores(dots.data() + i * n, centers.norms.data() + first, n, static_cast<std::int32_t>(first),
                  best[static_cast<std::size_t>(i)]);
  }
  std::int64_t changed = 0;
  for (std::int64_t i = 0; i < X.rows; ++i) {
    const T* const row = X.data + i * X.stride;
    const BestTwo<T>& two = best[static_cast<std::size_t>(i)];
    const T error = score_error(static_cast<T>(std::sqrt(rough_squared_norm(row, d))), centers.largest, d);
    const bool settled = two.second > two.best + 2 * error;   // false if anything is NaN
    const std::int32_t label = settled ? two.center : exact_center(row, centers.rows);
    changed += label != labels[i];
    labels[i] = label;
  }
  return changed;
}

// Most rows are nearer to a centre that they have than to a new one, which scores prove; the distances of the others are
// computed.
template <class T>
void keep_closer(MatrixView<const T> X, const Centers<T>& centers, VectorView<const T> closest, MatrixView<T> least) {
  const std::int64_t d = X.cols, k = centers.rows.rows;
  std::vector<T> dots(static_cast<std::size_t>(closest.empty() ? 0 : X.rows * k));
  if (!closest.empty()) multiply_few(X, centers.rows, dots.data());
  for (std::int64_t i = 0; i < X.rows; ++i) {
    const T* const row = X.data + i * X.stride;
    const double squared_norm = closest.empty() ? 0.0 : rough_squared_norm(row, d);
    const double slack =
        squared_norm - 2 * static_cast<double>(score_error(static_cast<T>(std::sqrt(squared_norm)), centers.largest, d));
    const auto is_farther = [&](std::int64_t c) {   // false if anything is NaN
      const T score = centers.norms[static_cast<std::size_t>(c)] - 2 * dots[static_cast<std::size_t>(i * k + c)];
      return static_cast<double>(score) + slack > static_cast<double>(closest.data[i]);
    };
    for (std::int64_t c = 0; c < k; ++c) {
      T& kept = least.data[c * least.stride + i];
      if (!closest.empty() && is_farther(c)) {
        kept = closest.data[i];
        continue;
      }
      kept = static_cast<T>(squared_between(row, centers.rows.data + c * centers.rows.stride, d));
      if (!closest.empty()) kept = std::min(kept, closest.data[i]);
    }
  }
}

}   // namespace

template <class T>
std::int64_t CpuClusters<T>::assign_nearest(MatrixView<const T> X, MatrixView<const T> centers, VectorView<std::int32_t> labels) {
  const Centers<T> prepared = prepare(centers);
  std::vector<std::int64_t> changed(static_cast<std::size_t>(tiles_of(X.rows, kRowBlock)), 0);
  for_tiles(X.rows, kRowBlock, X.size() * (centers.rows / 16 + 1) + X.rows * centers.rows,
            [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
              changed[static_cast<std::size_t>(tile)] =
                  assign_rows(X.row_range(begin, end - begin), prepared, labels.data + begin);
            });
  std::int64_t total = 0;
  for (const std::int64_t count : changed) total += count;
  return total;
}

template <class T>
void CpuClusters<T>::squared_to_assigned(MatrixView<const T> X, MatrixView<const T> centers,
                                         VectorView<const std::int32_t> labels, VectorView<double> squared) {
  for_tiles(X.rows, kRowTile, X.size(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      squared.data[i] = squared_between(X.data + i * X.stride, centers.data + labels.data[i] * centers.stride, X.cols);
  });
}

template <class T>
void CpuClusters<T>::label_sums(MatrixView<const T> X, VectorView<const std::int32_t> labels, VectorView<const double> weights,
                                MatrixView<double> sums) {
  const std::int64_t d = X.cols, entries = sums.rows * sums.cols;
  const auto total = tile_table_sums(X.rows, entries, class_tile_rows(X.rows, entries), d, [&](std::int64_t i, double* table) {
    const double weight = weights.empty() ? 1.0 : weights.data[i];
    double* __restrict const own = table + labels.data[i] * (d + 1);
    const T* const row = X.data + i * X.stride;
    for (std::int64_t j = 0; j < d; ++j) own[j] += weight * static_cast<double>(row[j]);
    own[d] += weight;
  });
  for (std::int64_t c = 0; c < sums.rows; ++c) std::copy_n(total.begin() + c * (d + 1), d + 1, sums.data + c * sums.stride);
}

template <class T>
void CpuClusters<T>::closer_squared(MatrixView<const T> X, VectorView<const std::int32_t> candidates, VectorView<const T> closest,
                                    VectorView<const double> weights, MatrixView<T> least, VectorView<double> totals) {
  const std::int64_t n = X.rows, d = X.cols, k = candidates.size;
  std::vector<T> rows;
  for (std::int64_t c = 0; c < k; ++c)
    rows.insert(rows.end(), X.data + candidates.data[c] * X.stride, X.data + candidates.data[c] * X.stride + d);
  const Centers<T> centers = prepare(MatrixView<const T>(rows.data(), k, d));
  std::vector<double> tables(static_cast<std::size_t>(tiles_of(n, kRowTile) * k), 0.0);
  for_tiles(n, kRowTile, n * k * (d / 8 + 2), [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
    const VectorView<const T> before = closest.empty() ? closest : closest.slice(begin, end - begin);
    keep_closer(X.row_range(begin, end - begin), centers, before,
                MatrixView<T>(least.data + begin, k, end - begin, least.stride));
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t c = 0; c < k; ++c)
        tables[static_cast<std::size_t>(tile * k + c)] +=
            (weights.empty() ? 1.0 : weights.data[i]) * static_cast<double>(least.data[c * least.stride + i]);
  });
  std::fill_n(totals.data, k, 0.0);
  for (std::size_t e = 0; e < tables.size(); ++e) totals.data[static_cast<std::int64_t>(e) % k] += tables[e];
}

template <class T>
void CpuClusters<T>::search_cumulated(VectorView<const T> values, VectorView<const double> weights,
                                      VectorView<const double> thresholds, VectorView<std::int32_t> found) {
  const std::int64_t n = values.size;
  const auto share = [&](std::int64_t i) {
    return (weights.empty() ? 1.0 : weights.data[i]) * static_cast<double>(values.data[i]);
  };
  std::vector<double> tiles(static_cast<std::size_t>(tiles_of(n, kRowTile)), 0.0);
  for_tiles(n, kRowTile, n, [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) tiles[static_cast<std::size_t>(tile)] += share(i);
  });
  for (std::int64_t e = 0; e < thresholds.size; ++e) {
    double before = 0;
    std::size_t tile = 0;
    while (tile + 1 < tiles.size() && before + tiles[tile] < thresholds.data[e]) before += tiles[tile++];
    found.data[e] = search_tile(static_cast<std::int64_t>(tile) * kRowTile, n, before, thresholds.data[e], share);
  }
}

template class CpuClusters<float>;
template class CpuClusters<double>;

}   // namespace kedge::engine
