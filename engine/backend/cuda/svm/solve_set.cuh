// The kernel that solves a working set: one block, a thread a variable, the steps of the host's SmoBlock to the bit. A
// step of a pair reads two rows of the set's kernel values, 4 KiB that stay in the L2 cache, and meets at two barriers:
// about 1.5 us on an H100, by latency.
#pragma once

#include "engine/backend/cuda/svm/choose_set.cuh"
#include "engine/backend/cuda/svm/move_free.cuh"

namespace kedge::engine {

struct Largest {
  double value;
  std::int32_t at;
};
__device__ inline Largest larger(const Largest& a, const Largest& b) {
  return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
}
__device__ inline Largest largest_of_warp(Largest own) {
  for (int bits = 16; bits > 0; bits /= 2)
    own = larger(own, {__shfl_xor_sync(kFullWarp, own.value, bits), __shfl_xor_sync(kFullWarp, own.at, bits)});
  return own;
}
// Of what all warps left, in the order of their variables.
__device__ inline Largest largest_of_warps(const double* values, const std::int32_t* at) {
  Largest best{values[0], at[0]};
  KEDGE_UNROLL
  for (int w = 1; w < kSetWarps; ++w)
    if (values[w] > best.value) best = {values[w], at[w]};
  return best;
}

// What warps leave for each other. Extremes and gains have places of their own: between two uses of either lies the
// barrier of the other one.
struct WarpBests {
  double highest[2][kSetWarps], lowest[2][kSetWarps], gain[kSetWarps];
  std::int32_t first[2][kSetWarps], partner[kSetWarps];
};

struct SetExtremes {
  ScoreExtents scores;
  std::int32_t first[2];   // the variable that has the highest

  // An index that is known only when it runs would put all of them into memory.
  __device__ double highest_of(int g) const { return g == 0 ? scores.highest[0] : scores.highest[1]; }
  __device__ double lowest_of(int g) const { return g == 0 ? scores.lowest[0] : scores.lowest[1]; }
  __device__ std::int32_t first_of(int g) const { return g == 0 ? first[0] : first[1]; }
};

// The extremes of each group, in all threads. Publishes the variables: no one reads the published before the next
// barrier.
__device__ inline SetExtremes find_extremes(const OwnVariable& own, int n_groups, SetVariables& set, WarpBests& bests) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  KEDGE_UNROLL
  for (int g = 0; g < 2; ++g) {
    if (g >= n_groups) continue;
    const bool is_in = own.is_there && own.group == g && own.score == own.score;
    const Largest high = largest_of_warp({is_in && may_rise(own.y, own.alpha, own.C) ? own.score : -kInfinite, own.t});
    const double low = lowest_of_lanes(is_in && may_fall(own.y, own.alpha, own.C) ? own.score : kInfinite);
    if (lane == 0) bests.highest[g][warp] = high.value, bests.first[g][warp] = high.at, bests.lowest[g][warp] = low;
  }
  __syncthreads();
  set.score[own.t] = own.score, set.alpha[own.t] = own.alpha;
  SetExtremes found{{{-kInfinite, -kInfinite}, {kInfinite, kInfinite}}, {0, 0}};
  KEDGE_UNROLL
  for (int g = 0; g < 2; ++g) {
    if (g >= n_groups) continue;
    const Largest high = largest_of_warps(bests.highest[g], bests.first[g]);
    found.scores.highest[g] = high.value, found.first[g] = high.at;
    KEDGE_UNROLL
    for (int w = 0; w < kSetWarps; ++w) {
      const double low = bests.lowest[g][w];
      found.scores.lowest[g] = low < found.scores.lowest[g] ? low : found.scores.lowest[g];
    }
  }
  return found;
}

// The variable with which the objective falls most, each group's first one given; in all threads.
__device__ inline std::int32_t find_partner(const OwnVariable& own, const SetExtremes& now, const SetVariables& set,
                                            const float* K, WarpBests& bests) {
  const double score = now.highest_of(own.group);
  double gain = -kInfinite;
  if (own.is_there && score - now.lowest_of(own.group) > 0) {
    const std::int32_t i = now.first_of(own.group);
    const bool falls = may_fall(own.y, own.alpha, own.C);
    double violation = score - (own.score + (falls ? 0 : kInfinite));
    violation = violation > 0 ? violation : 0;
    double curvature = (set.diagonal[i] + own.diagonal) - 2.0 * static_cast<double>(K[i * kSmoSet + own.t]);
    curvature = curvature > kLeastCurvature ? curvature : kLeastCurvature;
    gain = violation * violation / curvature;
    if (gain != gain) gain = -kInfinite;
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Largest of_warp = largest_of_warp({gain, own.t});
  if (lane == 0) bests.gain[warp] = of_warp.value, bests.partner[warp] = of_warp.at;
  __syncthreads();
  return largest_of_warps(bests.gain, bests.partner).at;
}

// Moves a pair; whether the kernel is below 0 along it by more than rounding.
__device__ inline bool move_pair(OwnVariable& own, std::int32_t i, std::int32_t j, const SetVariables& set,
                                 const float* K) {
  const float *const rising = K + i * kSmoSet, *const falling = K + j * kSmoSet;
  const double of_i = set.diagonal[i], of_j = set.diagonal[j];
  const double curvature = of_i + of_j - 2.0 * static_cast<double>(rising[j]);
  double step = (set.score[i] - set.score[j]) / (curvature < kLeastCurvature ? kLeastCurvature : curvature);
  const double up = smo_room(set.y[i], set.alpha[i], set.C[i], true),
               down = smo_room(set.y[j], set.alpha[j], set.C[j], false);
  step = up < step ? up : step, step = down < step ? down : step;
  if (own.t == i) own.alpha = smo_moved(own.y, own.alpha, own.C, step);
  if (own.t == j) own.alpha = smo_moved(own.y, own.alpha, own.C, -step);
  own.score -= step * (static_cast<double>(rising[own.t]) - static_cast<double>(falling[own.t]));
  return curvature < -kOfRounding * (fabs(of_i) + fabs(of_j));
}

struct SetOutcome {
  std::int64_t n_iter;
  bool has_converged, is_indefinite;
};

// Shared memory of the block.
struct SetMemory {
  SetVariables variables;
  FaceMemory face;
  WarpBests bests;
};

// Free variables move to the optimum of their face; those that meet a bound stay there. Returns the steps.
__device__ inline std::int64_t solve_face(OwnVariable& own, const SetShape& shape, double tol, std::int64_t max_iter,
                                          const float* K, double* scratch, SetExtremes& now, SetMemory& memory) {
  std::int64_t steps = 0;
  for (bool goes_on = true; goes_on && steps < max_iter && now.scores.gap() >= tol;) {
    const int n_free = __syncthreads_count(own.is_free());
    if (n_free < 2 || n_free > kMostFree) break;
    const FreeMove move = move_free(own, shape.first_of_second, K, scratch, memory.variables, memory.face);
    if (move.has_moved) now = find_extremes(own, shape.n_groups, memory.variables, memory.bests);
    goes_on = move.is_bounded, ++steps;
  }
  return steps;
}

__device__ inline SetOutcome take_steps(OwnVariable& own, const SetShape& shape, double tol, std::int64_t max_iter,
                                        const float* K, double* scratch, SetMemory& memory) {
  bool is_indefinite = false;
  SetExtremes now = find_extremes(own, shape.n_groups, memory.variables, memory.bests);
  std::int64_t iter = 0;
  for (std::int64_t pairs = 0;;) {   // since the last step of the free variables
    if (!(now.scores.gap() >= tol)) return {iter, true, is_indefinite};
    if (iter >= max_iter) return {iter, false, is_indefinite};
    if (pairs % kLookEvery == kLookEvery - 1) {
      const int n_free = __syncthreads_count(own.is_free());
      if (static_cast<double>(pairs) > kOfFace * pairs_of_face(n_free, shape.places)) {
        iter += solve_face(own, shape, tol, max_iter - iter, K, scratch, now, memory);
        pairs = 0;
        continue;
      }
    }
    const std::int32_t j = find_partner(own, now, memory.variables, K, memory.bests);
    const std::int32_t i = now.first_of(j < shape.first_of_second ? 0 : 1);
    is_indefinite = move_pair(own, i, j, memory.variables, K) || is_indefinite;
    now = find_extremes(own, shape.n_groups, memory.variables, memory.bests);
    ++iter, ++pairs;
  }
}

// K: kSmoSet squared, of all places of the set. scratch: kFaceScratch doubles.
__global__ void __launch_bounds__(kSetThreads)
    solve_set(DeviceVariables variables, const SetState* state, const float* K, double* scratch, std::int64_t max_iter,
              SetReport* report) {
  __shared__ SetMemory memory;
  const int t = threadIdx.x, n = report->count, first = report->first_of_second;
  if (n == 0) return;
  const double tol = report->tol;
  const bool is_there = t < n;
  const std::int32_t v = is_there ? state->chosen[t] : 0;
  OwnVariable own{t, t < first ? 0 : 1, is_there, 0, 0, 0, static_cast<double>(K[t * kSmoSet + t]), 1};
  if (is_there)
    own.score = variables.score(v), own.alpha = variables.alpha[v], own.C = variables.C[v], own.y = variables.y[v];
  const double before = own.alpha;
  SetVariables& set = memory.variables;
  set.C[t] = own.C, set.diagonal[t] = own.diagonal, set.y[t] = static_cast<signed char>(own.y);
  const SetShape shape{first < n ? 2 : 1, first, smo_places(n, first)};
  const SetOutcome outcome = take_steps(own, shape, tol, max_iter, K, scratch, memory);
  if (is_there) variables.alpha[v] = own.alpha;
  report->changes[t] = is_there ? own.y * (own.alpha - before) : 0;
  if (t != 0) return;
  report->n_iter = outcome.n_iter, report->has_converged = outcome.has_converged;
  report->is_indefinite = outcome.is_indefinite;
}

}   // namespace kedge::engine
