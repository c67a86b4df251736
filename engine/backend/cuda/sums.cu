// Adding up what tiles have summed: exact sums of integers, so blocks and atomics add in any order. See exact_sum.h.
#include "engine/backend/cuda/sums.cuh"

#include <limits>
#include <vector>

#include "engine/backend/cuda/dealt_sums.h"
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
struct ThreadPart {
  std::int64_t entry, first, last;
  __device__ explicit ThreadPart(const Tables& tables) {
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

__device__ unsigned long long block_largest(const Tables& tables, const ThreadPart& part, unsigned long long* shared) {
  unsigned long long own = 0;
  for (std::int64_t t = part.first; t < part.last; t += blockDim.y) {
    const unsigned long long bits = magnitude_bits(tables.at(t, part.entry));
    own = bits > own ? bits : own;
  }
  return join_rows(shared, own, [](unsigned long long a, unsigned long long b) { return a > b ? a : b; });
}

__device__ ExactSum block_sum(const Tables& tables, const ThreadPart& part, unsigned long long largest, Limbs* shared) {
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
  const ThreadPart part(tables);
  const ExactSum sum = block_sum(tables, part, block_largest(tables, part, largest), limbs);
  if (threadIdx.y == 0 && part.entry < tables.entries) total[part.entry] = sum.value();
}

// Many: `sums` holds the largest of each entry, then its three integers, entry after entry; all begin at 0.
__global__ void find_largest(Tables tables, unsigned long long* sums) {
  __shared__ unsigned long long shared[kThreads];
  const ThreadPart part(tables);
  const unsigned long long largest = block_largest(tables, part, shared);
  if (threadIdx.y == 0 && part.entry < tables.entries) atomicMax(sums + part.entry, largest);
}

__global__ void add_parts(Tables tables, const unsigned long long* largest, unsigned long long* limbs) {
  __shared__ Limbs shared[kThreads];
  const ThreadPart part(tables);
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

// The grid of find_largest() and add_parts().
struct PartsGrid {
  dim3 block;
  std::int64_t chunks;
  unsigned blocks;
  explicit PartsGrid(const Tables& tables)
      : block(row_block(tables.entries)),
        chunks(tiles_of(tables.n, kSteps * block.y)),
        blocks(static_cast<unsigned>(tiles_of(tables.entries, block.x) * chunks)) {}
};

void put_largest(CudaRuntime& runtime, const Tables& tables, Array<unsigned long long>& sums) {
  const PartsGrid grid(tables);
  KEDGE_LAUNCH(runtime, find_largest, grid.blocks, grid.block, 0, tables, sums.data());
}
void put_limbs(CudaRuntime& runtime, const Tables& tables, Array<unsigned long long>& sums) {
  const PartsGrid grid(tables);
  KEDGE_LAUNCH(runtime, add_parts, grid.blocks, grid.block, 0, tables, sums.data(), raw(sums) + tables.entries);
}
void put_rounded(CudaRuntime& runtime, const Array<unsigned long long>& sums, std::int64_t entries, double* total) {
  KEDGE_LAUNCH(runtime, round_sums, blocks_for(entries, 128), 128, 0, sums.data(), raw(sums) + entries, entries, total);
}

}  // namespace

void sum_tables(CudaRuntime& runtime, const double* tables, std::int64_t n_tables, std::int64_t entries, double* total) {
  const Tables all{tables, n_tables, entries};
  const PartsGrid grid(all);
  if (grid.chunks <= 1) {
    KEDGE_LAUNCH(runtime, add_few, static_cast<unsigned>(tiles_of(entries, grid.block.x)), grid.block, 0, all, total);
    return;
  }
  Array<unsigned long long> sums(runtime, 4 * entries);
  sums.zero();
  put_largest(runtime, all, sums);
  put_limbs(runtime, all, sums);
  put_rounded(runtime, sums, entries, total);
}

void sum_values(CudaRuntime& runtime, const double* values, std::int64_t n, double* total) {
  if (!values) {
    KEDGE_LAUNCH(runtime, put_number, 1, 1, 0, static_cast<double>(n), total);
    return;
  }
  DealtSums(runtime).add_values({}, values, n, total);
}

namespace {

// Fewer rows are every rank's own work, since two meetings take longer than their sums: by arithmetic, not measured
// (docs/performance/ranks.md). The emulator has all sums dealt that processors would deal.
constexpr std::int64_t kLeastRowsOfGpu = std::int64_t{1} << 20;

}   // namespace

bool DealtSums::asks_for(std::int64_t n_rows) const {
  const bool is_emulated = runtime_.info().kind == DeviceKind::kEmulated;
  return meeting_ && n_rows >= (is_emulated ? kLeastDealtRows : kLeastRowsOfGpu);
}

void DealtSums::add(const RankSeat& seat, std::int64_t entries, const std::function<DeviceTables()>& own,
                    double* total) {
  if (seat.is_alone()) {
    const DeviceTables all = own();
    return sum_tables(runtime_, all.data, all.count, entries, total);
  }
  Tables tables{nullptr, 0, entries};
  Array<unsigned long long> sums;   // on the GPU and the host: the largest of each entry, then its three integers
  std::vector<std::int64_t> host(static_cast<std::size_t>(4 * entries));
  const auto n = static_cast<std::size_t>(entries);
  const std::span<std::int64_t> largest = std::span(host).first(n), limbs = std::span(host).subspan(n);
  const auto make = [&] {
    const DeviceTables mine = own();
    tables.data = mine.data, tables.n = mine.count;
    sums = Array<unsigned long long>(runtime_, 4 * entries);
    sums.zero();
    put_largest(runtime_, tables, sums);
    runtime_.to_host(largest.data(), raw(sums), largest.size_bytes());
  };
  const auto cut = [&] {
    runtime_.to_device(raw(sums), largest.data(), largest.size_bytes());
    put_limbs(runtime_, tables, sums);
    runtime_.to_host(limbs.data(), raw(sums) + entries, limbs.size_bytes());
  };
  meeting_->add(largest, limbs, make, cut);
  runtime_.to_device(raw(sums) + entries, limbs.data(), limbs.size_bytes());
  put_rounded(runtime_, sums, entries, total);
}

void DealtSums::add_values(const RankSeat& seat, const double* values, std::int64_t n, double* total) {
  if (!values) return sum_values(runtime_, nullptr, n, total);
  const Part rows = own_rows(seat, n);
  const std::int64_t tiles = tiles_of(rows.size(), kRowTile);
  Array<double> sums;
  const auto own = [&] {
    sums = Array<double>(runtime_, tiles);
    KEDGE_LAUNCH(runtime_, sum_tiles, blocks_for(tiles, kLanes), dim3(kLanes, 8), 0, values + rows.begin, rows.size(),
                 tiles, sums.data());
    return DeviceTables{raw(sums), tiles};
  };
  add(seat, 1, own, total);
}

std::int64_t DealtSums::add_number(const RankSeat& seat, const std::function<std::int64_t()>& own) {
  if (seat.is_alone()) return own();
  std::int64_t sum = 0;
  for (const auto& number : numbers_of_ranks<std::int64_t>([&] { return std::vector{own()}; })) sum += number[0];
  return sum;
}

void DealtSums::give_bytes(const RankSeat& seat, const Part& own, void* array) {
  if (seat.is_alone()) return;
  const std::vector<std::byte> all = meeting_->gather([&] {
    std::vector<std::byte> mine(static_cast<std::size_t>(own.size()));
    if (!mine.empty()) runtime_.to_host(mine.data(), static_cast<const std::byte*>(array) + own.begin, mine.size());
    return mine;
  });
  runtime_.to_device(array, all.data(), all.size());
}

void DealtSums::give_largest(const RankSeat& seat, VectorView<std::int32_t> numbers) {
  if (seat.is_alone()) return;
  std::vector<std::int32_t> largest(static_cast<std::size_t>(numbers.size), std::numeric_limits<std::int32_t>::min());
  for (const auto& others : numbers_of_ranks<std::int32_t>([&] {
         std::vector<std::int32_t> mine(largest.size());
         runtime_.to_host(mine.data(), raw(numbers), mine.size() * sizeof(std::int32_t));
         return mine;
       }))
    for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], others[i]);
  runtime_.to_device(raw(numbers), largest.data(), largest.size() * sizeof(std::int32_t));
}

}  // namespace kedge::engine
