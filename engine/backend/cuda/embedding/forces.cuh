// The kernels of t-SNE's descent. An iteration of n points in 2 dimensions takes 8 float32 instructions and one of the
// unit for special functions for each of n^2 pairs, and reads 8 bytes for each of the affinities: 0.15 ms for 20,000
// points on an H100.
#pragma once

#include <cstdint>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/reciprocal.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/embedding_functors.h"
#include "engine/backend/ops/embedding.h"

namespace kedge::engine {

inline constexpr int kPushThreads = 128, kPushRows = 4;   // rows of a thread, so that each source is read once for four
inline constexpr int kPushTile = 256;                     // sources whose forces are added in float
inline constexpr std::int64_t kPushParts = 32;            // of the sources, at most: blocks side by side
inline constexpr int kPullLanes = 8;                      // that share the neighbours of a point
inline constexpr int kMoveThreads = 256;

// A point as kernels read it, in one access.
template <int kDims>
struct alignas(kDims == 2 ? 8 : 16) Spot {
  float at[kDims == 2 ? 2 : 4];
};

// The forces on the points of a block, and their sums of q, from the sources of part blockIdx.y: partial[part][kDims +
// 1][n].
template <int kDims>
__global__ void push_points(const Spot<kDims>* spots, std::int64_t n, std::int64_t part_size, double* partial) {
  __shared__ Spot<kDims> tile[kPushTile];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kPushThreads * kPushRows + threadIdx.x;
  const std::int64_t part_begin = blockIdx.y * part_size,
                     part_end = part_begin + part_size < n ? part_begin + part_size : n;
  float own[kPushRows][kDims];
  double sums[kPushRows][kDims + 1] = {};
  KEDGE_UNROLL
  for (int r = 0; r < kPushRows; ++r) {
    const std::int64_t i = first + r * kPushThreads;
    const Spot<kDims> spot = spots[i < n ? i : n - 1];
    KEDGE_UNROLL
    for (int d = 0; d < kDims; ++d) own[r][d] = spot.at[d];
  }
  for (std::int64_t begin = part_begin; begin < part_end; begin += kPushTile) {
    const int count = static_cast<int>(part_end - begin < kPushTile ? part_end - begin : kPushTile);
    __syncthreads();
    for (int s = threadIdx.x; s < count; s += kPushThreads) tile[s] = spots[begin + s];
    __syncthreads();
    float near[kPushRows][kDims + 1] = {};   // the forces, then q
    for (int s = 0; s < count; ++s) {
      const Spot<kDims> source = tile[s];
      KEDGE_UNROLL
      for (int r = 0; r < kPushRows; ++r) {
        float gap[kDims], apart = kDims == 3 ? 2 : 1;
        KEDGE_UNROLL
        for (int d = 0; d < kDims; ++d) {
          gap[d] = own[r][d] - source.at[d];
          apart = fmaf(gap[d], gap[d], apart);
        }
        const float w = kDims == 3 ? 2 * quick_reciprocal(apart) : quick_reciprocal(apart);
        const float q = kDims == 3 ? w * sqrtf(w) : w, push = q * w;
        near[r][kDims] += q;
        KEDGE_UNROLL
        for (int d = 0; d < kDims; ++d) near[r][d] = fmaf(push, gap[d], near[r][d]);
      }
    }
    KEDGE_UNROLL
    for (int r = 0; r < kPushRows; ++r) {
      KEDGE_UNROLL
      for (int c = 0; c <= kDims; ++c) sums[r][c] += static_cast<double>(near[r][c]);
    }
  }
  double* const out = partial + static_cast<std::int64_t>(blockIdx.y) * (kDims + 1) * n;
  KEDGE_UNROLL
  for (int r = 0; r < kPushRows; ++r) {
    const std::int64_t i = first + r * kPushThreads;
    if (i >= n) continue;
    KEDGE_UNROLL
    for (int c = 0; c <= kDims; ++c) out[c * n + i] = sums[r][c];
  }
}

// The sum of the threads' values in a fixed order, in all of them. `shared` has 32 places; blocks of kMoveThreads.
__device__ inline double block_total(double value, double* shared) {
  value = fold_lanes(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  double total = 0;
  for (int w = 0; w < kMoveThreads / 32; ++w) total += shared[w];
  return total;
}

// pushes[kDims][n] = the forces of all parts; totals[block] = the sum of q over its points, each without itself.
template <int kDims>
__global__ void add_parts_of_pushes(const double* partial, std::int64_t n, std::int64_t parts, double* pushes,
                                    double* totals) {
  __shared__ double shared[32];
  const std::int64_t i = own_item();
  double q = 0;
  if (i < n) {
    double sums[kDims + 1] = {};
    for (std::int64_t p = 0; p < parts; ++p) {
      KEDGE_UNROLL
      for (int c = 0; c <= kDims; ++c) sums[c] += partial[(p * (kDims + 1) + c) * n + i];
    }
    KEDGE_UNROLL
    for (int d = 0; d < kDims; ++d) pushes[d * n + i] = sums[d];
    q = sums[kDims] - 1;
  }
  const double total = block_total(q, shared);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

// The affinities on the device.
struct DeviceEdges {
  const std::int64_t* row_begin;
  const std::int32_t* columns;
  const float* weights;
};

// Where the points are before an iteration, and where after it: dims x n doubles, and the same as float32.
template <int kDims>
struct PointMove {
  const double* from;
  double* to;
  const Spot<kDims>* spots;
  Spot<kDims>* next_spots;
};

// What moves them. measures: null, or the part of each point in the divergence, then its squares: 2 x n.
struct MoveForces {
  const double *pushes, *totals;
  std::int64_t n_totals;
  double *steps, *gains, *measures;
  PointStep step;
  bool is_first;   // of its phase: steps and gains hold nothing yet
};

// kPullLanes threads a point: neighbours draw it, the others push it.
template <int kDims>
__global__ void move_points(DeviceEdges edges, MoveForces forces, PointMove<kDims> points, std::int64_t n) {
  constexpr double kTiny = 1.1754943508222875e-38;   // scikit-learn's: the least normal float32
  constexpr double kFactor = kDims == 3 ? 3 : 4;
  __shared__ double shared[32];
  double total = 0;
  for (std::int64_t b = threadIdx.x; b < forces.n_totals; b += kMoveThreads) total += forces.totals[b];
  total = block_total(total, shared);
  const std::int64_t i = own_item() / kPullLanes;
  const int lane = threadIdx.x % kPullLanes;
  const bool is_point = i < n;
  const Spot<kDims> own = points.spots[is_point ? i : 0];
  const std::int64_t begin = is_point ? edges.row_begin[i] : 0, end = is_point ? edges.row_begin[i + 1] : 0;
  float near[kDims] = {};
  double divergence = 0;
  for (std::int64_t e = begin + lane; e < end; e += kPullLanes) {
    const std::int64_t j = edges.columns[e];
    const Spot<kDims> other = points.spots[j];
    const float weight = edges.weights[e];
    float gap[kDims], squared = 0;
    KEDGE_UNROLL
    for (int d = 0; d < kDims; ++d) {
      gap[d] = own.at[d] - other.at[d];
      squared = fmaf(gap[d], gap[d], squared);
    }
    const float pull = weight / (kDims == 3 ? fmaf(squared, 0.5F, 1.0F) : 1 + squared);
    KEDGE_UNROLL
    for (int d = 0; d < kDims; ++d) near[d] = fmaf(pull, gap[d], near[d]);
    if (!forces.measures) continue;
    double apart = 0;
    KEDGE_UNROLL
    for (int d = 0; d < kDims; ++d) {
      const double away = points.from[d * n + i] - points.from[d * n + j];
      apart += away * away;
    }
    const double w = 1 / (1 + (kDims == 3 ? apart / 2 : apart)), q = (kDims == 3 ? w * sqrt(w) : w) / total;
    const double p = static_cast<double>(weight) * forces.step.exaggeration;
    divergence += p * log((p < kTiny ? kTiny : p) / (q < kTiny ? kTiny : q));   // NaN stays
  }
  double pulled[kDims];
  for (int d = 0; d < kDims; ++d) pulled[d] = static_cast<double>(near[d]);
  for (int width = kPullLanes / 2; width > 0; width /= 2) {
    KEDGE_UNROLL
    for (int d = 0; d < kDims; ++d) pulled[d] += __shfl_down_sync(kFullWarp, pulled[d], width, kPullLanes);
    divergence += __shfl_down_sync(kFullWarp, divergence, width, kPullLanes);
  }
  if (!is_point || lane != 0) return;
  double squares = 0;
  Spot<kDims> next = own;
  KEDGE_UNROLL
  for (int d = 0; d < kDims; ++d) {
    const std::int64_t at = d * n + i;
    const double slope = kFactor * (forces.step.exaggeration * pulled[d] - forces.pushes[at] / total);
    const Motion before = forces.is_first ? Motion{0, 1} : Motion{forces.steps[at], forces.gains[at]};
    double taken;
    const Motion motion = next_motion(before, slope, forces.step.momentum, forces.step.rate, taken);
    squares += taken * taken;
    forces.steps[at] = motion.step;
    forces.gains[at] = motion.gain;
    const double place = points.from[at] + motion.step;
    points.to[at] = place;
    next.at[d] = static_cast<float>(place);
  }
  points.next_spots[i] = next;
  if (!forces.measures) return;
  forces.measures[i] = divergence;
  forces.measures[n + i] = squares;
}

}   // namespace kedge::engine
