// The step of the variables of a working set that are between their bounds to the optimum of their face, by the threads
// of one block: the order of operations of engine/estimators/svm/free_step.cc. f of them take f^3 / 3 multiply-adds and
// read and write their matrix f / 8 times: 0.1 ms for 128, 1.5 ms for 512 on an H100.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/svm/choose_set.cuh"
#include "engine/backend/svm_functors.h"

namespace kedge::engine {

inline constexpr int kPanel = 8;   // rows of the matrix that are subtracted together
inline constexpr std::int64_t kFaceScratch = kSmoSet * kSmoSet + kPanel * kSmoSet;   // doubles: the matrix, and factors

// A thread's variable of the set; beyond the set one that may not move.
struct OwnVariable {
  std::int32_t t;
  int group;
  bool is_there;
  double score, alpha, C, diagonal, y;

  __device__ bool is_free() const { return alpha > 0 && alpha < C; }
};

struct SetShape {
  int n_groups;
  std::int32_t first_of_second;
  std::int64_t places;
};

// The variables as others read them.
struct SetVariables {
  double score[kSmoSet], alpha[kSmoSet], C[kSmoSet], diagonal[kSmoSet];
  signed char y[kSmoSet];
};

// x: the step and two solutions beside it; panel: where rows of a panel meet its columns.
struct FaceMemory {
  double x[3][kSmoSet], passed[2][3], panel[kPanel][kPanel];
  std::int32_t places[kSmoSet];   // of the free variables
  int warps[kSetWarps];
};

struct FreeMove {
  bool has_moved, is_bounded;   // whether one of them met its bound
};

// Sum of term(k), k < n, in the lane order of functors.h, in all threads; each warp computes it.
template <class Term>
__device__ double lane_sum_of_warp(int n, Term&& term) {
  double sum = 0;
  for (int k = threadIdx.x % 32; k < n; k += kLanes) sum += term(k);
  return __shfl_sync(kFullWarp, fold_lanes(sum), 0);
}

// The lowest number of the warp, in all of its threads.
__device__ inline double lowest_of_lanes(double own) {
  for (int bits = 16; bits > 0; bits /= 2) {
    const double other = __shfl_xor_sync(kFullWarp, own, bits);
    own = other < own ? other : own;
  }
  return own;
}

// K of the free variables, upper triangle, becomes D on the diagonal and D U beside it. A thread has a column.
__device__ inline void factor_face(int n, double* F, double* factors, double least, FaceMemory& face) {
  const int j = threadIdx.x;
  for (int begin = 0; begin < n; begin += kPanel) {
    __syncthreads();
    const int rows = n - begin < kPanel ? n - begin : kPanel;
    double own[kPanel];
    KEDGE_UNROLL
    for (int p = 0; p < kPanel; ++p) own[p] = p < rows && j >= begin + p && j < n ? F[(begin + p) * n + j] : 0;
    KEDGE_UNROLL
    for (int p = 0; p < kPanel; ++p) {
      if (p >= rows) continue;   // the same in all threads
      if (j == begin + p && own[p] < least) own[p] = least;
      if (j >= begin + p && j < begin + rows) face.panel[p][j - begin] = own[p];
      __syncthreads();
      const double pivot = face.panel[p][p];
      KEDGE_UNROLL
      for (int q = p + 1; q < kPanel; ++q)
        if (q < rows && j >= begin + q) own[q] += -face.panel[p][q] / pivot * own[p];
      if (j >= begin + p && j < n) F[(begin + p) * n + j] = own[p];
      if (j >= begin + rows && j < n) factors[p * kSmoSet + j] = -own[p] / pivot;
    }
    __syncthreads();
    for (int i = begin + rows; j < n && i <= j; ++i) {
      double value = F[i * n + j];
      KEDGE_UNROLL
      for (int p = 0; p < kPanel; ++p)
        if (p < rows) value += factors[p * kSmoSet + i] * own[p];
      F[i * n + j] = value;
    }
  }
  __syncthreads();
}

// x[r] of this thread, r < 3, by the factors; then face.x has all of them.
__device__ inline void solve_factored(int n, const double* F, double (&x)[3], FaceMemory& face) {
  const int t = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    if (t == k) {
      const double pivot = F[k * n + k];
      KEDGE_UNROLL
      for (int r = 0; r < 3; ++r) {
        x[r] /= pivot;
        face.passed[k % 2][r] = x[r];
      }
    }
    __syncthreads();
    if (t <= k || t >= n) continue;
    const double value = F[k * n + t];
    KEDGE_UNROLL
    for (int r = 0; r < 3; ++r) x[r] += -face.passed[k % 2][r] * value;
  }
  KEDGE_UNROLL
  for (int r = 0; r < 3; ++r) face.x[r][t] = x[r];
  __syncthreads();
  if (t / 32 < 3) {   // a warp for each of them
    double* const own = face.x[t / 32];
    for (int k = n - 1; k >= 0; --k) {
      const double* const row = F + k * n + k + 1;
      double sum = 0;
      for (int m = t % 32; m < n - k - 1; m += kLanes) sum += row[m] * own[k + 1 + m];
      sum = fold_lanes(sum);
      if (t % 32 == 0) own[k] -= sum / F[k * n + k];
      __syncwarp();
    }
  }
  __syncthreads();
}

// The free variables of the first group are those before `split`.
struct FaceParts {
  int n, split;

  __device__ double sum(const double* x, bool second) const {
    const int begin = second ? split : 0, end = second ? n : split;
    return lane_sum_of_warp(end - begin, [&](int k) { return x[begin + k]; });
  }
  // This thread's x less the mean of its part.
  __device__ double centered(const double* x, int t) const {
    const double first = split > 0 ? sum(x, false) / split : 0, second = split < n ? sum(x, true) / (n - split) : 0;
    return t < n ? x[t] - (t < split ? first : second) : 0;
  }
};

// How much of the solutions beside it takes the sums of the step away.
struct Held {
  double first, second;
};
__device__ inline Held held_of(const FaceParts& parts, const FaceMemory& face) {
  if (parts.split == 0 || parts.split == parts.n) {
    const bool second = parts.split == 0;
    return {parts.sum(face.x[0], second) / parts.sum(face.x[1], second), 0};
  }
  const double a = parts.sum(face.x[1], false), b = parts.sum(face.x[2], false), d = parts.sum(face.x[2], true);
  const double x = parts.sum(face.x[0], false), z = parts.sum(face.x[0], true), det = a * d - b * b;
  return {(x * d - b * z) / det, (a * z - b * x) / det};
}

// face.x[0] = the step of each free variable from the scores there.
__device__ inline void find_free_step(const FaceParts& parts, const double* F, FaceMemory& face) {
  const int t = threadIdx.x;
  const bool has_two = parts.split > 0 && parts.split < parts.n;
  double x[3] = {parts.centered(face.x[0], t), 0, 0};
  x[1] = t < parts.n && (!has_two || t < parts.split) ? 1 : 0;
  x[2] = has_two && t >= parts.split && t < parts.n ? 1 : 0;
  __syncthreads();
  solve_factored(parts.n, F, x, face);
  const Held held = held_of(parts, face);
  double step = face.x[0][t] + -held.first * face.x[1][t];
  if (has_two) step += -held.second * face.x[2][t];
  __syncthreads();
  face.x[0][t] = step;
  __syncthreads();
  step = parts.centered(face.x[0], t);   // what rounding left
  __syncthreads();
  face.x[0][t] = step;
}

// Free variables have to be there, and all barriers of former steps behind. What is published is read, and not changed.
__device__ inline FreeMove move_free(OwnVariable& own, std::int32_t first_of_second, const float* K, double* scratch,
                                     const SetVariables& set, FaceMemory& face) {
  FaceParts parts{0, 0};
  const int t = threadIdx.x, place = rank_of(own.is_free(), face.warps, parts.n);
  if (own.is_free()) face.places[place] = t;
  parts.split = __syncthreads_count(own.is_free() && t < first_of_second);
  const int n = parts.n;
  double largest = 0;
  for (int k = t % 32; k < n; k += 32) {
    const double size = fabs(set.diagonal[face.places[k]]);
    largest = largest < size ? size : largest;
  }
  largest = -lowest_of_lanes(-largest);
  for (int a = t / 32; a < n; a += kSetWarps)
    for (int b = a + t % 32; b < n; b += 32)
      scratch[a * n + b] = static_cast<double>(K[face.places[a] * kSmoSet + face.places[b]]);
  const double floor = kLeastPivot * largest < 1e-300 ? 1e-300 : kLeastPivot * largest;
  factor_face(n, scratch, scratch + kSmoSet * kSmoSet, floor, face);
  if (t < n) face.x[0][t] = set.score[face.places[t]];
  __syncthreads();
  find_free_step(parts, scratch, face);
  __syncthreads();
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += face.x[0][k] * static_cast<double>(K[face.places[k] * kSmoSet + t]);
  face.x[1][t] = sum;
  __syncthreads();
  const double* const step = face.x[0];
  const double slope = lane_sum_of_warp(n, [&](int k) { return step[k] * set.score[face.places[k]]; });
  const double curvature = lane_sum_of_warp(n, [&](int k) { return step[k] * face.x[1][face.places[k]]; });
  if (!(slope > 0) || !(slope < kInfinite)) return {false, false};
  double factor = curvature > 0 ? slope / curvature : kInfinite, most = kInfinite;
  const auto room_of = [&](int k) {
    const std::int32_t v = face.places[k];
    return step[k] == 0 ? kInfinite : smo_room(set.y[v], set.alpha[v], set.C[v], step[k] > 0) / fabs(step[k]);
  };
  for (int k = t % 32; k < n; k += 32) {
    const double room = room_of(k);
    most = room < most ? room : most;
  }
  most = lowest_of_lanes(most);
  const bool is_bounded = most <= factor;
  if (is_bounded) factor = most;
  if (!(fabs(factor) < kInfinite)) return {false, false};
  if (own.is_free())   // what ends the step meets its bound, whatever the product rounds to
    own.alpha = smo_moved(own.y, own.alpha, own.C,
                          room_of(place) <= factor ? copysign(kInfinite, step[place]) : factor * step[place]);
  own.score -= factor * sum;
  return {true, is_bounded};
}

}   // namespace kedge::engine
