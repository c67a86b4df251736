// DBSCAN's components on the GPU, as passes over the pairs within a distance: count, join, then border points.
#pragma once

#include "engine/backend/cuda/neighbours/row_distance.cuh"
#include "engine/backend/cuda/neighbours/tile_product.cuh"
#include "engine/backend/cuda/neighbours/union_find.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/functors.h"
#include "engine/backend/kd_search.h"

namespace kedge::engine {

enum class Pass { kCount, kJoin, kBorder };

struct DensityView {
  double limit, least;
  const double* weights;      // null: 1 each
  std::uint8_t* core;
  std::int32_t* counts;       // points within the limit, itself included
  std::int32_t* parents;
  std::int32_t* component;
};

// What a pass does with a pair i != j that is within the limit; it is met once if `both`, else from either end.
template <Pass kPass>
__device__ void meet_pair(const DensityView& job, std::int32_t i, std::int32_t j, bool both) {
  if constexpr (kPass == Pass::kCount) {
    atomicAdd(job.counts + i, 1);
    if (both) atomicAdd(job.counts + j, 1);
  } else if constexpr (kPass == Pass::kJoin) {
    if (job.core[i] && job.core[j]) unite(job.parents, i, j);
  } else {   // -1 is the largest of unsigned numbers
    unsigned* const component = reinterpret_cast<unsigned*>(job.component);
    if (!job.core[i] && job.core[j]) atomicMin(component + i, static_cast<unsigned>(job.parents[j]));
    if (both && !job.core[j] && job.core[i]) atomicMin(component + j, static_cast<unsigned>(job.parents[i]));
  }
}

static __global__ void reset_density(DensityView job, std::int64_t n) {
  const std::int64_t i = own_item();
  if (i < n) job.counts[i] = 1, job.parents[i] = static_cast<std::int32_t>(i), job.component[i] = -1;
}
static __global__ void core_by_count(DensityView job, std::int64_t n) {
  const std::int64_t i = own_item();
  if (i < n) job.core[i] = static_cast<double>(job.counts[i]) >= job.least ? 1 : 0;
}
// Roots in place of parents: `roots` is another array, since others still walk through the parents.
static __global__ void flatten(DensityView job, std::int64_t n, std::int32_t* roots) {
  const std::int64_t i = own_item();
  if (i < n) roots[i] = find_root(job.parents, static_cast<std::int32_t>(i));
}
static __global__ void name_core(DensityView job, std::int64_t n) {
  const std::int64_t i = own_item();
  if (i < n && job.core[i]) job.component[i] = job.parents[i];
}

// --- in a tree: one thread a point, in the tree's order, so that a warp walks together ---

template <Metric M, Pass kPass, class T>
__global__ void walk_pairs(KdView<T> tree, MatrixView<const T> points, double power, DensityView job) {
  const std::int64_t p = own_item();
  if (p >= tree.n) return;
  const std::int32_t i = tree.order[p];
  const T* const q = points.data + i * points.stride;
  if constexpr (kPass == Pass::kCount) {
    if (!job.weights) {
      CountVisitor visitor{job.limit, tree.n, static_cast<std::int64_t>(ceil(job.least > 0 ? job.least : 0.0)), 0};
      kd_walk<M>(tree, q, power, visitor);
      job.core[i] = static_cast<double>(visitor.count) >= job.least ? 1 : 0;
      return;
    }
    double weight = 0;
    const auto add = [&](std::int32_t j, double) { weight += job.weights[j]; };
    EachVisitor<decltype(add)> visitor{job.limit, add};
    kd_walk<M>(tree, q, power, visitor);
    job.core[i] = weight >= job.least ? 1 : 0;
  } else {
    if ((kPass == Pass::kJoin) != (job.core[i] != 0)) return;
    const auto meet = [&](std::int32_t j, double) {
      if (kPass == Pass::kBorder || j < i) meet_pair<kPass>(job, i, j, false);
    };
    EachVisitor<decltype(meet)> visitor{job.limit, meet};
    kd_walk<M>(tree, q, power, visitor);
  }
}

// --- scans: one warp a point ---

template <Metric M, Pass kPass, class T>
__global__ void scan_pairs(MatrixView<const T> points, double power, DensityView job) {
  const std::int64_t i = own_row();
  if (i >= points.rows) return;
  double weight = 0;
  for (std::int64_t j = 0; j < (job.weights && kPass == Pass::kCount ? points.rows : i); ++j) {
    const double distance = warp_distance<M>(points.data + i * points.stride, points.data + j * points.stride, points.cols, power);
    if (!(distance <= job.limit) || threadIdx.x != 0) continue;
    if (job.weights && kPass == Pass::kCount) weight += job.weights[j];
    else meet_pair<kPass>(job, static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), true);
  }
  if (job.weights && kPass == Pass::kCount && threadIdx.x == 0) job.core[i] = weight >= job.least ? 1 : 0;
}

// --- Euclidean scans: tiles of scores, and distances in double only where rounding decides ---

template <class T>
struct CentredPoints {
  MatrixView<const T> centred;
  const T* norms;   // squared
  T largest;        // of the norms, not squared
};

// Whether point i is within the limit of another: by its score, and exactly where rounding might decide.
template <class T>
struct Within {
  double limit, norm, error;
  T far;   // scores in T without the norm of i that are larger are beyond the limit, however T rounded them

  __device__ Within(const DensityView& job, const CentredPoints<T>& c, std::int64_t i)
      : limit(job.limit),
        norm(static_cast<double>(c.norms[i])),
        error(static_cast<double>(score_error<T>(sqrt(c.norms[i]), c.largest, c.centred.cols + kShortRow))) {
    const double bound = limit + 2 * error - norm;   // the second error is for the rounding of the scores
    far = static_cast<T>(bound + fabs(bound) * 0x1p-20);
  }
  __device__ bool holds(MatrixView<const T> points, std::int64_t i, std::int64_t j, T other_norm, T dot) const {
    if (other_norm - 2 * dot > far) return false;   // NaN goes on
    const double score = static_cast<double>(other_norm) - 2 * static_cast<double>(dot) + norm;
    if (score > limit + error) return false;
    return score <= limit - error ||
           serial_distance(points.data + i * points.stride, points.data + j * points.stride, points.cols) <= limit;
  }
};

// What a pass has to know of a point before it looks at its pairs: its parent, or -1 if it joins none; whether it is
// core.
template <Pass kPass>
__device__ std::int32_t mark_of(const DensityView& job, std::int64_t i, std::int64_t n) {
  if (kPass == Pass::kCount || i >= n) return -1;
  const bool is_core = job.core[i] != 0;
  if constexpr (kPass == Pass::kJoin) return is_core ? *static_cast<volatile std::int32_t*>(job.parents + i) : -1;
  return is_core ? 1 : 0;
}

// Whether nothing can come of a pair with these marks. Points with one parent are in one set, and stay so.
template <Pass kPass>
__device__ bool is_settled(std::int32_t a, std::int32_t b) {
  if constexpr (kPass == Pass::kJoin) return a < 0 || b < 0 || a == b;
  return kPass == Pass::kBorder && a == b;
}

// Adds the hits of the 16 threads of one row.
__device__ inline void add_row_hits(int hits, int x, std::int32_t* count) {
  for (int width = 8; width > 0; width /= 2) hits += __shfl_down_sync(kFullWarp, hits, width, 16);
  if (x == 0 && hits > 0) atomicAdd(count, hits);
}

// Block (x, y) takes tile x against tile y <= x. 2 n^2 d / 2 flops a pass.
template <Pass kPass, class T>
__global__ void __launch_bounds__(256) tile_pairs(MatrixView<const T> points, CentredPoints<T> c, DensityView job) {
  using Shape = TileShape<T>;
  constexpr int kMicro = Shape::kMicro, kTile = Shape::kTile;
  const std::int64_t tile_y = block_y(), n = points.rows;
  if (tile_y > blockIdx.x) return;   // also what tall_grid() adds
  KEDGE_DYNAMIC_SHARED(T, shared);
  const int thread = static_cast<int>(threadIdx.x), x = thread % 16, y = thread / 16;
  const std::int64_t left = static_cast<std::int64_t>(blockIdx.x) * kTile, right = tile_y * kTile;
  const std::int32_t left_mark = mark_of<kPass>(job, left + thread % kTile, n),
                     right_mark = mark_of<kPass>(job, right + thread % kTile, n);
  if (kPass == Pass::kJoin && (!__syncthreads_or(left_mark >= 0) || !__syncthreads_or(right_mark >= 0))) return;
  if (kPass == Pass::kBorder && !__syncthreads_or(left_mark == 0 || right_mark == 0)) return;
  T dots[kMicro][kMicro], norms[kMicro];
  multiply_tiles<T>(c.centred, c.centred, left, right, n, shared, dots);
  std::int32_t* const marks = reinterpret_cast<std::int32_t*>(shared);   // of the left tile; counts in that pass
  if (thread < kTile) marks[thread] = kPass == Pass::kCount ? 0 : left_mark, marks[kTile + thread] = right_mark;
  __syncthreads();
  for (int b = 0; b < kMicro; ++b) norms[b] = right + x + 16 * b < n ? c.norms[right + x + 16 * b] : T{0};
  unsigned long long column_hits = 0;   // 8 bits for each of the thread's columns
  for (int a = 0; a < kMicro; ++a) {
    const std::int64_t i = left + y + 16 * a;
    int hits = 0;
    if (i < n) {
      const Within<T> within(job, c, i);
      for (int b = 0; b < kMicro; ++b) {
        const std::int64_t j = right + x + 16 * b;
        if (j >= i || is_settled<kPass>(marks[y + 16 * a], marks[kTile + x + 16 * b])) continue;
        if (!within.holds(points, i, j, norms[b], dots[a][b])) continue;
        if constexpr (kPass == Pass::kCount) ++hits, column_hits += 1ull << (8 * b);
        else meet_pair<kPass>(job, static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), true);
      }
    }
    if constexpr (kPass == Pass::kCount) add_row_hits(hits, x, job.counts + i);
  }
  if constexpr (kPass == Pass::kCount) {
    for (int b = 0; b < kMicro; ++b) {
      const auto hits = static_cast<std::int32_t>(column_hits >> (8 * b) & 0xff);
      if (hits > 0) atomicAdd(marks + x + 16 * b, hits);
    }
    __syncthreads();
    if (thread < kTile && marks[thread] > 0) atomicAdd(job.counts + right + thread, marks[thread]);
  }
}

}  // namespace kedge::engine
