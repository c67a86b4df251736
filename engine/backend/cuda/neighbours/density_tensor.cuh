// DBSCAN's pairs on tensor units: what their bound decides at once, and exact distances for the pairs in doubt.
#pragma once

#include "engine/backend/cuda/neighbours/density_bits.cuh"
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

// The bits of a thread's pairs that are within the limit, and of those in doubt.
static __device__ inline void decide_pairs(const SplitRows& rows, TensorLimits limits, const float (&sums)[4][4][4],
                                           std::int64_t left, std::int64_t right, TensorPlaces::Word& hits,
                                           TensorPlaces::Word& doubts) {
  using Word = TensorPlaces::Word;
  const int thread = static_cast<int>(threadIdx.x);
  float norms[8], widest = 0;
  KEDGE_UNROLL
  for (int c = 0; c < 8; ++c) {
    norms[c] = rows.half_norms[right + tile_column<TensorPlaces>(thread, c)];
    widest = fmaxf(widest, norms[c]);
  }
  widest *= limits.share;   // of what is uncertain, the columns' part: one for all of a thread's
  hits = doubts = 0;
  KEDGE_UNROLL
  for (int r = 0; r < 8; ++r) {
    const float norm = rows.half_norms[left + tile_row<TensorPlaces>(thread, r)],
                far = limits.half_far - norm * (1 - limits.share) + widest;
    float scores[8];
    bool is_open = false;   // NaN opens a row
    KEDGE_UNROLL
    for (int c = 0; c < 8; ++c) {
      scores[c] = norms[c] - sums[r / 2][c / 2][2 * (r % 2) + c % 2];
      is_open = is_open || !(scores[c] > far);
    }
    if (!is_open) continue;
    const float near = limits.half_near - norm * (1 + limits.share) - widest;
    unsigned inside = 0, beyond = 0;   // as the bits of row 0
    KEDGE_UNROLL
    for (int c = 0; c < 8; ++c) {
      inside |= scores[c] <= near ? 1u << TensorPlaces::bit_of(0, c) : 0u;
      beyond |= scores[c] > far ? 1u << TensorPlaces::bit_of(0, c) : 0u;
    }
    constexpr auto kRow = static_cast<unsigned>(WordBits<TensorPlaces>().rows[0]);
    hits |= static_cast<Word>(inside) << TensorPlaces::bit_of(r, 0);
    doubts |= static_cast<Word>(kRow & ~(inside | beyond)) << TensorPlaces::bit_of(r, 0);
  }
}

// Exact distances of the pairs in doubt: of long rows by all lanes of a warp, one pair after the other.
template <class T>
__device__ TensorPlaces::Word resolve_doubts(MatrixView<const T> points, double limit, std::int64_t left,
                                             std::int64_t right, TensorPlaces::Word doubts) {
  if (points.cols <= kShortRow) return resolve_own_doubts<TensorPlaces>(points, limit, left, right, doubts);
  TensorPlaces::Word hits = 0;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  for (unsigned lanes = __ballot_sync(kFullWarp, doubts != 0); lanes != 0;) {
    const int owner = __ffs(static_cast<int>(lanes)) - 1;
    const int e = __shfl_sync(kFullWarp, __ffsll(static_cast<long long>(doubts)) - 1, owner),
              thread = static_cast<int>(threadIdx.x) - lane + owner;
    const std::int64_t i = left + TensorPlaces::row_of(thread, e), j = right + TensorPlaces::column_of(thread, e);
    const bool is_hit = warp_distance<Metric::kEuclidean>(raw(points) + i * points.stride,
                                                          raw(points) + j * points.stride, points.cols, 2.0) <= limit;
    if (lane == owner) hits |= static_cast<TensorPlaces::Word>(is_hit) << e, doubts &= doubts - 1;
    lanes = __ballot_sync(kFullWarp, doubts != 0);
  }
  return hits;
}

struct TensorJob {
  SplitRows rows;
  TensorLimits coarse, fine;   // of one part of each value, and of two
  std::int64_t group;          // tiles of the right side that a block takes one after the other
};

// The hits among a thread's pairs `open`, whose products from one part are in `sums`. All threads call it. Where one
// part leaves many threads with doubts, the tiles are multiplied again, from two, and `again` is set.
template <class T>
__device__ TensorPlaces::Word hits_among(TensorPlaces::Word open, MatrixView<const T> points, const TensorJob& tensor,
                                         double limit, std::int64_t tile_x, std::int64_t tile_y, unsigned char* shared,
                                         float (&sums)[4][4][4], bool* again) {
  constexpr int kTile = TensorPlaces::kTile, kManyInDoubt = 16;
  const std::int64_t left = tile_x * kTile, right = tile_y * kTile;
  TensorPlaces::Word hits = 0, doubts = 0;
  decide_pairs(tensor.rows, tensor.coarse, sums, left, right, hits, doubts);
  const int in_doubt = __syncthreads_count((doubts & open) != 0);
  *again = in_doubt > kManyInDoubt;
  if (*again) {
    TensorProducts<2> products(tensor.rows, tile_x, tensor.rows, shared);
    products.start(tile_y, tile_y + 1);
    products.next(sums);
    decide_pairs(tensor.rows, tensor.fine, sums, left, right, hits, doubts);
  }
  hits &= open;
  return in_doubt == 0 ? hits : hits | resolve_doubts(points, limit, left, right, doubts & open);
}

// Block (x, g) takes tile x against the tiles y <= x of group g. One part of each value decides nearly all pairs of
// most tables: n^2 d flops.
template <class T>
__global__ void __launch_bounds__(256, 2)
    tensor_count(MatrixView<const T> points, TensorJob tensor, DensityView job, PairMasks masks) {
  using Word = TensorPlaces::Word;
  constexpr int kTile = TensorPlaces::kTile;
  const std::int64_t tile_x = blockIdx.x, first = block_y() * tensor.group, left = tile_x * kTile;
  if (first > tile_x) return;
  const std::int64_t last = first + tensor.group < tile_x + 1 ? first + tensor.group : tile_x + 1;
  KEDGE_DYNAMIC_SHARED(unsigned char, shared);
  __shared__ std::int32_t counts[2 * SplitRows::kTile + 1];   // of both tiles, and a place
  for (int i = static_cast<int>(threadIdx.x); i < 2 * kTile; i += SplitRows::kThreads) counts[i] = 0;
  float sums[4][4][4];
  TensorProducts<1> products(tensor.rows, tile_x, tensor.rows, shared);
  products.start(first, last);
  for (std::int64_t tile_y = first; tile_y < last; ++tile_y) {
    const std::int64_t right = tile_y * kTile;
    products.next(sums);
    bool again = false;
    const Word hits = hits_among(pairs_below<TensorPlaces>(left, right, points.rows), points, tensor, job.limit, tile_x,
                                 tile_y, shared, sums, &again);
    if (again) products.start(tile_y + 1, last);
    if (!__syncthreads_or(hits != 0)) {   // most pairs of tiles of many tables
      masks.keep_nothing(tile_x, tile_y);
      continue;
    }
    count_hits<TensorPlaces>(hits, counts);
    if (masks.places) masks.keep(tile_x, tile_y, hits, counts + 2 * kTile);
    __syncthreads();
    bring_counts(counts + kTile, kTile, job.counts + right);
  }
  bring_counts(counts, kTile, job.counts + left);
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
  __shared__ std::int32_t marks[2 * SplitRows::kTile], sets[2 * SplitRows::kTile], first_mark;
  const int own = static_cast<int>(threadIdx.x) % kTile;
  const auto place_of = [&](std::int64_t tile_y) {
    return masks.places ? *masks.place_of(tile_x, tile_y) : std::int32_t{PairMasks::kNotKept};
  };
  bool has_any = false;
  for (std::int64_t y = first + threadIdx.x; y < last; y += SplitRows::kThreads)
    has_any = has_any || place_of(y) != PairMasks::kNothing;
  if (!__syncthreads_or(has_any)) return;
  for (std::int64_t tile_y = first; tile_y < last; ++tile_y) {
    const std::int64_t right = tile_y * kTile;
    const std::int32_t place = place_of(tile_y);
    if (place == PairMasks::kNothing) continue;
    const TileMarks<kPass> tile_marks{mark_of<kPass>(job, left + own, n), mark_of<kPass>(job, right + own, n)};
    if (!tile_marks.has_open(&first_mark)) continue;
    tile_marks.put(marks, kTile);
    Word open = open_pairs<kPass, TensorPlaces>(marks), hits = 0;
    if (place >= 0) {
      hits = open == 0 ? 0 : masks.word_at<Word>(place) & open;
    } else {
      float sums[4][4][4];
      bool again = false;
      open &= pairs_below<TensorPlaces>(left, right, n);
      TensorProducts<1> products(tensor.rows, tile_x, tensor.rows, shared);
      products.start(tile_y, tile_y + 1);
      products.next(sums);
      hits = hits_among(open, points, tensor, job.limit, tile_x, tile_y, shared, sums, &again);
    }
    meet_hits<kPass, TensorPlaces>(job, hits, left, right, sets);
  }
}

}   // namespace kedge::engine
