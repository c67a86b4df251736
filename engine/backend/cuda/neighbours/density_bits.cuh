// Pairs of rows of two tiles as bits: a thread has a word, a bit for each of its pairs. Counted, united and kept so.
#pragma once

#include <cstdint>

#include "engine/backend/cuda/neighbours/density.cuh"
#include "engine/backend/cuda/neighbours/row_distance.cuh"

namespace kedge::engine {

// What a pass has to know of a point before it looks at its pairs: its set, or -1 if it joins none; whether it is core.
template <Pass kPass>
__device__ std::int32_t mark_of(const DensityView& job, std::int64_t i, std::int64_t n) {
  if (kPass == Pass::kCount || i >= n) return -1;
  const bool is_core = job.core[i] != 0;
  if constexpr (kPass == Pass::kJoin) return is_core ? find_root(job.parents, static_cast<std::int32_t>(i)) : -1;
  return is_core ? 1 : 0;
}

// Whether nothing can come of a pair with these marks. Points that were in one set stay so.
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

  __device__ void keep_nothing(std::int64_t left, std::int64_t right) const {
    if (places && threadIdx.x == 0) *place_of(left, right) = kNothing;
  }
  __device__ std::int32_t* place_of(std::int64_t left, std::int64_t right) const {
    return places + left * (left + 1) / 2 + right;
  }
  template <class Word>
  __device__ Word word_at(std::int32_t place) const {
    return static_cast<const Word*>(words)[place * kThreads + threadIdx.x];
  }
  // All threads of the block call it, where one has hits; `slot` is in shared memory.
  template <class Word>
  __device__ void keep(std::int64_t left, std::int64_t right, Word bits, std::int32_t* slot) const {
    if (threadIdx.x == 0) {
      const std::int32_t next = atomicAdd(used, 1);
      *slot = next < capacity ? next : std::int32_t{kNotKept};
      *place_of(left, right) = *slot;
    }
    __syncthreads();
    if (*slot >= 0) static_cast<Word*>(words)[*slot * kThreads + threadIdx.x] = bits;
  }
};

// Where the bits of each row of a thread lie, and those of each column. `Places` says which bit is which pair (bit_of),
// and which rows of the tiles that are; lanes that follow one another, kLanesAcross of them, share their rows.
template <class Places>
struct WordBits {
  using Word = typename Places::Word;
  Word rows[Places::kRows] = {}, columns[Places::kColumns] = {};

  constexpr WordBits() {
    for (int r = 0; r < Places::kRows; ++r)
      for (int c = 0; c < Places::kColumns; ++c) {
        const auto bit = static_cast<Word>(Word{1} << Places::bit_of(r, c));
        rows[r] = static_cast<Word>(rows[r] | bit), columns[c] = static_cast<Word>(columns[c] | bit);
      }
  }
};
template <class Places>
__device__ int tile_row(int thread, int r) {
  return Places::row_of(thread, Places::bit_of(r, 0));
}
template <class Places>
__device__ int tile_column(int thread, int c) {
  return Places::column_of(thread, Places::bit_of(0, c));
}

// The pairs of a thread that are pairs i > j of the table's n rows.
template <class Places>
__device__ typename Places::Word pairs_below(std::int64_t left, std::int64_t right, std::int64_t n) {
  using Word = typename Places::Word;
  if (right < left && left + Places::kTile <= n) return static_cast<Word>(~Word{0});   // nearly all tiles
  const int thread = static_cast<int>(threadIdx.x);
  Word bits = 0;
  for (int e = 0; e < Places::kValues; ++e) {
    const std::int64_t i = left + Places::row_of(thread, e), j = right + Places::column_of(thread, e);
    if (i < n && j < i) bits = static_cast<Word>(bits | Word{1} << e);
  }
  return bits;
}

// The pairs of a thread that are not settled; marks: those of the left tile's points, then of the right's.
template <Pass kPass, class Places>
__device__ typename Places::Word open_pairs(const std::int32_t* marks) {
  using Word = typename Places::Word;
  const int thread = static_cast<int>(threadIdx.x);
  std::int32_t others[Places::kColumns];
  KEDGE_UNROLL
  for (int c = 0; c < Places::kColumns; ++c) others[c] = marks[Places::kTile + tile_column<Places>(thread, c)];
  Word open = 0;
  KEDGE_UNROLL
  for (int r = 0; r < Places::kRows; ++r) {
    const std::int32_t own = marks[tile_row<Places>(thread, r)];
    KEDGE_UNROLL
    for (int c = 0; c < Places::kColumns; ++c)
      open = static_cast<Word>(open | Word{!is_settled<kPass>(own, others[c])} << Places::bit_of(r, c));
  }
  return open;
}

// Exact distances of the pairs in doubt, each by the thread that has it.
template <class Places, class T>
__device__ typename Places::Word resolve_own_doubts(MatrixView<const T> points, double limit, std::int64_t left,
                                                    std::int64_t right, typename Places::Word doubts) {
  using Word = typename Places::Word;
  const int thread = static_cast<int>(threadIdx.x);
  Word hits = 0;
  for (; doubts != 0; doubts = static_cast<Word>(doubts & (doubts - 1))) {
    const int e = __ffsll(static_cast<long long>(doubts)) - 1;
    const std::int64_t i = left + Places::row_of(thread, e), j = right + Places::column_of(thread, e);
    if (serial_distance(raw(points) + i * points.stride, raw(points) + j * points.stride, points.cols) <= limit)
      hits = static_cast<Word>(hits | Word{1} << e);
  }
  return hits;
}

// Adds a thread's hits to the counts of its rows and columns: `counts` of the left tile's, then of the right's, lie in
// shared memory. A warp adds up before: sums of at most 128, a byte each.
template <class Places>
__device__ void count_hits(typename Places::Word hits, std::int32_t* counts) {
  constexpr int kAcross = Places::kLanesAcross, kDown = kLanes / kAcross;
  if (!__any_sync(kFullWarp, hits != 0)) return;
  constexpr WordBits<Places> kBits;
  unsigned long long rows = 0, columns = 0;
  KEDGE_UNROLL
  for (int r = 0; r < Places::kRows; ++r)
    rows |= static_cast<unsigned long long>(__popcll(hits & kBits.rows[r])) << 8 * r;
  KEDGE_UNROLL
  for (int c = 0; c < Places::kColumns; ++c)
    columns |= static_cast<unsigned long long>(__popcll(hits & kBits.columns[c])) << 8 * c;
  for (int lanes = 1; lanes < kAcross; lanes *= 2) rows += __shfl_xor_sync(kFullWarp, rows, lanes);
  for (int lanes = kAcross; lanes < kLanes; lanes *= 2) columns += __shfl_xor_sync(kFullWarp, columns, lanes);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kLanes;
  for (int r = lane % kAcross; r < Places::kRows; r += kAcross) {
    const auto found = static_cast<std::int32_t>(rows >> 8 * r & 255);
    if (found > 0) atomicAdd(counts + tile_row<Places>(thread, r), found);
  }
  for (int c = lane / kAcross; c < Places::kColumns; c += kDown) {
    const auto found = static_cast<std::int32_t>(columns >> 8 * c & 255);
    if (found > 0) atomicAdd(counts + Places::kTile + tile_column<Places>(thread, c), found);
  }
}

// Brings a tile's counts from shared memory to those of all points, and leaves 0. Barriers before and after are the
// caller's.
static __device__ inline void bring_counts(std::int32_t* counts, int tile, std::int32_t* to) {
  for (int i = static_cast<int>(threadIdx.x); i < tile; i += static_cast<int>(blockDim.x)) {
    if (counts[i] > 0) atomicAdd(to + i, counts[i]);
    counts[i] = 0;
  }
}

// Unites the points of a block's hits: first those of the two tiles among themselves, in shared memory (sets: 2 kTile),
// then each with the first of its set, so that at most 2 kTile pairs meet in memory, however many hits there are.
template <class Places>
__device__ void unite_hits(const DensityView& job, typename Places::Word hits, std::int64_t left, std::int64_t right,
                           std::int32_t* sets) {
  constexpr int kTile = Places::kTile;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < 2 * kTile; i += static_cast<int>(blockDim.x)) sets[i] = i;
  __syncthreads();
  for (; hits != 0; hits = static_cast<typename Places::Word>(hits & (hits - 1))) {
    const int e = __ffsll(static_cast<long long>(hits)) - 1;
    unite(sets, Places::row_of(thread, e), kTile + Places::column_of(thread, e));
  }
  __syncthreads();
  const auto point_of = [&](int i) { return static_cast<std::int32_t>(i < kTile ? left + i : right + i - kTile); };
  for (int i = thread; i < 2 * kTile; i += static_cast<int>(blockDim.x)) {
    const int first = find_root(sets, i);
    if (first != i) unite(job.parents, point_of(i), point_of(first));
  }
  __syncthreads();
}

// What a pass after the first does with the hits of a pair of tiles that are not settled. All threads of the block call
// it; marks as in open_pairs().
template <Pass kPass, class Places>
__device__ void meet_hits(const DensityView& job, typename Places::Word hits, std::int64_t left, std::int64_t right,
                          std::int32_t* sets) {
  using Word = typename Places::Word;
  if constexpr (kPass == Pass::kJoin) {
    if (__syncthreads_or(hits != 0)) unite_hits<Places>(job, hits, left, right, sets);
  } else {
    const int thread = static_cast<int>(threadIdx.x);
    for (; hits != 0; hits = static_cast<Word>(hits & (hits - 1))) {
      const int e = __ffsll(static_cast<long long>(hits)) - 1;
      meet_pair<kPass>(job, static_cast<std::int32_t>(left + Places::row_of(thread, e)),
                       static_cast<std::int32_t>(right + Places::column_of(thread, e)), true);
    }
  }
}

// The marks of two tiles as a pass meets them.
template <Pass kPass>
struct TileMarks {
  std::int32_t left, right;   // of this thread's point in either tile

  // Whether any pair of these tiles may be open. All threads of the block call it; `first` is in shared memory.
  __device__ bool has_open(std::int32_t* first) const {
    if (kPass == Pass::kBorder) return __syncthreads_or(left == 0 || right == 0);
    if (!__syncthreads_or(left >= 0) || !__syncthreads_or(right >= 0)) return false;
    if (threadIdx.x == 0) *first = left;
    __syncthreads();
    return __syncthreads_or((left >= 0 && left != *first) || (right >= 0 && right != *first));
  }
  // After has_open(). Then all threads see the marks, in shared memory: of the left tile, then of the right.
  __device__ void put(std::int32_t* marks, int tile) const {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < tile) marks[thread] = left, marks[tile + thread] = right;
    __syncthreads();
  }
};

}   // namespace kedge::engine
