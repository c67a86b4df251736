// Scores of rows against centres, and what is settled by them.
#include "engine/backend/cpu/clusters/center_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "engine/backend/cpu/linear/blas.h"
#include "engine/backend/cpu/linear/thin_product.h"
#include "engine/backend/cpu/neighbours/row_distance.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/larger_or_nan.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kCenterBlock = 512;   // a multiple of the lanes
template <class T>
constexpr std::int64_t kScoreLanes = 64 / sizeof(T);
constexpr std::int64_t kFewCenters = 2 * kThin;   // up to here rows are multiplied in place
constexpr std::int64_t kRowsForFloat = 2048;      // fewer are scored as they are
constexpr std::int64_t kTried = 64;               // rows that show whether float separates the centres

template <class T>
KEDGE_CLONES double distance_of(const T* a, const T* b, std::int64_t d) {
  return squared_distance(a, b, d);
}

template <class T>
KEDGE_CLONES double norm_of(const T* row, std::int64_t d) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < d; ++j) sum += static_cast<double>(row[j]) * static_cast<double>(row[j]);
  return sum;
}

template <class T, class S>
KEDGE_CLONES void convert(const T* row, std::int64_t d, S* out) {
  for (std::int64_t j = 0; j < d; ++j) out[j] = static_cast<S>(row[j]);
}

template <class T>
KEDGE_CLONES T row_norm(const T* row, std::int64_t d) {
  return static_cast<T>(
      std::sqrt(lane_sum(d, [=](std::int64_t j) { return static_cast<double>(row[j]) * static_cast<double>(row[j]); })));
}

// One vector of scores, and of the centres that they are of.
template <class T>
struct Lanes {
  static constexpr int kCount = kScoreLanes<T>;
  using Scores __attribute__((vector_size(64))) = T;
  using Indices __attribute__((vector_size(64))) = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
};

// The smallest score of a row so far and the smallest of the others; scores[c] = norms[c] - 2 x.c.
template <class T>
struct BestTwo {
  T best = std::numeric_limits<T>::infinity(), second = std::numeric_limits<T>::infinity();
  std::int32_t center = -1;
};

// Lanes fold by halves. n is a multiple of the lanes; of equal scores any is taken, as they settle nothing.
template <class T>
KEDGE_CLONES void take_scores(const T* dots, const T* norms, std::int64_t n, std::int32_t first, BestTwo<T>& two) {
  constexpr int W = Lanes<T>::kCount;
  using Scores = typename Lanes<T>::Scores;
  using Indices = typename Lanes<T>::Indices;
  Indices lane, center;
  for (int l = 0; l < W; ++l) lane[l] = l;
  center = lane;
  Scores best = Scores{} + std::numeric_limits<T>::infinity(), second = best;
  for (std::int64_t c = 0; c < n; c += W, lane += W) {
    Scores dot, norm;
    __builtin_memcpy(&dot, dots + c, sizeof dot);
    __builtin_memcpy(&norm, norms + c, sizeof norm);
    const Scores score = norm - 2 * dot;
    const auto is_less = score < best;
    const Scores larger = is_less ? best : score;
    best = is_less ? score : best, center = is_less ? lane : center;
    second = larger < second ? larger : second;
  }
  const auto fold = [&]<int kWidth, int... kLane>(std::integral_constant<int, kWidth>, std::integer_sequence<int, kLane...>)
      __attribute__((always_inline)) {
    const Scores other = __builtin_shufflevector(best, best, (kLane ^ kWidth)...);
    const Scores other_second = __builtin_shufflevector(second, second, (kLane ^ kWidth)...);
    const Indices other_center = __builtin_shufflevector(center, center, (kLane ^ kWidth)...);
    const auto is_less = other < best;
    const Scores larger = is_less ? best : other;
    best = is_less ? other : best, center = is_less ? other_center : center;
    second = other_second < second ? other_second : second;
    second = larger < second ? larger : second;
  };
  constexpr std::make_integer_sequence<int, W> kAll;
  if constexpr (W == 16) fold(std::integral_constant<int, 8>(), kAll);
  fold(std::integral_constant<int, 4>(), kAll);
  fold(std::integral_constant<int, 2>(), kAll);
  fold(std::integral_constant<int, 1>(), kAll);
  const T larger = best[0] < two.best ? two.best : best[0];
  two.second = std::min({two.second, second[0], larger});
  if (best[0] < two.best) two.best = best[0], two.center = first + static_cast<std::int32_t>(center[0]);
}

// Rows of X side by side, in S.
template <class T, class S>
MatrixView<const S> side_by_side(MatrixView<const T> X, std::span<const std::int32_t> rows, std::unique_ptr<S[]>& values) {
  const auto n = static_cast<std::int64_t>(rows.size());
  if constexpr (std::is_same_v<T, S>)
    if (rows.back() - rows.front() + 1 == n) return X.row_range(rows.front(), n);   // ascending: without gaps
  values = std::make_unique_for_overwrite<S[]>(rows.size() * static_cast<std::size_t>(X.cols));
  for (std::int64_t i = 0; i < n; ++i)
    convert(raw(X) + rows[static_cast<std::size_t>(i)] * X.stride, X.cols, values.get() + i * X.cols);
  return {values.get(), n, X.cols};
}

// Settles rows whose best score is ahead of all others by more than their rounding. `left`: the places of the others.
template <class T, class S>
void find_by_scores(const Centers<S>& centers, MatrixView<const T> X, std::span<const std::int32_t> rows, Nearest* found,
                    std::vector<std::int32_t>& left) {
  const std::int64_t n = static_cast<std::int64_t>(rows.size()), d = X.cols, k = centers.rows.rows;
  const std::int64_t stride = tiles_of(std::min(k, kCenterBlock), kScoreLanes<S>) * kScoreLanes<S>;
  std::unique_ptr<S[]> values;
  std::vector<S> dots(static_cast<std::size_t>(n * stride));   // what is no centre is 0 here, and its norm infinite
  const MatrixView<const S> scored = side_by_side(X, rows, values);
  BestTwo<S> best[kScoredRows];
  for (std::int64_t first = 0; first < k; first += kCenterBlock) {
    check_job_stop();
    const std::int64_t width = std::min(kCenterBlock, k - first);
    multiply_few(scored, centers.rows.row_range(first, width), MatrixView<S>(dots.data(), n, width, stride));
    const std::int64_t padded = tiles_of(width, kScoreLanes<S>) * kScoreLanes<S>;
    for (std::int64_t i = 0; i < n; ++i)
      take_scores(dots.data() + i * stride, centers.norms.data() + first, padded, static_cast<std::int32_t>(first), best[i]);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double squared_norm = norm_of(raw(scored) + i * scored.stride, d);
    const S error = error_of_scores(squared_norm, centers.largest, d);
    const double slack = 2 * static_cast<double>(error);
    if (best[i].second > best[i].best + 2 * error)   // false if anything is NaN
      found[i] = {best[i].center, static_cast<double>(best[i].best) + squared_norm + slack,
                  static_cast<double>(best[i].second) + squared_norm - slack};
    else left.push_back(static_cast<std::int32_t>(i));
  }
}

// The centre of one row by its definition.
template <class T>
Nearest exact_center(const T* row, MatrixView<const T> centers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Nearest nearest{0, kInfinity, kInfinity};
  for (std::int64_t c = 0; c < centers.rows; ++c) {
    const double squared = distance_of(row, raw(centers) + c * centers.stride, centers.cols);
    if (squared < nearest.own) nearest = {static_cast<std::int32_t>(c), squared, nearest.own};
    else if (squared < nearest.others) nearest.others = squared;
  }
  return nearest;
}

}   // namespace

template <class T>
double squared_between(const T* a, const T* b, std::int64_t d) {
  return distance_of(a, b, d);
}

template <class T>
double rough_squared_norm(const T* row, std::int64_t d) {
  return norm_of(row, d);
}

template <class T>
T error_of_scores(double squared_norm, T largest, std::int64_t d) {
  const double norm = std::sqrt(squared_norm), span = norm + static_cast<double>(largest);
  if (!(4 * span * span < static_cast<double>(std::numeric_limits<T>::max()))) return std::numeric_limits<T>::infinity();
  return score_error(static_cast<T>(norm), largest, d);
}

template <class T>
void multiply_few(MatrixView<const T> X, MatrixView<const T> B, MatrixView<T> dots) {
  const std::int64_t k = B.rows;
  if (k > kFewCenters || X.cols > kLongestThin || X.rows < kThinRows)
    return blas::gemm(Transpose::kNo, Transpose::kYes, X.rows, k, X.cols, T{1}, raw(X), X.stride, raw(B), B.stride,
                      T{0}, raw(dots), dots.stride);
  for (std::int64_t first = 0; first < k; first += kThin) {
    const std::int64_t n = std::min(kThin, k - first);
    thin_rows_product<T>(X, B.row_range(first, n), MatrixView<T>(raw(dots) + first, X.rows, n, dots.stride));
  }
}

template <class T>
Centers<T>::Centers(MatrixView<const T> centers)
    : rows(centers),
      norms(static_cast<std::size_t>(tiles_of(centers.rows, kScoreLanes<T>) * kScoreLanes<T>),
            std::numeric_limits<T>::infinity()) {
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const T norm = row_norm(raw(rows) + i * rows.stride, rows.cols);
    norms[static_cast<std::size_t>(i)] = norm * norm;
    largest = larger_or_nan(largest, norm);
  }
}

template <class T>
NearestCenters<T>::NearestCenters(MatrixView<const T> centers, MatrixView<const T> X) : X_(X), centers_(centers) {
  const std::int64_t k = centers.rows, d = centers.cols;
  if (std::is_same_v<T, float> || X.rows < kRowsForFloat || tiles_of(k, kScoreLanes<float>) == tiles_of(k, kScoreLanes<double>))
    return;
  values_.resize(static_cast<std::size_t>(k * d));
  for (std::int64_t c = 0; c < k; ++c) convert(raw(centers) + c * centers.stride, d, values_.data() + c * d);
  in_float_.emplace_back(MatrixView<const float>(values_.data(), k, d));
  if (!float_tells()) in_float_.clear();
}

template <class T>
bool NearestCenters<T>::float_tells() const {
  std::vector<std::int32_t> rows, left;
  for (std::int64_t i = 0; i < kTried; ++i) rows.push_back(static_cast<std::int32_t>(i * (X_.rows - 1) / (kTried - 1)));
  Nearest found[kTried];
  const OneThread one;
  find_by_scores(in_float_.front(), X_, rows, found, left);
  return static_cast<std::int64_t>(left.size()) < kTried / 4;
}

template <class T>
void NearestCenters<T>::find(std::span<const std::int32_t> rows, Nearest* found) const {
  if (rows.empty()) return;
  std::vector<std::int32_t> left, places;
  if (in_float_.empty()) {
    find_by_scores(centers_, X_, rows, found, left);
  } else {
    find_by_scores(in_float_.front(), X_, rows, found, places);
    if (places.empty()) return;
    std::vector<std::int32_t> again(places.size());
    std::vector<Nearest> better(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) again[i] = rows[static_cast<std::size_t>(places[i])];
    find_by_scores(centers_, X_, std::span<const std::int32_t>(again), better.data(), left);
    for (std::size_t i = 0; i < places.size(); ++i) found[places[i]] = better[i];
    for (std::int32_t& place : left) place = places[static_cast<std::size_t>(place)];
  }
  for (const std::int32_t place : left) {
    check_job_stop();
    found[place] = exact_center(raw(X_) + rows[static_cast<std::size_t>(place)] * X_.stride, centers_.rows);
  }
}

#define KEDGE_INSTANTIATE(T)                                                           \
  template double squared_between(const T*, const T*, std::int64_t);                   \
  template double rough_squared_norm(const T*, std::int64_t);                          \
  template void multiply_few(MatrixView<const T>, MatrixView<const T>, MatrixView<T>); \
  template T error_of_scores(double, T, std::int64_t);                                 \
  template struct Centers<T>;                                                          \
  template class NearestCenters<T>;
KEDGE_INSTANTIATE(float)
KEDGE_INSTANTIATE(double)
#undef KEDGE_INSTANTIATE

}   // namespace kedge::engine
