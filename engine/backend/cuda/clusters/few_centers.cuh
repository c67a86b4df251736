// The nearest of a few centres: one thread a row, which it reads once, 16 bytes at a time; the centres lie in shared
// memory. Bound by reading X, n d values, up to some 60 centres' multiply-adds on an H100.
#pragma once

#include "engine/backend/cuda/neighbours/row_distance.cuh"
#include "engine/backend/cuda/pieces.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/larger_or_nan.h"
#include "engine/backend/raw.h"
#include "engine/core/view.h"

namespace kedge::engine {

inline constexpr int kFewThreads = 128;
inline constexpr int kMostFewCenters = 32;

// The best score of a row, the best of the others, and whose the best is.
template <class T>
struct BestTwo {
  T best, second;
  std::int32_t center;

  __device__ void take(T score, std::int32_t c) {
    if (score < best || (score == best && c < center)) second = best, best = score, center = c;
    else if (score < second) second = score;
  }
};

// score_error() of a row whose norm, with the largest of a centre, is `span`: at most least + rate span^2. The factor
// covers the rounding of this, and of the norm, in T.
template <class T>
struct ScoreBound {
  T rate, least;
  explicit ScoreBound(std::int64_t d) : rate(score_error<T>(1, 0, d)), least(score_error<T>(0, 0, d)) {}
  __device__ T at(T span) const { return static_cast<T>(1.01) * (rate * span * span + least); }
};

// Scores of one row against kMost centres, column after column: centres[j * kMost + c].
template <int kMost, class T>
struct RowScores {
  T dots[kMost], size;

  __device__ void begin() {
    size = 0;
    for (int c = 0; c < kMost; ++c) dots[c] = 0;
  }
  __device__ void take(T x, const T* centers) {
    size = fma(x, x, size);
    for (int c = 0; c < kMost; c += 4) {
      const FourValues<T> four = four_at(centers + c);
      for (int e = 0; e < 4; ++e) dots[c + e] = fma(x, four.values[e], dots[c + e]);
    }
  }
};

template <class T>
__device__ std::int32_t nearest_by_definition(const T* row, MatrixView<const T> centers, double infinity) {
  double least = infinity;
  std::int32_t label = 0;
  for (std::int64_t c = 0; c < centers.rows; ++c) {
    const double squared = serial_distance(row, raw(centers) + c * centers.stride, centers.cols);
    if (squared < least) least = squared, label = static_cast<std::int32_t>(c);
  }
  return label;
}

// As assign_nearest(). Shared memory: the centres, 0 where there is none, and their norms.
template <int kMost, class T>
__global__ void __launch_bounds__(kFewThreads)
    assign_few(MatrixView<const T> X, MatrixView<const T> centers, const T* norms, ScoreBound<T> bound, bool in_pieces,
               T infinity, double far, std::int32_t* labels, unsigned long long* changed) {
  KEDGE_DYNAMIC_SHARED(T, shared);
  const int d = static_cast<int>(X.cols);
  T* const own_norms = shared + d * kMost;
  for (int e = static_cast<int>(threadIdx.x); e < d * kMost; e += kFewThreads) {
    const int c = e % kMost;
    shared[e] = c < centers.rows ? raw(centers)[c * centers.stride + e / kMost] : T{0};
  }
  for (int c = static_cast<int>(threadIdx.x); c < kMost; c += kFewThreads)
    own_norms[c] = c < centers.rows ? norms[c] : infinity;
  __syncthreads();
  const std::int64_t i = own_item();
  bool is_new = false;
  if (i < X.rows) {
    const T* const row = raw(X) + i * X.stride;
    RowScores<kMost, T> scores;
    scores.begin();
    int j = 0;
    for (; in_pieces && j + 4 <= d; j += 4) {
      const FourValues<T> four = four_at(row + j);
      for (int e = 0; e < 4; ++e) scores.take(four.values[e], shared + (j + e) * kMost);
    }
    for (; j < d; ++j) scores.take(row[j], shared + j * kMost);
    BestTwo<T> two{infinity, infinity, 0x7fffffff};
    T largest = 0;
    for (int c = 0; c < kMost; ++c) {
      if (c >= centers.rows) continue;
      two.take(own_norms[c] - 2 * scores.dots[c], c);
      largest = larger_or_nan(largest, own_norms[c]);
    }
    std::int32_t label = two.center;
    if (!(two.second - two.best > 2 * bound.at(sqrt(scores.size) + sqrt(largest))))
      label = nearest_by_definition(row, centers, far);
    is_new = labels[i] != label;
    if (is_new) labels[i] = label;
  }
  const int all = __syncthreads_count(is_new);
  if (threadIdx.x == 0 && all > 0) atomicAdd(changed, static_cast<unsigned long long>(all));
}

}   // namespace kedge::engine
