// Adding up what tiles have summed: exact sums of integers, so blocks and atomics add in any order. See exact_sum.h.
#include "engine/backend/cuda/sums.cuh"

#include "engine/backend/exact_sum.h"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kSteps = 16;   // tables that a thread of a block adds

// Tables in one kernel's grid: a block takes as many entries as it has threads along x, in kSteps * blockDim.y tables.
struct Tables {
  const double* data;
  std::int64_t n, entries;
  __device__ double at(std::int64_t t, std::int64_t e) const { return data[t * entries + e]; }
};

// The part of one thread: every blockDim.y-th table of its block, one entry; nothing beyond the last entry.
struct Part {
  std::int64_t entry, first, last;
  __device__ explicit Part(const Tables& tables) {
    const std::int64_t groups = (tables.entries + blockDim.x - 1) / blockDim.x,
                       chunk = static_cast<std::int64_t>(blockIdx.x) / groups * kSteps * blockDim.y;
    entry = static_cast<std::int64_t>(blockIdx.x) % groups * blockDim.x + threadIdx.x;
    first = chunk + threadIdx.y;
    last = entry >= tables.entries                  ? 0
           : chunk + kSteps * blockDim.y < tables.n ? chunk + kSteps * blockDim.y
                                                    : tables.n;
  }
};

// The values of all threads with this threadIdx.x, joined. `shared` has a place for each thread and is used once.
template <class V, class Join>
__device__ V join_rows(V* shared, V own, Join join) {
  const unsigned place = threadIdx.y * blockDim.x + threadIdx.x;
  shared[place] = own;
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) shared[place] = join(shared[place], shared[place + half * blockDim.x]);
  }
  __syncthreads();
  return shared[threadIdx.x];
}

__device__ unsigned long long block_largest(const Tables& tables, const Part& part, unsigned long long* shared) {
  unsigned long long own = 0;
  for (std::int64_t t = part.first; t < part.last; t += blockDim.y) {
    const unsigned long long bits = magnitude_bits(tables.at(t, part.entry));
    own = bits > own ? bits : own;
  }
  return join_rows(shared, own, [](unsigned long long a, unsigned long long b) { return a > b ? a : b; });
}

__device__ ExactSum block_sum(const Tables& tables, const Part& part, unsigned long long largest, Limbs* shared) {
  ExactSum sum{largest};
  for (std::int64_t t = part.first; t < part.last; t += blockDim.y) sum.add(tables.at(t, part.entry));
  sum.limbs = join_rows(shared, sum.limbs, [](Limbs a, const Limbs& b) {
    a.add(b);
    return a;
  });
  return sum;
}

// Few tables: one block does all for its entries.
__global__ void add_few(Tables tables, double* total) {
  __shared__ unsigned long long largest[kThreads];
  __shared__ Limbs limbs[kThreads];
  const Part part(tables);
  const ExactSum sum = block_sum(tables, part, block_largest(tables, part, largest), limbs);
  if (threadIdx.y == 0 && part.entry < tables.entries) total[part.entry] = sum.value();
}

// Many: `sums` holds the largest of each entry, then its three integers, entry after entry; all begin at 0.
__global__ void find_largest(Tables tables, unsigned long long* sums) {
  __shared__ unsigned long long shared[kThreads];
  const Part part(tables);
  const unsigned long long largest = block_largest(tables, part, shared);
  if (threadIdx.y == 0 && part.entry < tables.entries) atomicMax(sums + part.entry, largest);
}

__global__ void add_parts(Tables tables, const unsigned long long* largest, unsigned long long* limbs) {
  __shared__ Limbs shared[kThreads];
  const Part part(tables);
  const ExactSum sum = block_sum(tables, part, part.entry < tables.entries ? largest[part.entry] : 0, shared);
  if (threadIdx.y != 0 || part.entry >= tables.entries) return;
  unsigned long long* const own = limbs + 3 * part.entry;
  atomicAdd(own, static_cast<unsigned long long>(sum.limbs.high));
  atomicAdd(own + 1, static_cast<unsigned long long>(sum.limbs.middle));
  atomicAdd(own + 2, static_cast<unsigned long long>(sum.limbs.low));
}

__global__ void round_sums(const unsigned long long* largest, const unsigned long long* limbs, std::int64_t entries,
                           double* total) {
  const std::int64_t e = own_item();
  if (e >= entries) return;
  const auto limb = [&](int l) { return static_cast<std::int64_t>(limbs[3 * e + l]); };
  total[e] = ExactSum{largest[e], {limb(0), limb(1), limb(2)}}.value();
}

// A block sums 32 tiles, each in order: 32 rows of them at a time are read side by side, then each thread of the first
// warp adds those of its tile.
__global__ void sum_tiles(const double* values, std::int64_t n, std::int64_t tiles, double* sums) {
  __shared__ double rows[kLanes][kLanes + 1];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kLanes, own = first + threadIdx.x;
  double sum = 0;
  for (std::int64_t begin = 0; begin < kRowTile; begin += kLanes) {
    for (unsigned t = threadIdx.y; t < kLanes; t += blockDim.y) {
      const std::int64_t i = (first + t) * kRowTile + begin + threadIdx.x;
      rows[t][threadIdx.x] = i < n ? values[i] : 0.0;
    }
    __syncthreads();
    for (int r = 0; threadIdx.y == 0 && r < kLanes; ++r) sum += rows[threadIdx.x][r];
    __syncthreads();
  }
  if (threadIdx.y == 0 && own < tiles) sums[own] = sum;
}

__global__ void put_number(double value, double* out) {
  *out = value;
}

}  // namespace

void sum_tables(CudaRuntime& runtime, const double* tables, std::int64_t n_tables, std::int64_t entries, double* total) {
  const dim3 block = row_block(entries);
  const std::int64_t groups = tiles_of(entries, block.x), chunks = tiles_of(n_tables, kSteps * block.y);
  const Tables all{tables, n_tables, entries};
  if (chunks <= 1) {
    KEDGE_LAUNCH(runtime, add_few, static_cast<unsigned>(groups), block, 0, all, total);
    return;
  }
  Array<unsigned long long> sums(runtime, 4 * entries);
  sums.zero();
  unsigned long long* const limbs = raw(sums) + entries;
  KEDGE_LAUNCH(runtime, find_largest, static_cast<unsigned>(groups * chunks), block, 0, all, sums.data());
  KEDGE_LAUNCH(runtime, add_parts, static_cast<unsigned>(groups * chunks), block, 0, all, sums.data(), limbs);
  KEDGE_LAUNCH(runtime, round_sums, blocks_for(entries, 128), 128, 0, sums.data(), limbs, entries, total);
}

void sum_values(CudaRuntime& runtime, const double* values, std::int64_t n, double* total) {
  if (!values) {
    KEDGE_LAUNCH(runtime, put_number, 1, 1, 0, static_cast<double>(n), total);
    return;
  }
  const std::int64_t tiles = tiles_of(n, kRowTile);
  Array<double> sums(runtime, tiles);
  KEDGE_LAUNCH(runtime, sum_tiles, blocks_for(tiles, kLanes), dim3(kLanes, 8), 0, values, n, tiles, sums.data());
  sum_tables(runtime, raw(sums), tiles, 1, total);
}

}  // namespace kedge::engine
