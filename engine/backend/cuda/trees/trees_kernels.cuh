// The kernels that split the nodes of a level: draw columns, score their cuts, choose, part the rows. A block has
// kThreads threads.
#pragma once

#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/trees/trees_counters.cuh"

namespace kedge::engine {

// The columns `first` .. first + width - 1 of each node's random order; a thread per node replays its Fisher-Yates shuffle without
// storing the order: a place that an earlier step swapped away holds what that step put there. O((first + width)^2) a node.
static __global__ void draw_columns(const LevelNode* nodes, std::int64_t n_nodes, std::uint64_t seed, std::int32_t n_cols, std::int32_t first,
                             std::int32_t width, std::int32_t* swapped, std::int32_t* displaced, std::int32_t* columns) {
  const std::int64_t node = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (node >= n_nodes) return;
  const std::int32_t steps = first + width;
  std::int32_t* other = swapped + node * steps;
  std::int32_t* moved = displaced + node * steps;
  const auto at = [&](std::int32_t place, std::int32_t before) {
    for (std::int32_t i = before; i-- > 0;)
      if (other[i] == place) return moved[i];
    return place;
  };
  PhiloxBlock block{};
  for (std::int32_t j = 0; j < steps; ++j) {
    if (j % 4 == 0) block = philox(seed, nodes[node].key, static_cast<std::uint64_t>(j / 4));
    const auto place = j + static_cast<std::int32_t>(feature_step(block.word[j % 4], static_cast<std::uint32_t>(n_cols - j)));
    const std::int32_t column = at(place, j), here = at(j, j);
    other[j] = place, moved[j] = here;
    if (j >= first) columns[node * width + j - first] = column;
  }
}

// Calls visit(row, code) for a node's rows. A thread has kAhead of them under way at a time, so that it waits for
// memory less often.
template <int kThreads, class Row, class Visit>
__device__ void for_rows(const Row* rows, std::int32_t n, const std::uint8_t* codes, const Visit& visit) {
  constexpr int kAhead = 4;
  const int thread = static_cast<int>(threadIdx.x);
  std::int32_t first = thread;
  for (; first + (kAhead - 1) * kThreads < n; first += kAhead * kThreads) {
    Row row[kAhead];
    std::int32_t code[kAhead];
    for (int k = 0; k < kAhead; ++k) row[k] = rows[first + k * kThreads];
    for (int k = 0; k < kAhead; ++k) code[k] = codes[row[k].row];
    for (int k = 0; k < kAhead; ++k) visit(row[k], code[k]);
  }
  for (; first < n; first += kThreads) visit(rows[first], codes[rows[first].row]);
}

// The codes that a small node has in a column, numbered in their order: counters then have a place for each of these
// only.
struct PresentCodes {
  std::uint32_t* bits;     // kBins of them, shared memory
  std::uint8_t* code_of;   // by number, shared memory

  __device__ void clear() const {
    if (threadIdx.x < kBins / 32) bits[threadIdx.x] = 0;
    __syncthreads();
  }
  __device__ void add(std::int32_t code) const { atomicOr(&bits[code / 32], 1u << (code % 32)); }
  __device__ std::int32_t number_of(std::int32_t code) const {
    std::int32_t before = __popc(bits[code / 32] & ((1u << (code % 32)) - 1));
    for (std::int32_t w = 0; w < code / 32; ++w) before += __popc(bits[w]);
    return before;
  }
  // How many there are; once all threads of the block have added theirs.
  template <int kThreads>
  __device__ std::int32_t number() const {
    __syncthreads();
    std::int32_t count = 0;
    for (std::int32_t w = 0; w < kBins / 32; ++w) count += __popc(bits[w]);
    for (std::int32_t code = static_cast<std::int32_t>(threadIdx.x); count > 1 && code < kBins; code += kThreads)
      if (bits[code / 32] >> (code % 32) & 1) code_of[number_of(code)] = static_cast<std::uint8_t>(code);
    return count;   // clearing the counters waits for the codes
  }
};

// The best of the threads' scores, with the lowest place of equal ones, and whether any varies; in thread 0.
template <int kThreads>
__device__ void choose_place(double& score, std::int32_t& place, std::int32_t& varies) {
  __shared__ double best_score[kThreads / 32];
  __shared__ std::int32_t best_place[kThreads / 32], any_cut[kThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  for (int step = 16; step > 0; step /= 2) {
    const double other = __shfl_down_sync(kFullWarp, score, step);
    const std::int32_t other_place = __shfl_down_sync(kFullWarp, place, step);
    varies |= __shfl_down_sync(kFullWarp, varies, step);
    if (other > score || (other == score && other_place < place)) score = other, place = other_place;
  }
  if (thread % 32 == 0) best_score[warp] = score, best_place[warp] = place, any_cut[warp] = varies;
  __syncthreads();
  if (thread != 0) return;
  for (int w = 1; w < kThreads / 32; ++w) {
    varies |= any_cut[w];
    if (best_score[w] > score || (best_score[w] == score && best_place[w] < place))
      score = best_score[w], place = best_place[w];
  }
}

// The best cut of one column in one node per block; the lowest of equal ones. Shared: the kind's counters for 256 bins.
// Reads the row (8 bytes of a counted class, 16 of a weighed one, 24 of a value; coalesced) and a code near its
// neighbours', as rows stay in order, and adds 2, 2 to 3 or 3 to 5 shared atomics. Small nodes, of which there are
// most, clear, scan and judge the codes that they have and not all 256.
template <int kThreads, class Kind>
__global__ void score_columns(const LevelNode* nodes, const typename Kind::Row* rows, const std::int64_t* totals,
                              DeviceTable table, const std::int32_t* columns, std::int32_t width, std::int64_t min_rows,
                              Kind kind, DeviceCut* cuts) {
  constexpr int kHeld = 4;   // rows of a small node that a thread holds
  KEDGE_DYNAMIC_SHARED(std::uint32_t, words);
  __shared__ std::uint32_t code_bits[kBins / 32];
  __shared__ std::uint8_t code_of[kBins];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t slot = blockIdx.x;
  const LevelNode node = nodes[slot / width];
  const std::int32_t column = columns[slot];
  const std::uint8_t* const codes = table.codes + column * table.n_rows;
  const typename Kind::Row* const own = rows + node.begin;
  Counters<kBins, kThreads> counters(words, kind.n_wide(), kind.n_narrow());
  const bool is_small = kThreads == kSmallThreads && node.n <= kHeld * kThreads;
  std::int32_t places = kBins;
  if (is_small) {
    const PresentCodes present{code_bits, code_of};
    typename Kind::Row row[kHeld] = {};
    std::int32_t code[kHeld];
    present.clear();
    for (int k = 0; k < kHeld; ++k) {
      const std::int32_t i = k * kThreads + thread;
      code[k] = -1;
      if (i < node.n) row[k] = own[i], code[k] = codes[row[k].row], present.add(code[k]);
    }
    places = present.number<kThreads>();
    if (places == 1) {
      if (thread == 0) cuts[slot] = {kRefusedCut, kMidpoint, column, 0, 0, 0};
      return;
    }
    counters.clear((places + 31) / 32 * 32);
    for (int k = 0; k < kHeld; ++k)
      if (code[k] >= 0) kind.add(counters, present.number_of(code[k]), row[k]);
    counters.scan((places + 31) / 32 * 32);
  } else {
    counters.clear();
    for_rows<kThreads>(own, node.n, codes,
                       [&](const typename Kind::Row& row, std::int32_t code) { kind.add(counters, code, row); });
    counters.scan();
  }

  double score = kRefusedCut;
  std::int32_t place = kBins, varies = 0;
  for (std::int32_t b = thread; b < places; b += kThreads) {
    const std::int32_t left_rows = kind.rows(counters, b);
    if (left_rows == (b ? kind.rows(counters, b - 1) : 0) || left_rows == node.n) continue;   // not in the node, or nothing to its right
    varies = 1;
    if (left_rows < min_rows || node.n - left_rows < min_rows) continue;
    const double cut = kind.score(counters, b, node, totals + std::int64_t{node.node} * kind.n_totals());
    if (cut > score) score = cut, place = b;   // b rises
  }
  choose_place<kThreads>(score, place, varies);
  if (thread != 0) return;
  if (place == kBins) {
    cuts[slot] = {kRefusedCut, kMidpoint, column, 0, 0, varies};
    return;
  }
  std::int32_t next = place + 1;
  if (is_small) next = code_of[next], place = code_of[place];
  else
    while (next < kBins && kind.rows(counters, next) == kind.rows(counters, place)) ++next;
  cuts[slot] = {score, kMidpoint, column, static_cast<std::int16_t>(place), static_cast<std::int16_t>(next), varies};
}

// How many of the n ascending numbers are at most `limit`; asked by all threads of a block, which search in two steps.
template <int kThreads>
__device__ std::int32_t count_up_to(const double* numbers, std::int32_t n, double limit) {
  const std::int32_t thread = static_cast<std::int32_t>(threadIdx.x), step = (n + kThreads - 1) / kThreads;
  const std::int32_t last = (thread + 1) * step - 1;
  const std::int32_t begin = step * __syncthreads_count(last < n && numbers[last] <= limit), place = begin + thread;
  return begin + __syncthreads_count(thread < step && place < n && numbers[place] <= limit);
}

// A random cut of one column in one node per block. Reads each row and its code twice, the second time from a cache where the node is small; a
// thread adds up in places of its own, without atomics. Clearing and folding them, 704 words for ten classes, is the limit below about 100 rows.
template <int kThreads, class Kind>
__global__ void cut_columns(const LevelNode* nodes, const typename Kind::Row* rows, const std::int64_t* totals,
                            DeviceTable table, const std::int32_t* columns, std::int32_t first, std::int32_t width,
                            std::uint64_t seed, std::int64_t min_rows, Kind kind, DeviceCut* cuts) {
  KEDGE_DYNAMIC_SHARED(std::uint32_t, words);
  __shared__ std::int32_t least_of[kThreads / 32], most_of[kThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const std::int64_t slot = blockIdx.x, at = slot / width;
  const LevelNode node = nodes[at];
  const std::int32_t column = columns[slot];
  const std::uint8_t* const codes = table.codes + column * table.n_rows;
  std::int32_t least = kBins - 1, most = 0;
  for_rows<kThreads>(rows + node.begin, node.n, codes, [&](const typename Kind::Row&, std::int32_t code) {
    least = min(least, code), most = max(most, code);
  });
  for (int step = 16; step > 0; step /= 2) {
    least = min(least, __shfl_down_sync(kFullWarp, least, step));
    most = max(most, __shfl_down_sync(kFullWarp, most, step));
  }
  if (lane == 0) least_of[warp] = least, most_of[warp] = most;
  __syncthreads();
  least = least_of[0], most = most_of[0];
  for (int w = 1; w < kThreads / 32; ++w) least = min(least, least_of[w]), most = max(most, most_of[w]);
  DeviceCut cut;
  cut.feature = column;
  if (least == most) {
    if (thread == 0) cuts[slot] = cut;
    return;
  }
  const std::int32_t base = table.offset[column];
  const std::uint32_t place = static_cast<std::uint32_t>(first + slot % width);
  const std::uint32_t word = philox(seed, random_cut_stream(node.key), place / 4).word[place % 4];
  cut.threshold = random_cut_value(table.low[base + least], table.high[base + most], word);
  const std::int32_t ended = count_up_to<kThreads>(table.high + base + least, most - least, cut.threshold),
                     bin = least + ended - (ended > 0);
  Counters<kThreads, kThreads> counters(words, kind.n_wide(), kind.n_narrow());
  counters.clear();
  for_rows<kThreads>(rows + node.begin, node.n, codes, [&](const typename Kind::Row& row, std::int32_t code) {
    if (code <= bin) kind.add(counters, thread, row);
  });
  counters.scan();
  if (thread != 0) return;
  const std::int32_t left_rows = kind.rows(counters, kThreads - 1);
  cut.left_bin = static_cast<std::int16_t>(bin), cut.right_bin = static_cast<std::int16_t>(bin + 1), cut.varies = 1;
  if (left_rows >= min_rows && node.n - left_rows >= min_rows)
    cut.score = kind.score(counters, kThreads - 1, node, totals + std::int64_t{node.node} * kind.n_totals());
  cuts[slot] = cut;
}

// The best of a node's columns, the first drawn of equal ones. `extra`: the columns beyond max_features, of which only the first
// that varies counts.
static __global__ void choose_cuts(const DeviceCut* cuts, std::int64_t n_nodes, std::int32_t width, bool extra, DeviceCut* chosen) {
  const std::int64_t node = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (node >= n_nodes) return;
  DeviceCut best;
  for (std::int32_t k = 0; k < width && !(extra && best.varies); ++k) {
    const DeviceCut cut = cuts[node * width + k];
    const std::int32_t varies = best.varies | cut.varies;
    if (cut.score > best.score) best = cut;
    best.varies = varies;
  }
  chosen[node] = best;
}

// The values, the draws and the weights that the positions of a forest's rows have. draws: trees x n; weights: null for 1 each.
struct MeasuredRows {
  std::int64_t n;
  const double* values;
  const std::uint16_t* draws;
  const double* weights;
};

// The sum of term(i), i < n, in the order of sum_in_lanes() and in every thread of the block; a tile for each warp at a time.
template <int kThreads, class Term>
__device__ double sum_tiles(std::int32_t n, double* of_warp, const Term& term) {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kLanes, lane = thread % kLanes;
  double total = 0;
  for (std::int32_t first = 0; first < n; first += kThreads / kLanes * kSumTile) {
    const std::int32_t begin = first + warp * kSumTile, end = min(n, begin + kSumTile);
    double sum = 0;
    for (std::int32_t i = begin + lane; i < end; i += kLanes) sum += term(i);
    sum = fold_lanes(sum);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    for (int w = 0; w < kThreads / kLanes; ++w) total += of_warp[w];   // 0 beyond the last tile
    __syncthreads();
  }
  return total;
}

// Measures each node, one block each, or the two parts of each where left_rows says how many rows are on the left. Reads the row and, near
// its neighbours', 18 bytes by position three times.
template <int kThreads>
__global__ void measure_nodes(const LevelNode* nodes, const DeviceCut* cuts, const std::int32_t* left_rows,
                              const SummedRow* rows, MeasuredRows of, bool poisson, NodeMeasure* measures) {
  __shared__ double sums[kThreads / kLanes], least[kThreads / kLanes], most[kThreads / kLanes];
  const std::int64_t at = left_rows ? blockIdx.x / 2 : blockIdx.x;
  const LevelNode node = nodes[at];
  if (cuts && cuts[at].feature < 0) return;
  const bool is_right = left_rows && blockIdx.x % 2 != 0;
  const std::int32_t n_left = left_rows ? left_rows[at] : node.n, n = is_right ? node.n - n_left : n_left;
  const SummedRow* const own = rows + node.begin + (is_right ? n_left : 0);
  const std::uint16_t* const draws = of.draws + node.tree * of.n;
  const auto value = [&](std::int32_t i) { return of.values[own[i].position]; };
  const auto weight_of = [&](std::int32_t i) {
    const std::uint32_t position = own[i].position;
    const double drawn = draws[position];
    return of.weights ? drawn * of.weights[position] : drawn;
  };
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kLanes, lane = thread % kLanes;
  const double first = value(0);
  double low = first, high = first;
  for (std::int32_t i = thread; i < n; i += kThreads) low = min(low, value(i)), high = max(high, value(i));
  for (int step = kLanes / 2; step > 0; step /= 2) {
    low = min(low, __shfl_down_sync(kFullWarp, low, step));
    high = max(high, __shfl_down_sync(kFullWarp, high, step));
  }
  if (lane == 0) least[warp] = low, most[warp] = high;
  __syncthreads();
  low = least[0], high = most[0];
  for (int w = 1; w < kThreads / kLanes; ++w) low = min(low, least[w]), high = max(high, most[w]);
  NodeMeasure measure{first, 0, sum_tiles<kThreads>(n, sums, weight_of)};
  if (low != high) {
    const double mean =
        sum_tiles<kThreads>(n, sums, [&](std::int32_t i) { return weight_of(i) * value(i); }) / measure.weight;
    measure.mean = mean;
    measure.impurity =
        sum_tiles<kThreads>(n, sums,
                            [&](std::int32_t i) { return weight_of(i) * value_error(value(i), mean, poisson); }) /
        measure.weight;
  }
  if (thread == 0) measures[blockIdx.x] = measure;
}

}  // namespace kedge::engine
