// DBSCAN's components on the GPU, as passes over the pairs within a distance: count, join, then border points.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/backend/cuda/neighbours/row_distance.cuh"
#include "engine/backend/cuda/neighbours/tile_product.cuh"
#include "engine/backend/cuda/neighbours/union_find.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/functors.h"
#include "engine/backend/kd_search.h"
#include "engine/backend/raw.h"

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
  const T* const q = raw(points) + i * points.stride;
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
    const double distance =
        warp_distance<M>(raw(points) + i * points.stride, raw(points) + j * points.stride, points.cols, power);
    if (!(distance <= job.limit) || threadIdx.x != 0) continue;
    if (job.weights && kPass == Pass::kCount) weight += job.weights[j];
    else meet_pair<kPass>(job, static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), true);
  }
  if (job.weights && kPass == Pass::kCount && threadIdx.x == 0) job.core[i] = weight >= job.least ? 1 : 0;
}

}   // namespace kedge::engine
