// The kernels that part the rows of the nodes of a level: small nodes by a block each, big ones by a block for each
// piece of their rows, so that a few large nodes keep the whole GPU busy.
#pragma once

#include "engine/backend/cuda/trees/trees_kernels.cuh"

namespace kedge::engine {

inline constexpr std::int32_t kPieceRows = 16 * kBigThreads;

// Rows `first` .. first + kPieceRows - 1 of a node, or fewer at its end.
struct Piece {
  std::int32_t node, first;
};

// The pieces of the nodes of a level, in no order; those of a node lie side by side.
struct Pieces {
  Piece* pieces;
  std::int32_t* left;    // by piece: its left rows, then those of the node's pieces before it
  std::int32_t* first;   // by node: its first piece
  std::int32_t* count;   // of all
};

// Adds up the rows first .. end - 1 that go left, in counters of the threads' own.
template <int kThreads, class Kind, class C>
__device__ void count_left(const Kind& kind, const typename Kind::Row* rows, std::int32_t first, std::int32_t end,
                           const std::uint8_t* codes, std::int32_t left_bin, C& counters) {
  counters.clear();
  for_rows<kThreads>(rows + first, end - first, codes, [&](const typename Kind::Row& row, std::int32_t code) {
    if (code <= left_bin) kind.add(counters, static_cast<int>(threadIdx.x), row);
  });
  counters.scan();
}

// Copies the rows first .. end - 1 of a node of n_left left rows to its place, left ones first and in order. before:
// left rows among those before `first`.
template <int kThreads, class Row>
__device__ void move_rows(const Row* own, std::int32_t first, std::int32_t end, const std::uint8_t* codes,
                          std::int32_t left_bin, std::int32_t n_left, std::int32_t before, Row* out) {
  constexpr int kWarps = kThreads / 32, kItems = kWarps >= 8 ? 4 : 1,
                kGroups = kItems * kWarps;   // groups of 32 rows in order
  __shared__ std::int32_t left_in[kGroups];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  for (; first < end; first += kItems * kThreads) {
    Row row[kItems];
    unsigned ballot[kItems];
    for (int k = 0; k < kItems; ++k) row[k] = own[min(first + k * kThreads + thread, end - 1)];
    for (int k = 0; k < kItems; ++k) {
      ballot[k] = __ballot_sync(kFullWarp, first + k * kThreads + thread < end && codes[row[k].row] <= left_bin);
      if (lane == 0) left_in[k * kWarps + warp] = __popc(ballot[k]);
    }
    __syncthreads();
    if constexpr (kGroups >= 32) {
      if (warp == 0)
        scan_places<std::int32_t>(
            kGroups, [&](int group) { return left_in[group]; },
            [&](int group, std::int32_t sum) { left_in[group] = sum; });
      __syncthreads();
    }
    for (int k = 0; k < kItems; ++k) {
      const int group = k * kWarps + warp;
      const std::int32_t i = first + k * kThreads + thread;
      std::int32_t left = before + __popc(ballot[k] & ((1u << lane) - 1));
      if constexpr (kGroups >= 32) left += group > 0 ? left_in[group - 1] : 0;
      else
        for (int g = 0; g < group; ++g) left += left_in[g];
      if (ballot[k] >> lane & 1) out[left] = row[k];
      else if (i < end) out[n_left + i - left] = row[k];
    }
    if constexpr (kGroups >= 32) before += left_in[kGroups - 1];
    else
      for (int g = 0; g < kGroups; ++g) before += left_in[g];
    __syncthreads();
  }
}

// Parts the rows of each node, one block each, and sums up the left ones. Reads each row and its code twice and writes
// the row once.
template <int kThreads, class Kind>
__global__ void part_rows(const LevelNode* nodes, const DeviceCut* cuts, const typename Kind::Row* rows,
                          DeviceTable table, Kind kind, typename Kind::Row* out, std::int32_t* left_rows,
                          std::int64_t* left_totals) {
  KEDGE_DYNAMIC_SHARED(std::uint32_t, words);
  const LevelNode node = nodes[blockIdx.x];
  const DeviceCut cut = cuts[blockIdx.x];
  if (cut.feature < 0) return;
  const std::uint8_t* const codes = table.codes + cut.feature * table.n_rows;
  Counters<kThreads, kThreads> counters(words, kind.n_wide(), kind.n_narrow());
  count_left<kThreads>(kind, rows + node.begin, 0, node.n, codes, cut.left_bin, counters);
  const std::int32_t n_left = kind.rows(counters, kThreads - 1);
  move_rows<kThreads>(rows + node.begin, 0, node.n, codes, cut.left_bin, n_left, 0, out + node.begin);
  if (threadIdx.x == 0) left_rows[blockIdx.x] = n_left;
  for (std::int32_t k = static_cast<std::int32_t>(threadIdx.x); k < kind.n_totals(); k += kThreads)
    left_totals[std::int64_t{blockIdx.x} * kind.n_totals() + k] = kind.sum(counters, k, kThreads - 1);
}

// Lists the pieces of the nodes that have a cut, a thread a node.
static __global__ void list_pieces(const LevelNode* nodes, const DeviceCut* cuts, std::int64_t n, Pieces to) {
  const std::int64_t i = own_item();
  if (i >= n || cuts[i].feature < 0) return;
  const std::int32_t count = (nodes[i].n + kPieceRows - 1) / kPieceRows, first = atomicAdd(to.count, count);
  to.first[i] = first;
  for (std::int32_t p = 0; p < count; ++p) to.pieces[first + p] = {static_cast<std::int32_t>(i), p * kPieceRows};
}

// Counts and sums up the left rows of each piece, a block each; left_totals are 0 before. Reads each row and its code.
template <class Kind>
__global__ void count_pieces(const LevelNode* nodes, const DeviceCut* cuts, const typename Kind::Row* rows,
                             DeviceTable table, Kind kind, Pieces of, std::int64_t* left_totals) {
  KEDGE_DYNAMIC_SHARED(std::uint32_t, words);
  const auto p = static_cast<std::int32_t>(blockIdx.x);
  if (p >= *of.count) return;
  const Piece piece = of.pieces[p];
  const LevelNode node = nodes[piece.node];
  const DeviceCut cut = cuts[piece.node];
  Counters<kBigThreads, kBigThreads> counters(words, kind.n_wide(), kind.n_narrow());
  count_left<kBigThreads>(kind, rows + node.begin, piece.first, min(node.n, piece.first + kPieceRows),
                          table.codes + cut.feature * table.n_rows, cut.left_bin, counters);
  if (threadIdx.x == 0) of.left[p] = kind.rows(counters, kBigThreads - 1);
  auto* const totals = reinterpret_cast<unsigned long long*>(left_totals + std::int64_t{piece.node} * kind.n_totals());
  for (std::int32_t k = static_cast<std::int32_t>(threadIdx.x); k < kind.n_totals(); k += kBigThreads)
    atomicAdd(&totals[k], static_cast<unsigned long long>(kind.sum(counters, k, kBigThreads - 1)));
}

// Makes the counts of each node's pieces those of the pieces before them, a warp a node; left_rows: their sums.
static __global__ void scan_pieces(const LevelNode* nodes, const DeviceCut* cuts, Pieces of, std::int32_t* left_rows) {
  const std::int64_t i = blockIdx.x;
  if (cuts[i].feature < 0) return;
  const int lane = static_cast<int>(threadIdx.x);
  const std::int32_t count = (nodes[i].n + kPieceRows - 1) / kPieceRows;
  std::int32_t* const left = of.left + of.first[i];
  std::int32_t before = 0;
  for (std::int32_t first = 0; first < count; first += 32) {
    const std::int32_t own = first + lane < count ? left[first + lane] : 0;
    std::int32_t sum = own;
    for (int step = 1; step < 32; step *= 2) {
      const std::int32_t lower = __shfl_up_sync(kFullWarp, sum, step);
      if (lane >= step) sum += lower;
    }
    if (first + lane < count) left[first + lane] = before + sum - own;
    before += __shfl_sync(kFullWarp, sum, 31);
  }
  if (lane == 0) left_rows[i] = before;
}

// Moves the rows of each piece, a block each. Reads each row and its code, and writes the row.
template <class Row>
__global__ void move_pieces(const LevelNode* nodes, const DeviceCut* cuts, const Row* rows, DeviceTable table,
                            Pieces of, const std::int32_t* left_rows, Row* out) {
  const auto p = static_cast<std::int32_t>(blockIdx.x);
  if (p >= *of.count) return;
  const Piece piece = of.pieces[p];
  const LevelNode node = nodes[piece.node];
  const DeviceCut cut = cuts[piece.node];
  move_rows<kBigThreads>(rows + node.begin, piece.first, min(node.n, piece.first + kPieceRows),
                         table.codes + cut.feature * table.n_rows, cut.left_bin, left_rows[piece.node], of.left[p],
                         out + node.begin);
}

}   // namespace kedge::engine
