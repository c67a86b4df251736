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

// As tile_pairs(). One part of each value decides nearly all pairs of most tables; a tile where it leaves many threads
// with doubts is multiplied once more, from two.
template <Pass kPass, class T>
__global__ void __launch_bounds__(256, 2) tensor_pairs(MatrixView<const T> points, SplitRows rows, TensorLimits coarse,
                                                       TensorLimits fine, DensityView job, PairMasks masks) {
  using Word = TensorPlaces::Word;
  constexpr int kTile = TensorPlaces::kTile, kManyInDoubt = 16;
  const std::int64_t tile_x = blockIdx.x, tile_y = block_y(), n = points.rows;
  if (tile_y > tile_x) return;   // also what tall_grid() adds
  KEDGE_DYNAMIC_SHARED(unsigned char, shared);
  __shared__ std::int32_t marks[2 * SplitRows::kTile + 1];   // of both tiles; counts in the first pass; a place
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t left = tile_x * kTile, right = tile_y * kTile;
  const std::int32_t place =
      kPass != Pass::kCount && masks.places ? *masks.place_of(tile_x, tile_y) : std::int32_t{PairMasks::kNotKept};
  if (place == PairMasks::kNothing) return;
  const std::int32_t left_mark = mark_of<kPass>(job, left + thread % kTile, n),
                     right_mark = mark_of<kPass>(job, right + thread % kTile, n);
  if (kPass == Pass::kJoin && (!__syncthreads_or(left_mark >= 0) || !__syncthreads_or(right_mark >= 0))) return;
  if (kPass == Pass::kBorder && !__syncthreads_or(left_mark == 0 || right_mark == 0)) return;
  if (thread < kTile) {
    marks[thread] = kPass == Pass::kCount ? 0 : left_mark;
    marks[kTile + thread] = kPass == Pass::kCount ? 0 : right_mark;
  }
  __syncthreads();
  if (place >= 0) return meet_hits<kPass, TensorPlaces>(job, masks.word_at<Word>(place), left, right, marks);
  float sums[4][4][4];
  Word hits = 0, doubts = 0;
  TensorProduct<1>(rows, tile_x, rows, tile_y, shared).compute(sums);
  decide_pairs<kPass>(rows, coarse, sums, n, left, right, marks, hits, doubts);
  if (__syncthreads_count(doubts != 0) > kManyInDoubt) {
    TensorProduct<2>(rows, tile_x, rows, tile_y, shared).compute(sums);
    decide_pairs<kPass>(rows, fine, sums, n, left, right, marks, hits, doubts);
  }
  resolve_doubts(points, job.limit, left, right, hits, doubts);
  if constexpr (kPass == Pass::kCount) {
    count_hits<TensorPlaces>(hits, marks, job.counts + left, job.counts + right);
    if (masks.places) masks.keep(tile_x, tile_y, hits, marks + 2 * kTile);
  } else {
    meet_hits<kPass, TensorPlaces>(job, hits, left, right, marks);
  }
}

}   // namespace kedge::engine
