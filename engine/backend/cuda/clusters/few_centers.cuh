// The nearest of a few centres, which lie in shared memory: one thread a row, which it reads once, 16 bytes at a time;
// eight threads for some wide rows, so that neighbours read what lies side by side. Bound by reading X, n d values, up
// to some 60 centres' multiply-adds on an H100.
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
  __device__ BestTwo<T> best(const T* norms, int n, T infinity) const {
    BestTwo<T> two{infinity, infinity, 0x7fffffff};
    for (int c = 0; c < kMost; ++c)
      if (c < n) two.take(norms[c] - 2 * dots[c], c);
    return two;
  }
};

template <class T>
__device__ T largest_of(const T* norms, int n) {
  T largest = 0;
  for (int c = 0; c < n; ++c) largest = larger_or_nan(largest, norms[c]);
  return largest;
}

// Whether the scores leave open which centre is the nearest.
template <class T>
__device__ bool is_in_doubt(const BestTwo<T>& two, T size, T largest_norm, const ScoreBound<T>& bound) {
  return !(two.second - two.best > 2 * bound.at(sqrt(size) + sqrt(largest_norm)));
}

// The labels of the lanes' rows by the definition, for those in doubt: the whole warp takes one row after the other.
// Every lane of the warp calls it. O(centres * d / 32) for each.
template <class T>
__device__ std::int32_t settled(bool in_doubt, std::int32_t label, std::int64_t row, MatrixView<const T> X,
                                MatrixView<const T> centers, double infinity) {
  for (unsigned left = __ballot_sync(kFullWarp, in_doubt); left != 0; left &= left - 1) {
    const int owner = __ffs(static_cast<int>(left)) - 1;
    const T* const x = raw(X) + __shfl_sync(kFullWarp, row, owner) * X.stride;
    double least = infinity;
    std::int32_t nearest = 0;
    for (std::int64_t c = 0; c < centers.rows; ++c) {
      const double squared = warp_distance<Metric::kEuclidean>(x, raw(centers) + c * centers.stride, centers.cols, 2.0);
      if (squared < least) least = squared, nearest = static_cast<std::int32_t>(c);
    }
    if (static_cast<int>(threadIdx.x % kLanes) == owner) label = nearest;
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
  std::int32_t label = 0;
  bool in_doubt = false;
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
    const BestTwo<T> two = scores.best(own_norms, static_cast<int>(centers.rows), infinity);
    label = two.center;
    in_doubt = is_in_doubt(two, scores.size, largest_of(own_norms, static_cast<int>(centers.rows)), bound);
  }
  label = settled(in_doubt, label, i, X, centers, far);
  const bool is_new = i < X.rows && labels[i] != label;
  if (is_new) labels[i] = label;
  const int all = __syncthreads_count(is_new);
  if (threadIdx.x == 0 && all > 0) atomicAdd(changed, static_cast<unsigned long long>(all));
}

// Columns from which rows are wide, and threads of one.
inline constexpr std::int64_t kWideRow = 96;
inline constexpr int kRowThreads = 8, kWideRowsOfWarp = kLanes / kRowThreads;
constexpr int wide_rows_at_once(int most_centers) {
  return most_centers <= 8 ? 4 : 2;
}

// Columns beyond the last of a row count as 0, in the row and in the centres.
inline std::int64_t wide_columns(std::int64_t d) {
  constexpr std::int64_t kStep = 4 * kRowThreads;
  return (d + kStep - 1) / kStep * kStep;
}

template <class T>
__device__ FourValues<T> four_or_zeros(const T* row, int j, int d) {
  if (j + 4 <= d) return four_at(row + j);
  FourValues<T> four{};
  for (int e = 0; j + e < d; ++e) four.values[e] = row[j + e];
  return four;
}

// As assign_few(), for rows that lie in pieces: kRowThreads threads take the pieces of a row in turn, and each keeps
// their sums for some rows. In shared memory four centres' values of the pieces that the threads read at the same time
// lie side by side: (step, value of the piece, four centres, thread, centre of the four).
template <int kMost, class T>
__global__ void __launch_bounds__(kFewThreads)
    assign_wide(MatrixView<const T> X, MatrixView<const T> centers, const T* norms, ScoreBound<T> bound, T infinity,
                double far, std::int32_t* labels, unsigned long long* changed) {
  constexpr int kFours = kMost / 4, kRows = wide_rows_at_once(kMost), kStep = 4 * kRowThreads;
  KEDGE_DYNAMIC_SHARED(T, shared);
  const int d = static_cast<int>(X.cols), padded = (d + kStep - 1) / kStep * kStep;
  T* const own_norms = shared + padded * kMost;
  for (int at = static_cast<int>(threadIdx.x); at < padded * kMost; at += kFewThreads) {
    const int thread = at / 4 % kRowThreads, four = at / 4 / kRowThreads % kFours,
              value = at / 4 / kRowThreads / kFours % 4, c = 4 * four + at % 4,
              j = at / (kStep * kMost) * kStep + 4 * thread + value;
    shared[at] = c < centers.rows && j < d ? raw(centers)[c * centers.stride + j] : T{0};
  }
  for (int c = static_cast<int>(threadIdx.x); c < kMost; c += kFewThreads)
    own_norms[c] = c < centers.rows ? norms[c] : infinity;
  __syncthreads();
  const int thread = static_cast<int>(threadIdx.x) % kRowThreads;
  const std::int64_t first =
      own_item() / kLanes * kWideRowsOfWarp * kRows + static_cast<int>(threadIdx.x) % kLanes / kRowThreads * kRows;
  RowScores<kMost, T> scores[kRows];
  KEDGE_UNROLL
  for (int r = 0; r < kRows; ++r) scores[r].begin();
  for (int j = 4 * thread, at = 4 * thread; j < padded; j += kStep, at += kStep * kMost) {
    FourValues<T> x[kRows];
    KEDGE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t row = first + r < X.rows ? first + r : X.rows - 1;
      x[r] = four_or_zeros(raw(X) + row * X.stride, j, d);
    }
    KEDGE_UNROLL
    for (int value = 0; value < 4; ++value) {
      KEDGE_UNROLL
      for (int r = 0; r < kRows; ++r) scores[r].size = fma(x[r].values[value], x[r].values[value], scores[r].size);
      KEDGE_UNROLL
      for (int four = 0; four < kFours; ++four) {
        const FourValues<T> c = four_at(shared + at + (value * kFours + four) * kStep);
        KEDGE_UNROLL
        for (int r = 0; r < kRows; ++r) {
          KEDGE_UNROLL
          for (int e = 0; e < 4; ++e)
            scores[r].dots[4 * four + e] = fma(x[r].values[value], c.values[e], scores[r].dots[4 * four + e]);
        }
      }
    }
  }
  const T largest = largest_of(own_norms, static_cast<int>(centers.rows));
  std::int32_t label = 0;
  bool in_doubt = false;
  KEDGE_UNROLL
  for (int r = 0; r < kRows; ++r) {
    KEDGE_UNROLL
    for (int width = kRowThreads / 2; width > 0; width /= 2) {
      scores[r].size += __shfl_xor_sync(kFullWarp, scores[r].size, width);
      KEDGE_UNROLL
      for (int c = 0; c < kMost; ++c) scores[r].dots[c] += __shfl_xor_sync(kFullWarp, scores[r].dots[c], width);
    }
    const BestTwo<T> two = scores[r].best(own_norms, static_cast<int>(centers.rows), infinity);
    if (thread != r) continue;   // the thread of this number speaks for the row
    label = two.center;
    in_doubt = first + r < X.rows && is_in_doubt(two, scores[r].size, largest, bound);
  }
  const std::int64_t own = first + thread;
  label = settled(in_doubt, label, own, X, centers, far);
  const bool is_new = thread < kRows && own < X.rows && labels[own] != label;
  if (is_new) labels[own] = label;
  const int all = __syncthreads_count(is_new);
  if (threadIdx.x == 0 && all > 0) atomicAdd(changed, static_cast<unsigned long long>(all));
}

}   // namespace kedge::engine
