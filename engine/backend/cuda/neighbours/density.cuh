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

// --- Euclidean scans: tiles of scores, and distances in double only where rounding decides ---

template <class T>
struct CentredPoints {
  MatrixView<const T> centred;
  const T* norms;   // squared
  T largest;        // of the norms, not squared
};

// Whether point i is within the limit of another, by its score, as far as rounding lets it tell.
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
  // Sets bit e of `hits`, or of `doubts` where only the exact distance tells.
  template <class Word>
  __device__ void look(T other_norm, T dot, int e, Word& hits, Word& doubts) const {
    if (other_norm - 2 * dot > far) return;   // NaN goes on
    const double score = static_cast<double>(other_norm) - 2 * static_cast<double>(dot) + norm;
    if (score > limit + error) return;
    const auto bit = static_cast<Word>(Word{1} << e);
    if (score <= limit - error) hits |= bit;
    else doubts |= bit;
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

// What the first pass found, for those after it: of each pair of tiles where its bits lie, one of each pair of rows.
struct PairMasks {
  static constexpr std::int32_t kNothing = -1, kNotKept = -2;
  static constexpr std::int64_t kThreads = 256;
  std::int32_t* places;   // null: nothing is kept
  void* words;            // kThreads of the product's Word a place
  std::int32_t *used, capacity;

  __device__ std::int32_t* place_of(std::int64_t left, std::int64_t right) const {
    return places + left * (left + 1) / 2 + right;
  }
  template <class Word>
  __device__ Word word_at(std::int32_t place) const {
    return static_cast<const Word*>(words)[place * kThreads + threadIdx.x];
  }
  // All threads of the block call it; `slot` is in shared memory.
  template <class Word>
  __device__ void keep(std::int64_t left, std::int64_t right, Word bits, std::int32_t* slot) const {
    const bool has_any = __syncthreads_or(bits != 0);
    if (threadIdx.x == 0) {
      const std::int32_t next = has_any ? atomicAdd(used, 1) : std::int32_t{kNothing};
      *slot = next < capacity ? next : std::int32_t{kNotKept};
      *place_of(left, right) = *slot;
    }
    __syncthreads();
    if (*slot >= 0) static_cast<Word*>(words)[*slot * kThreads + threadIdx.x] = bits;
  }
};

// Which pairs a thread of tile_pairs() has, and a word of a bit for each of them.
template <class T>
struct MicroPlaces {
  static constexpr int kMicro = TileShape<T>::kMicro, kTile = TileShape<T>::kTile, kValues = kMicro * kMicro;
  using Word = std::conditional_t<sizeof(T) == 4, unsigned long long, std::uint16_t>;
  __device__ static int row_of(int thread, int e) { return tile_place(thread / 16, e / kMicro); }
  __device__ static int column_of(int thread, int e) { return tile_place(thread % 16, e % kMicro); }
};

// Adds the hits of a block to the counts of its rows and columns. `counts` of both is in shared memory, 0 before
// and after.
template <class Places>
__device__ void count_hits(typename Places::Word hits, std::int32_t* counts, std::int32_t* left_counts,
                           std::int32_t* right_counts) {
  if (!__syncthreads_or(hits != 0)) return;
  const int thread = static_cast<int>(threadIdx.x);
  for (int e = 0; hits != 0 && e < Places::kValues; ++e) {
    if ((hits >> e & 1) == 0) continue;
    atomicAdd(counts + Places::row_of(thread, e), 1);
    atomicAdd(counts + Places::kTile + Places::column_of(thread, e), 1);
  }
  __syncthreads();
  for (int i = thread; i < 2 * Places::kTile; i += static_cast<int>(blockDim.x)) {
    if (counts[i] > 0) atomicAdd(i < Places::kTile ? left_counts + i : right_counts + (i - Places::kTile), counts[i]);
    counts[i] = 0;
  }
  __syncthreads();
}

// What a pass does with the hits of a pair of tiles; marks: those of the left tile's points, then of the right's.
template <Pass kPass, class Places>
__device__ void meet_hits(const DensityView& job, typename Places::Word bits, std::int64_t left, std::int64_t right,
                          const std::int32_t* marks) {
  for (int e = 0; e < Places::kValues; ++e) {
    if ((bits >> e & 1) == 0) continue;
    const int i = Places::row_of(static_cast<int>(threadIdx.x), e),
              j = Places::column_of(static_cast<int>(threadIdx.x), e);
    if (is_settled<kPass>(marks[i], marks[Places::kTile + j])) continue;
    meet_pair<kPass>(job, static_cast<std::int32_t>(left + i), static_cast<std::int32_t>(right + j), true);
  }
}

// Block (x, y) takes tile x against tile y <= x. 2 n^2 d / 2 flops in the first pass, and where its hits were not kept.
template <Pass kPass, class T>
__global__ void __launch_bounds__(256, 2)
    tile_pairs(MatrixView<const T> points, CentredPoints<T> c, DensityView job, PairMasks masks) {
  using Shape = TileShape<T>;
  using Places = MicroPlaces<T>;
  using Word = typename Places::Word;
  constexpr int kMicro = Shape::kMicro, kTile = Shape::kTile;
  const std::int64_t tile_x = blockIdx.x, tile_y = block_y(), n = points.rows;
  if (tile_y > tile_x) return;   // also what tall_grid() adds
  KEDGE_DYNAMIC_SHARED(T, shared);
  const int thread = static_cast<int>(threadIdx.x), x = thread % 16, y = thread / 16;
  const std::int64_t left = tile_x * kTile, right = tile_y * kTile;
  const std::int32_t place =
      kPass != Pass::kCount && masks.places ? *masks.place_of(tile_x, tile_y) : std::int32_t{PairMasks::kNotKept};
  if (place == PairMasks::kNothing) return;
  const std::int32_t left_mark = mark_of<kPass>(job, left + thread % kTile, n),
                     right_mark = mark_of<kPass>(job, right + thread % kTile, n);
  if (kPass == Pass::kJoin && (!__syncthreads_or(left_mark >= 0) || !__syncthreads_or(right_mark >= 0))) return;
  if (kPass == Pass::kBorder && !__syncthreads_or(left_mark == 0 || right_mark == 0)) return;
  std::int32_t* const marks = reinterpret_cast<std::int32_t*>(shared);   // of both tiles; counts in the first pass
  const auto put_marks = [&] {
    if (thread < kTile)
      marks[thread] = kPass == Pass::kCount ? 0 : left_mark,
      marks[kTile + thread] = kPass == Pass::kCount ? 0 : right_mark;
    __syncthreads();
  };
  if (place >= 0) {
    put_marks();
    return meet_hits<kPass, Places>(job, masks.word_at<Word>(place), left, right, marks);
  }
  T dots[kMicro][kMicro], norms[kMicro];
  multiply_tiles<T>(c.centred, c.centred, left, right, n, shared, dots);
  put_marks();
  KEDGE_UNROLL
  for (int b = 0; b < kMicro; ++b) {
    const std::int64_t j = right + tile_place(x, b);
    norms[b] = j < n ? c.norms[j] : T{0};
  }
  Word hits = 0, doubts = 0;
  KEDGE_UNROLL
  for (int a = 0; a < kMicro; ++a) {
    const std::int64_t i = left + tile_place(y, a);
    if (i >= n) continue;
    const Within<T> within(job, c, i);
    KEDGE_UNROLL
    for (int b = 0; b < kMicro; ++b) {
      if (right + tile_place(x, b) >= i) continue;
      if (is_settled<kPass>(marks[tile_place(y, a)], marks[kTile + tile_place(x, b)])) continue;
      within.look(norms[b], dots[a][b], kMicro * a + b, hits, doubts);
    }
  }
  for (int e = 0; doubts != 0 && e < kMicro * kMicro; ++e) {
    if ((doubts >> e & 1) == 0) continue;
    const std::int64_t i = left + tile_place(y, e / kMicro), j = right + tile_place(x, e % kMicro);
    if (serial_distance(raw(points) + i * points.stride, raw(points) + j * points.stride, points.cols) <= job.limit)
      hits |= static_cast<Word>(Word{1} << e);
  }
  if constexpr (kPass == Pass::kCount) {
    count_hits<Places>(hits, marks, job.counts + left, job.counts + right);
    if (masks.places) masks.keep(tile_x, tile_y, hits, marks + 2 * kTile);
  } else {
    meet_hits<kPass, Places>(job, hits, left, right, marks);
  }
}

}  // namespace kedge::engine
