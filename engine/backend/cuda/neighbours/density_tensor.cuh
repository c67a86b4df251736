// DBSCAN's pairs on tensor units: what their bound decides at once, and exact distances for the pairs in doubt.
#pragma once

#include "engine/backend/cuda/neighbours/density.cuh"
#include "engine/backend/cuda/neighbours/tensor_tiles.cuh"

namespace kedge::engine {

// Halves of the limits beyond which a score decides, with what `least` and rounding a limit to float take.
struct TensorLimits {
  float half_far, half_near;   // scores above are beyond the limit; scores up to it are within
  float share;

  static TensorLimits of(double limit, TensorError error) {
    const double far = limit * (1 + 0x1p-22) + error.least, near = limit * (1 - 0x1p-22) - error.least;
    const auto largest = static_cast<double>(std::numeric_limits<float>::max());
    return {far > largest ? std::numeric_limits<float>::infinity() : static_cast<float>(far / 2),
            static_cast<float>((near > largest ? largest : near) / 2), error.share};
  }
};

// Sets the bits of a thread's hits, and of the pairs in doubt, all of which have i > j.
template <Pass kPass>
__device__ void decide_pairs(const SplitRows& rows, TensorLimits limits, const float (&sums)[4][4][4], std::int64_t n,
                             std::int64_t left, std::int64_t right, const std::int32_t* marks, unsigned long long& hits,
                             unsigned long long& doubts) {
  const int thread = static_cast<int>(threadIdx.x);
  hits = doubts = 0;
  float column_norms[4][2];
  KEDGE_UNROLL
  for (int c = 0; c < 8; ++c)
    column_norms[c / 2][c % 2] = rows.half_norms[right + TensorPlaces::column_of(thread, c / 2 * 4 + c % 2)];
  KEDGE_UNROLL
  for (int r = 0; r < 8; ++r) {
    const int m = r / 2, first = 2 * (r % 2), row = TensorPlaces::row_of(thread, 16 * m + first);
    const float norm = rows.half_norms[left + row], far = limits.half_far - norm * (1 - limits.share);
    bool is_open = false;   // NaN opens a row
    KEDGE_UNROLL
    for (int c = 0; c < 8; ++c)
      is_open = is_open || !(column_norms[c / 2][c % 2] * (1 - limits.share) - sums[m][c / 2][first + c % 2] > far);
    if (!is_open || left + row >= n) continue;   // nearly always
    const float near = limits.half_near - norm * (1 + limits.share);
    KEDGE_UNROLL
    for (int c = 0; c < 8; ++c) {
      const float other = column_norms[c / 2][c % 2], dot = sums[m][c / 2][first + c % 2];
      const int e = 16 * m + 4 * (c / 2) + first + c % 2, column = TensorPlaces::column_of(thread, e);
      if (right + column >= left + row || other * (1 - limits.share) - dot > far) continue;
      if constexpr (kPass != Pass::kCount)   // which has no marks: nvcc makes a trap of reading them
        if (is_settled<kPass>(marks[row], marks[TensorPlaces::kTile + column])) continue;
      (other * (1 + limits.share) - dot <= near ? hits : doubts) |= 1ull << e;
    }
  }
}

// The pairs in doubt of a warp, one after the other by all its lanes: exact distances.
template <class T>
__device__ void resolve_doubts(MatrixView<const T> points, double limit, std::int64_t left, std::int64_t right,
                               unsigned long long& hits, unsigned long long doubts) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  for (unsigned lanes = __ballot_sync(kFullWarp, doubts != 0); lanes != 0;) {
    const int owner = __ffs(static_cast<int>(lanes)) - 1;
    const int e = __shfl_sync(kFullWarp, __ffsll(static_cast<long long>(doubts)) - 1, owner),
              thread = static_cast<int>(threadIdx.x) - lane + owner;
    const std::int64_t i = left + TensorPlaces::row_of(thread, e), j = right + TensorPlaces::column_of(thread, e);
    const bool is_hit = warp_distance<Metric::kEuclidean>(raw(points) + i * points.stride,
                                                          raw(points) + j * points.stride, points.cols, 2.0) <= limit;
    if (lane == owner) hits |= static_cast<unsigned long long>(is_hit) << e, doubts &= doubts - 1;
    lanes = __ballot_sync(kFullWarp, doubts != 0);
  }
}

struct TensorJob {
  SplitRows rows;
  TensorLimits coarse, fine;   // of one part of each value, and of two
  std::int64_t group;          // tiles of the right side that a block takes one after the other
};

// The hits of a pair of tiles, whose products from one part are in `sums`. All threads call it, of pairs where a thread
// has hits or doubts. Where one part leaves many threads with doubts, the tiles are multiplied again, from two;
// whether.
template <Pass kPass, class T>
__device__ bool settle_pairs(MatrixView<const T> points, const TensorJob& tensor, double limit, std::int64_t tile_x,
                             std::int64_t tile_y, unsigned char* shared, const std::int32_t* marks,
                             float (&sums)[4][4][4], TensorPlaces::Word& hits, TensorPlaces::Word& doubts) {
  constexpr int kTile = TensorPlaces::kTile, kManyInDoubt = 16;
  const bool again = __syncthreads_count(doubts != 0) > kManyInDoubt;
  if (again) {
    TensorProducts<2> products(tensor.rows, tile_x, tensor.rows, shared);
    products.start(tile_y, tile_y + 1);
    products.next(sums);
    decide_pairs<kPass>(tensor.rows, tensor.fine, sums, points.rows, tile_x * kTile, tile_y * kTile, marks, hits,
                        doubts);
  }
  resolve_doubts(points, limit, tile_x * kTile, tile_y * kTile, hits, doubts);
  return again;
}

// Block (x, g) takes tile x against the tiles y <= x of group g. One part of each value decides nearly all pairs of
// most tables: n^2 d flops.
template <class T>
__global__ void __launch_bounds__(256, 2)
    tensor_count(MatrixView<const T> points, TensorJob tensor, DensityView job, PairMasks masks) {
  using Word = TensorPlaces::Word;
  constexpr int kTile = TensorPlaces::kTile;
  const std::int64_t tile_x = blockIdx.x, first = block_y() * tensor.group;
  if (first > tile_x) return;
  const std::int64_t last = first + tensor.group < tile_x + 1 ? first + tensor.group : tile_x + 1;
  KEDGE_DYNAMIC_SHARED(unsigned char, shared);
  __shared__ std::int32_t counts[2 * SplitRows::kTile + 1];   // of both tiles, and a place
  for (int i = static_cast<int>(threadIdx.x); i < 2 * kTile; i += SplitRows::kThreads) counts[i] = 0;
  float sums[4][4][4];
  TensorProducts<1> products(tensor.rows, tile_x, tensor.rows, shared);
  products.start(first, last);
  for (std::int64_t tile_y = first; tile_y < last; ++tile_y) {
    Word hits = 0, doubts = 0;
    products.next(sums);
    decide_pairs<Pass::kCount>(tensor.rows, tensor.coarse, sums, points.rows, tile_x * kTile, tile_y * kTile, nullptr,
                               hits, doubts);
    if (!__syncthreads_or((hits | doubts) != 0)) {   // most pairs of tiles of many tables
      if (masks.places && threadIdx.x == 0) *masks.place_of(tile_x, tile_y) = PairMasks::kNothing;
      continue;
    }
    if (settle_pairs<Pass::kCount>(points, tensor, job.limit, tile_x, tile_y, shared, nullptr, sums, hits, doubts))
      products.start(tile_y + 1, last);
    count_hits<TensorPlaces>(hits, counts, job.counts + tile_x * kTile, job.counts + tile_y * kTile);
    if (masks.places) masks.keep(tile_x, tile_y, hits, counts + 2 * kTile);
  }
}

// The passes after it, block by block as that one. What it has kept is only read.
template <Pass kPass, class T>
__global__ void __launch_bounds__(256, 2)
    tensor_meet(MatrixView<const T> points, TensorJob tensor, DensityView job, PairMasks masks) {
  using Word = TensorPlaces::Word;
  constexpr int kTile = TensorPlaces::kTile;
  const std::int64_t tile_x = blockIdx.x, first = block_y() * tensor.group, n = points.rows, left = tile_x * kTile;
  if (first > tile_x) return;
  const std::int64_t last = first + tensor.group < tile_x + 1 ? first + tensor.group : tile_x + 1;
  KEDGE_DYNAMIC_SHARED(unsigned char, shared);
  __shared__ std::int32_t marks[2 * SplitRows::kTile];
  const int thread = static_cast<int>(threadIdx.x);
  const auto place_of = [&](std::int64_t tile_y) {
    return masks.places ? *masks.place_of(tile_x, tile_y) : std::int32_t{PairMasks::kNotKept};
  };
  bool has_any = false;
  for (std::int64_t y = first + thread; y < last; y += SplitRows::kThreads)
    has_any = has_any || place_of(y) != PairMasks::kNothing;
  if (!__syncthreads_or(has_any)) return;
  const std::int32_t left_mark = mark_of<kPass>(job, left + thread % kTile, n);
  if (kPass == Pass::kJoin && !__syncthreads_or(left_mark >= 0)) return;
  for (std::int64_t tile_y = first; tile_y < last; ++tile_y) {
    const std::int64_t right = tile_y * kTile;
    const std::int32_t place = place_of(tile_y);
    if (place == PairMasks::kNothing) continue;
    const std::int32_t right_mark = mark_of<kPass>(job, right + thread % kTile, n);
    if (kPass == Pass::kJoin && !__syncthreads_or(right_mark >= 0)) continue;
    if (kPass == Pass::kBorder && !__syncthreads_or(left_mark == 0 || right_mark == 0)) continue;
    __syncthreads();   // the marks of the tile before are not read any more
    if (thread < kTile) marks[thread] = left_mark, marks[kTile + thread] = right_mark;
    __syncthreads();
    Word hits = 0, doubts = 0;
    if (place >= 0) {
      hits = masks.word_at<Word>(place);
    } else {
      float sums[4][4][4];
      TensorProducts<1> products(tensor.rows, tile_x, tensor.rows, shared);
      products.start(tile_y, tile_y + 1);
      products.next(sums);
      decide_pairs<kPass>(tensor.rows, tensor.coarse, sums, n, left, right, marks, hits, doubts);
      settle_pairs<kPass>(points, tensor, job.limit, tile_x, tile_y, shared, marks, sums, hits, doubts);
    }
    meet_hits<kPass, TensorPlaces>(job, hits, left, right, marks);
  }
}

}   // namespace kedge::engine
