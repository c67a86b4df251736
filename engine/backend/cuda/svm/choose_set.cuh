// The kernels that choose a working set: the variables that violate most by tiles that are sorted, then those of the
// former set. Reads 30 bytes a variable and a list: 2 us for 20,000 variables on an H100, beside the launches.
#pragma once

#include <cstdint>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/ops/support_vectors.h"
#include "engine/backend/svm_functors.h"

namespace kedge::engine {

inline constexpr int kSetThreads = static_cast<int>(kSmoSet), kSetWarps = kSetThreads / 32;
inline constexpr int kRankTile = 2048;   // entries of a block, which sorts them

struct DeviceVariables {
  const std::int32_t* row;
  const signed char* y;
  const double *C, *offset;
  double *alpha, *values;
  std::int64_t n;
  bool by_sign;

  __device__ double score(std::int64_t t) const { return offset[t] - values[row[t]]; }
  __device__ int group(std::int64_t t) const { return by_sign && y[t] < 0 ? 1 : 0; }
};

// What the host reads after a set.
struct SetReport {
  double gap, tol;   // tol: of this set
  std::int64_t n_iter;
  std::int32_t count, first_of_second, has_converged, is_indefinite;
  std::int32_t rows[kSmoSet];
  double changes[kSmoSet];
};

struct SetState {
  std::int32_t chosen[kSmoSet];             // the variables, by group
  std::int32_t former[kSmoSet], n_former;   // the same in the order of the choice
};

// Lists of variables: list 2 g has those of group g that may rise, the largest score first, the next one those that may
// fall, the smallest first; ties by number. `most` of each tile of a list; -1 where there are no more.
struct Ranked {
  std::uint64_t* keys;
  std::int32_t* at;
};

// Unsigned numbers in the order of the doubles, 0 and -0 alike; 0 is none of them.
__device__ inline std::uint64_t order_of(double v) {
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(v + 0.0));
  return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}
__device__ inline double of_order(std::uint64_t key) {
  const std::uint64_t bits = key >> 63 ? key & ~(std::uint64_t{1} << 63) : ~key;
  return __longlong_as_double(static_cast<long long>(bits));
}

// Sorts kRankTile entries of shared memory.
__device__ inline void sort_tile(std::uint64_t* keys, std::int32_t* at) {
  for (int size = 2; size <= kRankTile; size *= 2)
    for (int apart = size / 2; apart > 0; apart /= 2) {
      __syncthreads();
      for (int p = threadIdx.x; p < kRankTile / 2; p += kSetThreads) {
        const int i = 2 * p - (p & (apart - 1)), j = i + apart;
        const std::uint64_t a = keys[i], b = keys[j];
        const std::int32_t of_a = at[i], of_b = at[j];
        const bool is_before = b > a || (b == a && of_b < of_a);
        if (is_before != ((i & size) == 0)) continue;
        keys[i] = b, keys[j] = a;
        at[i] = of_b, at[j] = of_a;
      }
    }
  __syncthreads();
}

__device__ inline void put_first(const std::uint64_t* keys, const std::int32_t* at, int most, Ranked out) {
  const std::int64_t to = (static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x) * most;
  for (int e = threadIdx.x; e < most; e += kSetThreads) out.keys[to + e] = keys[e], out.at[to + e] = at[e];
}

// Grid: tiles x lists. A score that is not a number is in no list.
__global__ void __launch_bounds__(kSetThreads) rank_variables(DeviceVariables variables, int most, Ranked out) {
  __shared__ std::uint64_t keys[kRankTile];
  __shared__ std::int32_t at[kRankTile];
  const int group = static_cast<int>(blockIdx.y) / 2;
  const bool up = blockIdx.y % 2 == 0;
  for (int e = threadIdx.x; e < kRankTile; e += kSetThreads) {
    const std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * kRankTile + e;
    keys[e] = 0, at[e] = -1;
    if (t >= variables.n || variables.group(t) != group) continue;
    const double y = variables.y[t], alpha = variables.alpha[t], C = variables.C[t], score = variables.score(t);
    if (!(up ? may_rise(y, alpha, C) : may_fall(y, alpha, C)) || score != score) continue;
    keys[e] = order_of(up ? score : -score), at[e] = static_cast<std::int32_t>(t);
  }
  sort_tile(keys, at);
  put_first(keys, at, most, out);
}

// The same of `count` entries of each list.
__global__ void __launch_bounds__(kSetThreads) rank_again(Ranked in, std::int64_t count, int most, Ranked out) {
  __shared__ std::uint64_t keys[kRankTile];
  __shared__ std::int32_t at[kRankTile];
  for (int e = threadIdx.x; e < kRankTile; e += kSetThreads) {
    const std::int64_t own = static_cast<std::int64_t>(blockIdx.x) * kRankTile + e, from = blockIdx.y * count + own;
    keys[e] = own < count ? in.keys[from] : 0, at[e] = own < count ? in.at[from] : -1;
  }
  sort_tile(keys, at);
  put_first(keys, at, most, out);
}

// How many threads before this one say so, and of all. `shared` has kSetWarps places.
__device__ inline int rank_of(bool is_one, int* shared, int& total) {
  const unsigned bits = __ballot_sync(kFullWarp, is_one);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();
  if (lane == 0) shared[warp] = __popc(bits);
  __syncthreads();
  int before = __popc(bits & ((1U << lane) - 1));
  total = 0;
  for (int w = 0; w < kSetWarps; ++w) {
    if (w < warp) before += shared[w];
    total += shared[w];
  }
  return before;
}

__device__ inline bool is_among(std::int32_t t, const std::int32_t* set, int count) {
  for (int e = 0; e < count; ++e)
    if (set[e] == t) return true;
  return false;
}

// The scores between which variables violate, by group.
struct ScoreExtents {
  double highest[2], lowest[2];

  __device__ double gap() const {
    const double first = highest[0] - lowest[0], second = highest[1] - lowest[1];
    return first < second ? second : first;
  }
};

__device__ inline ScoreExtents extents_of(Ranked lists, int most, int n_lists) {
  ScoreExtents found;
  for (int g = 0; g < 2; ++g) {
    const int up = 2 * g * most, down = up + most;
    const bool is_there = 2 * g < n_lists;
    found.highest[g] = is_there && lists.at[up] >= 0 ? of_order(lists.keys[up]) : -kInfinite;
    found.lowest[g] = is_there && lists.at[down] >= 0 ? -of_order(lists.keys[down]) : kInfinite;
  }
  return found;
}

// What violates, in the order of the lists and by number within each, each once: set[0], ...; returns how many.
__device__ inline int put_violators(Ranked lists, int most, int n_lists, const ScoreExtents& extents, int* shared,
                                    std::int32_t* places, std::int32_t* set) {
  __shared__ int first_of_list[4];
  const int t = threadIdx.x, list = t / most, g = list / 2;
  const std::int32_t own = list < n_lists ? lists.at[t] : -1;
  const double score = own < 0 ? 0 : (list % 2 == 0 ? of_order(lists.keys[t]) : -of_order(lists.keys[t]));
  const bool violates = own >= 0 && (list % 2 == 0 ? score > extents.lowest[g] : score < extents.highest[g]);
  int count = 0;
  const int before = rank_of(violates, shared, count);
  if (list < n_lists && t % most == 0) first_of_list[list] = before;
  set[t] = violates ? own : -1;
  __syncthreads();
  int place = list < n_lists ? first_of_list[list] : 0;
  for (int e = list * most; violates && e < (list + 1) * most; ++e)
    if (set[e] >= 0 && set[e] < own) ++place;
  if (violates) places[place] = own;
  __syncthreads();
  const bool is_first = t < count && !is_among(places[t], places, t);
  int n = 0;
  const int to = rank_of(is_first, shared, n);   // all have read `set` by then
  if (is_first) set[to] = places[t];
  __syncthreads();
  return n;
}

// One block. The lists: one tile each.
__global__ void __launch_bounds__(kSetThreads)
    form_set(DeviceVariables variables, Ranked lists, int most, double tol, SetState* state, SetReport* report) {
  constexpr double kOfGap = 0.1;         // a set is solved until its gap is this part of the whole problem's
  constexpr double kOfTolerance = 0.5;   // but not beyond this part of tol
  __shared__ std::int32_t places[kSmoSet], set[kSmoSet];
  __shared__ int shared[kSetWarps];
  const int t = threadIdx.x, n_lists = variables.by_sign ? 4 : 2;
  const ScoreExtents extents = extents_of(lists, most, n_lists);
  const double gap = extents.gap();
  report->rows[t] = 0;
  if (t == 0) {
    report->gap = gap, report->tol = kOfGap * gap > kOfTolerance * tol ? kOfGap * gap : kOfTolerance * tol;
    report->n_iter = 0, report->has_converged = 1, report->is_indefinite = 0;
    report->count = report->first_of_second = 0;
  }
  if (!(gap >= tol)) return;
  const int n = put_violators(lists, most, n_lists, extents, shared, places, set);
  const std::int32_t old = t < state->n_former ? state->former[t] : -1;
  const bool stays =
      old >= 0 && variables.alpha[old] > 0 && variables.alpha[old] < variables.C[old] && !is_among(old, set, n);
  int kept = 0;
  const int to = n + rank_of(stays, shared, kept);   // all have read `set` by then
  if (stays && to < kSetThreads) set[to] = old;
  const int count = n + kept < kSetThreads ? n + kept : kSetThreads;
  __syncthreads();
  const std::int32_t own = t < count ? set[t] : -1;
  int first = 0;
  const bool is_first = own >= 0 && variables.group(own) == 0;
  const int before = rank_of(is_first, shared, first);
  if (own >= 0) {
    const int place = is_first ? before : first + t - before;
    state->former[t] = own, state->chosen[place] = own;
    report->rows[place] = variables.row[own];
  }
  if (t == 0) state->n_former = report->count = count, report->first_of_second = first;
}

}   // namespace kedge::engine
