// Products of a tall design with itself in one pass over its rows: blocks take rows, keep their sums in registers, and
// the sums of blocks are added exactly. On p columns these are p (p + 1) / 2 fused multiply-adds in double a row, or 10
// operations in float for each of them (float_pair.cuh).
#pragma once

#include "engine/backend/cuda/linear/row_tiles.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/core/array.h"

namespace kedge::engine {

inline constexpr int kSide = 6;            // a thread has the products of kSide by kSide columns
inline constexpr int kGramLoads = 2;       // rows that a thread reads at once
inline constexpr int kSettledTiles = 4;    // tiles of rows between two calls of settle()
static_assert(kTallColumns == 22 * kSide);   // 22 residues have 253 pairs, which a block's threads take

// Columns of the same residue modulo `residues` belong together: pair (a, b), b <= a, stands for the products of
// columns a + residues * i with b + residues * j. Threads next to each other read columns next to each other.
struct GramCut {
  int residues, pairs, groups;   // groups of threads, each with every pair, share the rows of a tile
  explicit GramCut(std::int64_t p)
      : residues(static_cast<int>((p + kSide - 1) / kSide)),
        pairs(residues * (residues + 1) / 2),
        groups(kRowTileThreads / pairs) {}
  KEDGE_HD int entries() const { return kSide * kSide * pairs; }
  int stride() const {   // numbers from row to row: what neighbouring groups read lies in different banks
    int stride = kSide * residues;
    while (stride % 16 != residues % 16) ++stride;
    return stride;
  }
};

// parts[block, (i * kSide + j) * pairs + pair]: the sums of a block's rows.
template <class T, class V>
__global__ void __launch_bounds__(kRowTileThreads, 2)
    tall_gram(Rows<T> rows, TileCut cut, GramCut gram, std::int64_t n, std::int64_t block_rows, double* parts) {
  KEDGE_DYNAMIC_SHARED(V, tile);
  __shared__ AffineMap<V> maps[kSharedMaps<V>];
  const int thread = static_cast<int>(threadIdx.x), pair = thread % gram.pairs, group = thread / gram.pairs;
  int a = 0;
  while ((a + 1) * (a + 2) / 2 <= pair) ++a;
  const int b = pair - a * (a + 1) / 2;
  for (int e = thread; e < cut.rows * cut.stride; e += kRowTileThreads)
    tile[e] = V{};   // columns beyond the last stay so
  V sums[kSide][kSide];
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) sums[i][j] = V{};
  }
  const std::int64_t begin = blockIdx.x * block_rows, end = begin + block_rows < n ? begin + block_rows : n;
  TileReader<T, V, kGramLoads> reader(rows, cut, maps);
  reader.fetch(begin, end);
  int tiles = 0;
  for (std::int64_t first = begin; first < end; first += cut.rows) {
    __syncthreads();
    reader.put(tile);
    __syncthreads();
    reader.fetch(first + cut.rows, end);
    for (int r = group < gram.groups ? group : cut.rows; r < cut.rows; r += gram.groups) {
      const V* const row = tile + r * cut.stride;
      V left[kSide];
      for (int i = 0; i < kSide; ++i) left[i] = row[a + gram.residues * i];
      for (int j = 0; j < kSide; ++j) {
        const V right = row[b + gram.residues * j];
        for (int i = 0; i < kSide; ++i) add_product(sums[i][j], left[i], right);
      }
    }
    if (++tiles % kSettledTiles != 0) continue;
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) settle(sums[i][j]);
    }
  }
  double* const out = parts + static_cast<std::int64_t>(blockIdx.x) * gram.entries();
  for (int i = 0; i < kSide; ++i) {   // the groups' sums in order, kSide entries of each pair at a time
    __syncthreads();
    for (int j = 0; j < kSide; ++j) tile[j * kRowTileThreads + thread] = sums[i][j];
    __syncthreads();
    for (int e = thread; e < kSide * gram.pairs; e += kRowTileThreads) {
      const V* const first = tile + e / gram.pairs * kRowTileThreads + e % gram.pairs;
      V sum{};
      for (int g = 0; g < gram.groups; ++g) sum = plus(sum, first[g * gram.pairs]);
      out[i * kSide * gram.pairs + e] = value_of(sum);
    }
  }
}

// G (p x p) of the sums of all blocks.
__global__ void spread_gram(const double* sums, GramCut gram, std::int64_t p, double* G) {
  const std::int64_t i = own_row();
  if (i >= p) return;
  for (std::int64_t j = threadIdx.x; j < p; j += blockDim.x) {
    const bool is_lower = i % gram.residues >= j % gram.residues;
    const auto left = static_cast<int>(is_lower ? i : j), right = static_cast<int>(is_lower ? j : i);
    const int a = left % gram.residues, pair = a * (a + 1) / 2 + right % gram.residues;
    G[i * p + j] = sums[(left / gram.residues * kSide + right / gram.residues) * gram.pairs + pair];
  }
}

}   // namespace kedge::engine
