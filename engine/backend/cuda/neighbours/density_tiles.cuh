// DBSCAN's pairs by tiles of scores in T: what their rounding leaves undecided is computed in double.
#pragma once

#include "engine/backend/cuda/neighbours/density_bits.cuh"
#include "engine/backend/cuda/neighbours/tile_product.cuh"
#include "engine/backend/functors.h"

namespace kedge::engine {

template <class T>
struct CentredPoints {
  MatrixView<const T> centred;
  const T* norms;   // squared
  T largest;        // of the norms, not squared
};

// Whether point i is within the limit of another, by its score in T, as far as rounding lets it tell. A score is what
// fma() gives of the other's norm and -2 times the product, so that nothing overflows in between.
template <class T>
struct Within {
  T far, near;   // scores above are beyond the limit, scores up to near are within, however T rounded them

  __device__ Within(const DensityView& job, const CentredPoints<T>& c, std::int64_t i) {
    constexpr double kSlack = 8 * static_cast<double>(std::numeric_limits<T>::epsilon());
    constexpr auto kLargest = static_cast<double>(std::numeric_limits<T>::max());
    const auto norm = static_cast<double>(c.norms[i]),
               error = static_cast<double>(score_error<T>(sqrt(c.norms[i]), c.largest, c.centred.cols + kShortRow));
    // One error is that of the score, the other is for its rounding.
    const double most = job.limit + 2 * error - norm, least = job.limit - 2 * error - norm;
    far = static_cast<T>(most + fabs(most) * kSlack);
    const double below = least - fabs(least) * kSlack;   // NaN where the limit or a norm is infinite
    near = fabs(below) <= kLargest ? static_cast<T>(below) : least > 0 ? std::numeric_limits<T>::max() : NAN;
  }
};

// Which pairs a thread of tile_pairs() has, and a word of a bit for each of them.
template <class T>
struct MicroPlaces {
  static constexpr int kMicro = TileShape<T>::kMicro, kTile = TileShape<T>::kTile, kValues = kMicro * kMicro;
  static constexpr int kRows = kMicro, kColumns = kMicro, kLanesAcross = 16;
  using Word = std::conditional_t<sizeof(T) == 4, unsigned long long, std::uint16_t>;
  static constexpr int bit_of(int r, int c) { return kMicro * r + c; }
  __device__ static int row_of(int thread, int e) { return tile_place(thread / 16, e / kMicro); }
  __device__ static int column_of(int thread, int e) { return tile_place(thread % 16, e % kMicro); }
};

// The bits of a thread's pairs that are within the limit by their scores, and of those in doubt.
template <class T>
__device__ void decide_scores(const CentredPoints<T>& c, const DensityView& job, std::int64_t left, std::int64_t right,
                              const T (&dots)[TileShape<T>::kMicro][TileShape<T>::kMicro],
                              typename MicroPlaces<T>::Word& hits, typename MicroPlaces<T>::Word& doubts) {
  using Word = typename MicroPlaces<T>::Word;
  constexpr int kMicro = TileShape<T>::kMicro;
  const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
  const std::int64_t n = c.centred.rows;
  T norms[kMicro];
  KEDGE_UNROLL
  for (int b = 0; b < kMicro; ++b) norms[b] = right + tile_place(x, b) < n ? c.norms[right + tile_place(x, b)] : T{0};
  hits = doubts = 0;
  KEDGE_UNROLL
  for (int a = 0; a < kMicro; ++a) {
    const std::int64_t i = left + tile_place(y, a);
    if (i >= n) continue;
    const Within<T> within(job, c, i);
    KEDGE_UNROLL
    for (int b = 0; b < kMicro; ++b) {
      const T score = fma(T{-2}, dots[a][b], norms[b]);
      const bool is_near = score <= within.near, is_far = score > within.far;   // NaN is neither
      hits = static_cast<Word>(hits | Word{is_near} << MicroPlaces<T>::bit_of(a, b));
      doubts = static_cast<Word>(doubts | Word{!is_near && !is_far} << MicroPlaces<T>::bit_of(a, b));
    }
  }
}

// Block (x, y) takes tile x against tile y <= x. 2 n^2 d / 2 flops in the first pass, and where its hits were not kept.
template <Pass kPass, class T>
__global__ void __launch_bounds__(256, 2)
    tile_pairs(MatrixView<const T> points, CentredPoints<T> c, DensityView job, PairMasks masks) {
  using Shape = TileShape<T>;
  using Places = MicroPlaces<T>;
  using Word = typename Places::Word;
  constexpr int kTile = Shape::kTile;
  const std::int64_t tile_x = blockIdx.x, tile_y = block_y(), n = points.rows;
  if (tile_y > tile_x) return;   // also what tall_grid() adds
  KEDGE_DYNAMIC_SHARED(T, shared);
  const std::int64_t left = tile_x * kTile, right = tile_y * kTile;
  const std::int32_t place =
      kPass != Pass::kCount && masks.places ? *masks.place_of(tile_x, tile_y) : std::int32_t{PairMasks::kNotKept};
  if (place == PairMasks::kNothing) return;
  std::int32_t* const marks = reinterpret_cast<std::int32_t*>(shared);   // of both tiles; counts in the first pass
  const int own = static_cast<int>(threadIdx.x) % kTile;
  const TileMarks<kPass> tile_marks{mark_of<kPass>(job, left + own, n), mark_of<kPass>(job, right + own, n)};
  if (kPass != Pass::kCount && !tile_marks.has_open(marks)) return;
  Word hits = 0, doubts = 0;
  if (place < 0) {
    T dots[Shape::kMicro][Shape::kMicro];
    multiply_tiles<T>(c.centred, c.centred, left, right, n, shared, dots);
    decide_scores(c, job, left, right, dots, hits, doubts);
    const Word below = pairs_below<Places>(left, right, n);
    hits &= below, doubts &= below;
  }
  if constexpr (kPass == Pass::kCount) {
    hits |= resolve_own_doubts<Places>(points, job.limit, left, right, doubts);
    for (int i = static_cast<int>(threadIdx.x); i < 2 * kTile; i += Shape::kThreads) marks[i] = 0;
    if (!__syncthreads_or(hits != 0)) return masks.keep_nothing(tile_x, tile_y);
    count_hits<Places>(hits, marks);
    if (masks.places) masks.keep(tile_x, tile_y, hits, marks + 2 * kTile);
    __syncthreads();
    bring_counts(marks, kTile, job.counts + left);
    bring_counts(marks + kTile, kTile, job.counts + right);
  } else {
    tile_marks.put(marks, kTile);
    const Word open = open_pairs<kPass, Places>(marks);
    if (place >= 0) hits = masks.word_at<Word>(place);
    else hits |= resolve_own_doubts<Places>(points, job.limit, left, right, static_cast<Word>(doubts & open));
    meet_hits<kPass, Places>(job, static_cast<Word>(hits & open), left, right, marks + 2 * kTile);
  }
}

}   // namespace kedge::engine
