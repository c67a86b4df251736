// The kernels of boosting that go over rows: derivatives, whole numbers, histograms, parting, leaves, losses.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/trees/boost_device.h"

namespace kedge::engine {

inline constexpr int kBoostThreads = 256, kBoostWarps = kBoostThreads / 32;

using BoostWord = unsigned long long;   // of an atomic operation

// Rows that are fitted; raw predictions, derivatives and peaks output by output.
struct BoostRowsView {
  BoostLoss loss;
  std::int32_t n_outputs;
  std::int64_t n;
  const double *y, *weights;            // weights: null: 1 each
  double *raw, *gradients, *hessians;   // hessians: null: 1 each
  BoostWord* peaks;   // by output: the largest derivatives, as bits; above infinity's: one is not finite
};

__device__ inline BoostWord warp_most(BoostWord value) {
  for (int step = 16; step > 0; step /= 2) value = max(value, __shfl_xor_sync(kFullWarp, value, step));
  return value;
}

// The bits of |x|, in the order of the values.
__device__ inline BoostWord size_bits(double x) {
  return static_cast<BoostWord>(__double_as_longlong(x)) & ~(BoostWord{1} << 63);
}

// Keeps a row's derivatives of an output.
__device__ inline void put_row(const BoostRowsView& rows, std::int64_t i, std::int32_t k, BoostDerivatives d,
                               BoostWord& gradient_peak, BoostWord& hessian_peak) {
  const std::int64_t at = k * rows.n + i;
  if (rows.weights) {
    const double w = rows.weights[i];
    d.gradient *= w;
    d.hessian = rows.loss == BoostLoss::kSquared ? w : d.hessian * w;
  }
  rows.gradients[at] = d.gradient;
  gradient_peak = max(gradient_peak, size_bits(d.gradient));
  if (!rows.hessians) return;
  rows.hessians[at] = d.hessian;
  hessian_peak = max(hessian_peak, size_bits(d.hessian));
}

// Derivatives of all rows by one output and their peaks. A warp's lanes all stay in the loop.
template <class Derivatives>
__device__ void put_rows(const BoostRowsView& rows, std::int32_t k, const Derivatives& of) {
  BoostWord gradient_peak = 0, hessian_peak = 0;
  for (std::int64_t i = own_item(); i < rows.n; i += std::int64_t{gridDim.x} * blockDim.x)
    put_row(rows, i, k, of(i), gradient_peak, hessian_peak);
  gradient_peak = warp_most(gradient_peak), hessian_peak = warp_most(hessian_peak);
  if (threadIdx.x % 32 != 0) return;
  atomicMax(&rows.peaks[2 * k], gradient_peak), atomicMax(&rows.peaks[2 * k + 1], hessian_peak);
}

static __global__ void __launch_bounds__(kBoostThreads) derive_boost_rows(BoostRowsView rows) {
  const double *const raw = rows.raw, *const y = rows.y;
  switch (rows.loss) {
    case BoostLoss::kSquared:
      return put_rows(rows, 0, [&](std::int64_t i) { return BoostDerivatives{raw[i] - y[i], 1}; });
    case BoostLoss::kPoisson:
      return put_rows(rows, 0, [&](std::int64_t i) { return poisson_derivatives(raw[i], y[i]); });
    case BoostLoss::kGamma:
      return put_rows(rows, 0, [&](std::int64_t i) { return gamma_derivatives(raw[i], y[i]); });
    case BoostLoss::kBinomial:
      return put_rows(rows, 0, [&](std::int64_t i) { return binomial_derivatives(raw[i], y[i]); });
    default:
      break;
  }
}

// The same of one of several classes, block_y(): the softmax of a row is computed for each of them.
static __global__ void __launch_bounds__(kBoostThreads) derive_class_rows(BoostRowsView rows) {
  const auto k = static_cast<std::int32_t>(block_y());
  if (k >= rows.n_outputs) return;
  put_rows(rows, k, [&](std::int64_t i) {
    const double* const raw = rows.raw + i;
    double top = raw[0], sum = 0, own = 0;
    for (std::int32_t c = 1; c < rows.n_outputs; ++c) top = raw[c * rows.n] > top ? raw[c * rows.n] : top;
    for (std::int32_t c = 0; c < rows.n_outputs; ++c) {
      const double e = vector_exp(raw[c * rows.n] - top);
      own = c == k ? e : own;
      sum += e;
    }
    return multinomial_derivatives(own / sum, rows.y[i] == k);
  });
}

// Of output k and tree `number`: the units, and each row as one number, in the first list.
static __global__ void __launch_bounds__(kBoostThreads)
    pack_boost_rows(BoostRowsView rows, std::int32_t k, std::uint64_t number, BoostUnits* out, std::uint64_t* packed,
                    std::uint32_t* list) {
  __shared__ BoostUnits units;
  if (threadIdx.x == 0) {
    const double gradient = __longlong_as_double(static_cast<long long>(rows.peaks[2 * k])),
                 hessian = rows.hessians ? __longlong_as_double(static_cast<long long>(rows.peaks[2 * k + 1])) : 1;
    units = gradient * 0 == 0 && hessian * 0 == 0 ? boost_units(gradient, hessian, rows.hessians != nullptr, rows.n)
                                                  : BoostUnits{};
    if (blockIdx.x == 0) *out = units;
  }
  __syncthreads();
  const std::int64_t i = own_item(), at = k * rows.n + i;
  if (i >= rows.n) return;
  list[i] = static_cast<std::uint32_t>(i);
  if (units.gradient_unit == 0) packed[i] = 0;   // the host will refuse the tree
  else
    packed[i] = packed_row(units, boost_dither_key(number), static_cast<std::uint32_t>(i), rows.gradients[at],
                           rows.hessians ? rows.hessians[at] : 0, rows.hessians != nullptr);
}

// Bytes of kBoostWidth columns side by side: records[group * n + row], zeros beyond the last column.
struct alignas(16) BoostRecord {
  std::uint64_t words[2];
};
static __global__ void __launch_bounds__(kBoostThreads)
    record_boost_codes(const std::uint8_t* codes, std::int64_t n, std::int64_t n_cols, BoostRecord* records) {
  const std::int64_t i = own_item(), group = block_y(), first = group * kBoostWidth;
  if (i >= n || first >= n_cols) return;
  BoostRecord record{};
  for (int j = 0; j < kBoostWidth && first + j < n_cols; ++j)
    record.words[j / 8] |= std::uint64_t{codes[(first + j) * n + i]} << (8 * (j % 8));
  records[group * n + i] = record;
}

// Puts the rows of each task's node into the other list, those that go left first, and clears the histogram that will
// be added up. Where in its half a row comes does not matter: all that is computed of a node's rows has no order. A
// block takes kBoostPartRows rows.
static __global__ void __launch_bounds__(kBoostThreads)
    part_boost_rows(BoostTask* tasks, std::int32_t n_tasks, const std::uint8_t* codes, std::int64_t n_rows,
                    std::uint32_t* list_0, std::uint32_t* list_1, std::int64_t histogram_size) {
  constexpr int kItems = static_cast<int>(kBoostPartRows) / kBoostThreads;
  static_assert(kItems * kBoostWarps == 64);
  __shared__ std::uint32_t before[kItems * kBoostWarps + 1];   // rows on the left, by item and warp
  __shared__ std::uint32_t place[2];
  __shared__ std::uint32_t goes_left[8];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  BoostTask& task = tasks[record_of(tasks, n_tasks, &BoostTask::first_part, blockIdx.x)];
  const std::int64_t block = blockIdx.x - task.first_part, first = block * kBoostPartRows;
  const std::int64_t n_blocks = (task.n + kBoostPartRows - 1) / kBoostPartRows;
  if (task.small)
    for (std::int64_t e = block * kBoostThreads + thread; e < histogram_size; e += n_blocks * kBoostThreads)
      task.small[e] = BoostBin{};
  if (thread < 8) goes_left[thread] = task.goes_left[thread];
  __syncthreads();
  const std::uint32_t* const from = (task.list == 0 ? list_0 : list_1) + task.begin;
  std::uint32_t* const to = (task.list == 0 ? list_1 : list_0) + task.begin;
  const std::uint8_t* const column = codes + task.column * n_rows;
  std::uint32_t rows[kItems];
  unsigned left[kItems];
  KEDGE_UNROLL
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = first + k * kBoostThreads + thread;
    bool goes = false;
    if (i < task.n) {
      rows[k] = from[i];
      const std::uint8_t code = column[rows[k]];
      goes = goes_left[code / 32] >> (code % 32) & 1;
    }
    left[k] = __ballot_sync(kFullWarp, goes);
    if (lane == 0) before[k * kBoostWarps + warp] = static_cast<std::uint32_t>(__popc(left[k]));
  }
  __syncthreads();
  if (warp == 0) {   // two places a lane
    const std::uint32_t a = before[2 * lane], b = before[2 * lane + 1];
    std::uint32_t sum = a + b;
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t lower = __shfl_up_sync(kFullWarp, sum, step);
      if (lane >= step) sum += lower;
    }
    __syncwarp();
    before[2 * lane] = sum - a - b, before[2 * lane + 1] = sum - b;
    if (lane == 31) {
      const auto n = static_cast<std::uint32_t>(min(kBoostPartRows, task.n - first));
      place[0] = atomicAdd(&task.n_put[0], sum);
      place[1] = static_cast<std::uint32_t>(task.n_left) + atomicAdd(&task.n_put[1], n - sum);
    }
  }
  __syncthreads();
  KEDGE_UNROLL
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = first + k * kBoostThreads + thread;
    if (i >= task.n) continue;
    const auto lefts =
        before[k * kBoostWarps + warp] + static_cast<std::uint32_t>(__popc(left[k] & ((1u << lane) - 1)));
    const auto own = static_cast<std::uint32_t>(i - first);
    const bool goes = left[k] >> lane & 1;
    to[goes ? place[0] + lefts : place[1] + own - lefts] = rows[k];
  }
}

// Adds up the smaller child of each task for kBoostWidth columns, block_y(). A block takes up to kBoostBlock rows, so
// that a packed number holds their sum; as shared memory adds 32 bits at once, it is two words and a carry. Lanes begin
// at different columns, so that rows of one common bin do not wait for each other.
static __global__ void __launch_bounds__(kBoostThreads)
    add_boost_rows(const BoostTask* tasks, std::int32_t n_tasks, std::int64_t rows_of_block, const BoostRecord* records,
                   std::int64_t n_rows, std::int64_t n_cols, const std::uint64_t* packed, const std::uint32_t* list_0,
                   const std::uint32_t* list_1, const BoostUnits* units) {
  __shared__ std::uint32_t low[kBoostWidth * kBoostCodes], high[kBoostWidth * kBoostCodes];
  const std::int64_t group = block_y(), first_column = group * kBoostWidth;
  if (first_column >= n_cols) return;
  const int width = static_cast<int>(min(std::int64_t{kBoostWidth}, n_cols - first_column));
  const int thread = static_cast<int>(threadIdx.x), places = width * kBoostCodes;
  const BoostTask& task = tasks[record_of(tasks, n_tasks, &BoostTask::first_add, blockIdx.x)];
  if (!task.small) return;
  const std::int64_t n = task.is_left_small ? task.n_left : task.n - task.n_left,
                     begin = (blockIdx.x - task.first_add) * rows_of_block, end = min(n, begin + rows_of_block);
  for (int e = thread; e < places; e += kBoostThreads) low[e] = 0, high[e] = 0;
  __syncthreads();
  const std::uint32_t* const list =
      (task.list == 0 ? list_1 : list_0) + task.begin + (task.is_left_small ? 0 : task.n_left);
  const int first = thread % 32 % width;
  for (std::int64_t i = begin + thread; i < end; i += kBoostThreads) {
    const std::uint32_t row = list[i];
    const std::uint64_t value = packed[row];
    const BoostRecord record = records[group * n_rows + row];
    const auto value_low = static_cast<std::uint32_t>(value), value_high = static_cast<std::uint32_t>(value >> 32);
    for (int k = 0; k < width; ++k) {
      const int j = first + k < width ? first + k : first + k - width;
      const std::uint64_t word = j < 8 ? record.words[0] : record.words[1];
      const int place = j * kBoostCodes + static_cast<int>(word >> (8 * (j % 8)) & 255);
      const std::uint32_t before = atomicAdd(&low[place], value_low);
      const std::uint32_t more = value_high + (before + value_low < before ? 1u : 0u);
      if (more != 0) atomicAdd(&high[place], more);
    }
  }
  __syncthreads();
  const int count_bits = units->packed_count_bits, hessian_bits = units->hessian_bits;
  for (int e = thread; e < places; e += kBoostThreads) {
    const std::uint64_t sum = std::uint64_t{high[e]} << 32 | low[e];
    if (sum == 0) continue;
    BoostBin& bin = task.small[first_column * kBoostCodes + e];
    atomicAdd(reinterpret_cast<BoostWord*>(&bin.gradients),
              static_cast<BoostWord>(packed_gradient(sum, count_bits, hessian_bits)));
    atomicAdd(reinterpret_cast<BoostWord*>(&bin.rest),
              static_cast<BoostWord>(packed_rest(sum, count_bits, hessian_bits)));
  }
}

// Of a tree's leaves: what they predict by.
struct BoostLeavesView {
  const BoostLeafRows* rows;
  const DeviceBoostLeaf* leaves;
  std::int32_t n_records, n_leaves;
  const std::uint32_t *list_0, *list_1;
  BoostBin* sums;   // by leaf: of 62 bits
  double *values, l2, learning_rate;

  __device__ const std::uint32_t* list(const BoostLeafRows& record) const {
    return (record.list == 0 ? list_0 : list_1) + record.begin;
  }
};

// A block adds up kBoostPartRows rows of a leaf: by sums of whole numbers of 62 bits, see BoostGrower.
static __global__ void __launch_bounds__(kBoostThreads)
    sum_boost_leaves(BoostLeavesView leaves, const double* gradients, const double* hessians, const BoostUnits* units) {
  const BoostLeafRows& record =
      leaves.rows[record_of(leaves.rows, leaves.n_records, &BoostLeafRows::first_block, blockIdx.x)];
  const std::int64_t begin = (blockIdx.x - record.first_block) * kBoostPartRows,
                     end = min(record.n, begin + kBoostPartRows);
  const double g_scale = units->value_gradient_scale, h_scale = units->value_hessian_scale;
  BoostBin sum{};
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kBoostThreads) {
    const std::uint32_t row = leaves.list(record)[i];
    sum.gradients += static_cast<std::int64_t>(gradients[row] * g_scale);
    if (hessians) sum.rest += static_cast<std::int64_t>(hessians[row] * h_scale);
  }
  for (int step = 16; step > 0; step /= 2) {
    sum.gradients += __shfl_xor_sync(kFullWarp, sum.gradients, step);
    sum.rest += __shfl_xor_sync(kFullWarp, sum.rest, step);
  }
  if (threadIdx.x % 32 != 0) return;
  BoostBin& total = leaves.sums[record.leaf];
  atomicAdd(reinterpret_cast<BoostWord*>(&total.gradients), static_cast<BoostWord>(sum.gradients));
  atomicAdd(reinterpret_cast<BoostWord*>(&total.rest), static_cast<BoostWord>(sum.rest));
}

// Values the leaves and adds them to the raw predictions of their rows.
static __global__ void __launch_bounds__(kBoostThreads)
    add_boost_leaves(BoostLeavesView leaves, bool has_hessians, const BoostUnits* units, double* raw) {
  const BoostLeafRows& record =
      leaves.rows[record_of(leaves.rows, leaves.n_records, &BoostLeafRows::first_block, blockIdx.x)];
  const DeviceBoostLeaf& leaf = leaves.leaves[record.leaf];
  const BoostBin sum = leaves.sums[record.leaf];
  const double gradient = static_cast<double>(sum.gradients) / units->value_gradient_scale,
               hessian = has_hessians ? static_cast<double>(sum.rest) / units->value_hessian_scale
                                      : static_cast<double>(leaf.n_rows);
  const double value =
      leaves.n_leaves == 1 ? 0 : leaves.learning_rate * boost_value(gradient, hessian, leaves.l2, leaf.low, leaf.high);
  const std::int64_t begin = (blockIdx.x - record.first_block) * kBoostPartRows,
                     end = min(record.n, begin + kBoostPartRows);
  if (record.is_first && begin == 0 && threadIdx.x == 0) leaves.values[record.leaf] = value;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kBoostThreads) raw[leaves.list(record)[i]] += value;
}

// Adds what a tree predicts for rows that validate, by their codes.
static __global__ void __launch_bounds__(kBoostThreads)
    walk_boost_tree(const BoostWalkNode* nodes, const double* values, const std::uint8_t* codes, std::int64_t n,
                    double* raw) {
  const std::int64_t i = own_item();
  if (i >= n) return;
  const BoostWalkNode* node = nodes;
  while (node->column >= 0) {
    const std::uint8_t code = codes[node->column * n + i];
    node = nodes + node->left + (node->goes_left[code / 32] >> (code % 32) & 1 ? 0 : 1);
  }
  raw[i] += values[node->left];
}

// sums[b]: the weighted losses of the b-th kBoostLossRows rows, added in order.
static __global__ void __launch_bounds__(kBoostThreads)
    sum_boost_losses(BoostRowsView rows, double quantile, double* sums) {
  __shared__ double losses[kBoostLossRows];
  const std::int64_t begin = blockIdx.x * kBoostLossRows, n = min(kBoostLossRows, rows.n - begin);
  for (std::int64_t i = threadIdx.x; i < n; i += kBoostThreads)
    losses[i] = boost_row_loss(rows.loss, quantile, rows.n_outputs, rows.y[begin + i], rows.raw + begin + i, rows.n) *
                (rows.weights ? rows.weights[begin + i] : 1);
  __syncthreads();
  if (threadIdx.x != 0) return;
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += losses[i];
  sums[blockIdx.x] = sum;
}

}   // namespace kedge::engine
