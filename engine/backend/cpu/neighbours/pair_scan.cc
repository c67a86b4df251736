// Scans tiles of pairs: a product of float tiles where that decides, otherwise distances in double.
#include "engine/backend/cpu/neighbours/pair_scan.h"

#include <cmath>
#include <limits>

#include "engine/backend/cpu/linear/blas.h"
#include "engine/backend/cpu/neighbours/row_distance.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/larger_or_nan.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kChunk = 64;
constexpr std::int64_t kSquares = 16;   // units more for norms that are rounded before they are squared

template <Metric M, class T>
KEDGE_CLONES double measure(const T* a, const T* b, std::int64_t d, double power) { return row_distance<M>(a, b, d, power); }

template <Metric M, class T>
KEDGE_CLONES void measure_all(const T* a, const T* b, std::int64_t stride, std::int64_t n, std::int64_t d, double power, double* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = row_distance<M>(a, b + i * stride, d, power);
}

template <class T>
KEDGE_CLONES float centre_row(const T* row, const T* centre, std::int64_t d, float* __restrict out) {
  for (std::int64_t j = 0; j < d; ++j) out[j] = static_cast<float>(row[j] - centre[j]);
  return static_cast<float>(std::sqrt(lane_sum(d, [=](std::int64_t j) { return static_cast<double>(out[j]) * static_cast<double>(out[j]); })));
}

// Positions j with dots[j] + squares[j] <= limit; nearly every chunk has none.
KEDGE_CLONES int find_below(const float* dots, const float* squares, float limit, std::int64_t n, std::int32_t* found) {
  int count = 0;
  for (std::int64_t begin = 0; begin < n; begin += kChunk) {
    const std::int64_t size = std::min(kChunk, n - begin);
    int any = 0;
    for (std::int64_t j = 0; j < size; ++j) any |= dots[begin + j] + squares[begin + j] <= limit;
    if (!any) continue;
    for (std::int64_t j = begin; j < begin + size; ++j) {
      if (dots[j] + squares[j] <= limit) found[count++] = static_cast<std::int32_t>(j);
    }
  }
  return count;
}

}  // namespace

template <class T>
PairScan<T>::PairScan(MatrixView<const T> points, const Distance& distance) : points_(points), distance_(distance) {
  if (distance.metric != Metric::kEuclidean) return;
  const std::int64_t n = points.rows, d = points.cols;
  const auto sums = tile_table_sums(n, d, kRowTile, d, [&](std::int64_t i, double* table) {
    for (std::int64_t j = 0; j < d; ++j) table[j] += static_cast<double>(raw(points)[i * points.stride + j]);
  });
  for (const double sum : sums) centre_.push_back(static_cast<T>(sum / static_cast<double>(n)));
  centred_.resize(static_cast<std::size_t>(n * d)), norms_.resize(static_cast<std::size_t>(n)), squares_.resize(static_cast<std::size_t>(n));
  for_tiles(n, kRowTile, n * d, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    centre(points.row_range(begin, end - begin), centred_.data() + begin * d, norms_.data() + begin);
  });
  for (std::size_t i = 0; i < norms_.size(); ++i) {
    squares_[i] = norms_[i] * norms_[i];
    largest_ = larger_or_nan(largest_, norms_[i]);
  }
}

template <class T>
void PairScan<T>::centre(MatrixView<const T> rows, float* centred, float* norms) const {
  for (std::int64_t i = 0; i < rows.rows; ++i)
    norms[i] = centre_row(raw(rows) + i * rows.stride, centre_.data(), rows.cols, centred + i * rows.cols);
}

template <class T>
typename PairScan<T>::Queries PairScan<T>::prepare(MatrixView<const T> queries) const {
  Queries q{queries, {}, {}};
  if (distance_.metric != Metric::kEuclidean) return q;
  q.centred.resize(static_cast<std::size_t>(queries.size())), q.norms.resize(static_cast<std::size_t>(queries.rows));
  centre(queries, q.centred.data(), q.norms.data());
  return q;
}

template <class T>
typename PairScan<T>::Queries PairScan<T>::own(std::int64_t first, std::int64_t count) const {
  return prepare(points_.row_range(first, count));
}

template <class T>
double PairScan<T>::reduced(const T* a, const T* b) const {
  return with_metric(distance_.metric, [&]<Metric M>() { return measure<M>(a, b, points_.cols, distance_.power); });
}

template <class T>
void PairScan<T>::find(const Queries& queries, std::int64_t first, std::int64_t count, double limit, bool with_distance, std::vector<Hit>& hits) const {
  const std::int64_t m = queries.rows.rows, d = points_.cols;
  const bool scores = distance_.metric == Metric::kEuclidean && std::isfinite(score_error<float>(largest_, largest_, d));
  std::vector<float> dots(static_cast<std::size_t>(scores ? m * count : 0));
  if (scores)
    blas::gemm(Transpose::kNo, Transpose::kYes, m, count, d, -2.0f, queries.centred.data(), d, centred_.data() + first * d, d, 0.0f, dots.data(), count);
  std::vector<std::int32_t> found(static_cast<std::size_t>(count));
  std::vector<double> measured(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < m; ++i) {
    check_job_stop();
    const T* const row = raw(queries.rows) + i * queries.rows.stride;
    const float norm = scores ? queries.norms[static_cast<std::size_t>(i)] : 0.0f;
    const double error = scores ? static_cast<double>(score_error(norm, largest_, d + kSquares)) : 0.0, square = static_cast<double>(norm) * static_cast<double>(norm);
    const auto as_float = [](double bound, float away) { return std::nextafter(static_cast<float>(bound), away); };
    const float above = as_float(limit - square + error, std::numeric_limits<float>::infinity());
    const float below = as_float(limit - square - error, -std::numeric_limits<float>::infinity());
    if (!scores || !std::isfinite(error) || !std::isfinite(above)) {
      with_metric(distance_.metric, [&]<Metric M>() {
        measure_all<M>(row, raw(points_) + first * points_.stride, points_.stride, count, d, distance_.power,
                       measured.data());
      });
      for (std::int64_t j = 0; j < count; ++j)
        if (const double distance = measured[static_cast<std::size_t>(j)]; distance <= limit)
          hits.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(first + j), distance});
      continue;
    }
    const int n = find_below(dots.data() + i * count, squares_.data() + first, above, count, found.data());
    for (int f = 0; f < n; ++f) {
      const std::int64_t j = found[static_cast<std::size_t>(f)];
      const bool sure = !with_distance && dots[static_cast<std::size_t>(i * count + j)] + squares_[static_cast<std::size_t>(first + j)] <= below;
      const double distance =
          sure ? std::numeric_limits<double>::quiet_NaN() : reduced(row, raw(points_) + (first + j) * points_.stride);
      if (sure || distance <= limit) hits.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(first + j), distance});
    }
  }
}

template class PairScan<float>;
template class PairScan<double>;

}  // namespace kedge::engine
