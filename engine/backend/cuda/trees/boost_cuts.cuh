// The kernels of boosting that look for cuts in histograms: host/boost_search.cc, a warp a column.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/trees/boost_device.h"

namespace kedge::engine {

inline constexpr int kCutWarps = 4, kLaneBins = kBoostCodes / 32;   // bins of a lane, which follow one another

// What all cuts of a tree share.
struct CutSearch {
  const DeviceBoostColumn* columns;
  std::int64_t n_cols;
  const BoostUnits* units;
  const std::uint8_t* masks;   // columns that a node may look at, see BoostTask::masks
  double l2, least_hessian;
  std::int64_t least_rows;
};

__device__ inline BoostBin plus(BoostBin a, BoostBin b) {
  return {a.gradients + b.gradients, a.rest + b.rest};
}
__device__ inline BoostBin minus(BoostBin a, BoostBin b) {
  return {a.gradients - b.gradients, a.rest - b.rest};
}

// The bin `at` of those that the lanes hold.
__device__ inline BoostBin bin_at(const BoostBin (&bins)[kLaneBins], int at) {
  BoostBin own{};
  KEDGE_UNROLL
  for (int k = 0; k < kLaneBins; ++k)
    if (k == at % kLaneBins) own = bins[k];
  return {__shfl_sync(kFullWarp, own.gradients, at / kLaneBins), __shfl_sync(kFullWarp, own.rest, at / kLaneBins)};
}

// upto[k]: the sum of the bins up to the lane's k-th.
__device__ inline void sum_bins(const BoostBin (&bins)[kLaneBins], BoostBin (&upto)[kLaneBins]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  BoostBin own{};
  KEDGE_UNROLL
  for (int k = 0; k < kLaneBins; ++k) own = plus(own, bins[k]), upto[k] = own;
  BoostBin sum = own;
  for (int step = 1; step < 32; step *= 2) {
    const BoostBin lower{__shfl_up_sync(kFullWarp, sum.gradients, step), __shfl_up_sync(kFullWarp, sum.rest, step)};
    if (lane >= step) sum = plus(sum, lower);
  }
  const BoostBin before = minus(sum, own);
  KEDGE_UNROLL
  for (int k = 0; k < kLaneBins; ++k) upto[k] = plus(upto[k], before);
}

struct FoundCut {
  double gain = 0;
  int at = -1;
  // Of equal ones the first, or the last.
  __device__ bool is_behind(const FoundCut& other, bool takes_last) const {
    if (other.at < 0) return false;
    return other.gain > gain || (other.gain == gain && (at < 0 || (takes_last ? other.at > at : other.at < at)));
  }
};
__device__ inline FoundCut best_of_lanes(FoundCut own, bool takes_last) {
  for (int step = 16; step > 0; step /= 2) {
    const FoundCut other{__shfl_xor_sync(kFullWarp, own.gain, step), __shfl_xor_sync(kFullWarp, own.at, step)};
    if (own.is_behind(other, takes_last)) own = other;
  }
  return own;
}

// One node's cuts by one column; asked by a whole warp.
struct ColumnCut {
  GainTerms terms;
  GainBounds bounds;
  bool is_bounded;

  // The best of the first n cuts, which have upto[k] and `added` on their left.
  __device__ FoundCut best_of(const BoostBin (&upto)[kLaneBins], BoostBin added, int n, bool takes_last) const {
    const int first = static_cast<int>(threadIdx.x) % 32 * kLaneBins;
    double about[kLaneBins], least = 0;
    if (!is_bounded) {
      double most = -1;
      KEDGE_UNROLL
      for (int k = 0; k < kLaneBins; ++k) {
        const BoostBin left = plus(upto[k], added);
        about[k] = first + k < n ? about_gain(terms, left.gradients, left.rest) : -1;
        most = about[k] > most ? about[k] : most;
      }
      for (int step = 16; step > 0; step /= 2) {
        const double other = __shfl_xor_sync(kFullWarp, most, step);
        most = other > most ? other : most;
      }
      if (most <= 0) return {};
      least = least_gain(terms, most);
    }
    FoundCut best;
    KEDGE_UNROLL
    for (int k = 0; k < kLaneBins; ++k) {
      if (first + k >= n || (!is_bounded && about[k] < least)) continue;
      const BoostBin left = plus(upto[k], added);
      const double gain = exact_gain(terms, bounds, left.gradients, left.rest);
      if (gain > best.gain || (takes_last && best.at >= 0 && gain == best.gain)) best = {gain, first + k};
    }
    return best_of_lanes(best, takes_last);
  }

  __device__ void cut_numbers(const BoostBin (&upto)[kLaneBins], BoostBin missing, const DeviceBoostColumn& column,
                              DeviceBoostCut& out) const {
    const int n = column.n_bins;
    const FoundCut right = best_of(upto, BoostBin{}, n - 1 + (column.has_missing ? 1 : 0), false);
    if (right.at >= 0)
      out.gain = right.gain, out.bin = right.at, out.left = bin_at(upto, right.at), out.missing_left = 0;
    if (!column.has_missing) return;
    const FoundCut left = best_of(upto, missing, n - 1, true);
    if (left.at >= 0 && left.gain > out.gain)
      out.gain = left.gain, out.bin = left.at, out.left = plus(bin_at(upto, left.at), missing), out.missing_left = 1;
  }
};

// Categories of a column in the order of what they would predict; of a warp, in shared memory.
struct CategoryOrder {
  double value[kBoostCodes];   // by code; NaN: too few rows
  BoostBin bin[kBoostCodes];   // by place in the order
  std::uint8_t code[kBoostCodes];
  std::uint32_t set[8];
};

__device__ inline void cut_categories(const ColumnCut& cuts, const BoostBin (&bins)[kLaneBins],
                                      const DeviceBoostColumn& column, CategoryOrder& order, DeviceBoostCut& out) {
  const int lane = static_cast<int>(threadIdx.x) % 32, first = lane * kLaneBins;
  const GainTerms& terms = cuts.terms;
  const int n_codes = column.n_bins + (column.has_missing ? 1 : 0);
  const double factor = static_cast<double>(terms.rows) / terms.hessian;
  int n = 0;
  KEDGE_UNROLL
  for (int k = 0; k < kLaneBins; ++k) {
    const double h = static_cast<double>(bins[k].rest >> terms.count_bits) * terms.hessian_unit,
                 g = static_cast<double>(bins[k].gradients) * terms.gradient_unit;
    const bool is_used = first + k < n_codes && h * factor >= kCategorySupport;
    order.value[first + k] = is_used ? g / (h + kCategorySupport) : NAN;
    order.bin[first + k] = BoostBin{};
    n += is_used ? 1 : 0;
  }
  if (lane < 8) order.set[lane] = 0;
  for (int step = 16; step > 0; step /= 2) n += __shfl_xor_sync(kFullWarp, n, step);
  __syncwarp();
  if (n <= 1) return;
  KEDGE_UNROLL
  for (int k = 0; k < kLaneBins; ++k) {
    const double own = order.value[first + k];
    if (own != own) continue;
    int place = 0;
    for (int c = 0; c < n_codes; ++c) place += order.value[c] < own || (order.value[c] == own && c < first + k) ? 1 : 0;
    order.bin[place] = bins[k], order.code[place] = static_cast<std::uint8_t>(first + k);
  }
  __syncwarp();
  BoostBin sorted[kLaneBins], upto[kLaneBins];
  KEDGE_UNROLL
  for (int k = 0; k < kLaneBins; ++k) sorted[k] = order.bin[first + k];
  sum_bins(sorted, upto);
  const BoostBin total = bin_at(upto, kBoostCodes - 1);
  // Each half of the order from its end; of equal cuts the first in that sequence.
  const int forward = (n + 1) / 2, backward = forward - 1;
  FoundCut best;
  for (int half = 0; half < 2; ++half) {
    const bool is_forward = half == 0;
    KEDGE_UNROLL
    for (int k = 0; k < kLaneBins; ++k) {
      const int at = first + k, i = is_forward ? at : n - 1 - at;
      if (at >= n || i >= (is_forward ? forward : backward)) continue;
      const BoostBin left = is_forward ? upto[k] : plus(minus(total, upto[k]), sorted[k]);
      const FoundCut found{exact_gain(terms, cuts.bounds, left.gradients, left.rest), is_forward ? i : forward + i};
      if (found.gain > 0 && best.is_behind(found, false)) best = found;
    }
  }
  best = best_of_lanes(best, false);
  if (best.at < 0) return;
  const bool is_forward = best.at < forward;
  const int at = is_forward ? best.at : n - 1 - (best.at - forward);
  KEDGE_UNROLL
  for (int k = 0; k < kLaneBins; ++k) {
    const int place = first + k;
    if (place >= n || (is_forward ? place > at : place < at)) continue;
    const std::uint32_t code = order.code[place];
    atomicOr(&order.set[code / 32], 1u << (code % 32));
  }
  __syncwarp();
  out.gain = best.gain, out.is_category = 1;
  out.left = is_forward ? bin_at(upto, at) : plus(minus(total, bin_at(upto, at)), bin_at(sorted, at));
  for (int w = 0; w < 8; ++w) out.set[w] = order.set[w];
  const std::uint32_t missing = static_cast<std::uint32_t>(column.n_bins);
  out.missing_left = column.has_missing && (order.set[missing / 32] >> (missing % 32) & 1);
}

// Without a gain, the sums of the node.
__device__ inline DeviceBoostCut cut_column(const CutSearch& search, const BoostTask::Child& child, bool is_looked_at,
                                            const BoostBin (&bins)[kLaneBins], std::int64_t j, CategoryOrder& order) {
  const DeviceBoostColumn column = search.columns[j];
  const BoostUnits& units = *search.units;
  BoostBin upto[kLaneBins];
  sum_bins(bins, upto);
  DeviceBoostCut out;
  out.total = bin_at(upto, kBoostCodes - 1), out.column = static_cast<std::int32_t>(j);
  if (!is_looked_at) return out;
  const std::int64_t counts = (std::int64_t{1} << units.count_bits) - 1;
  const double gradient = static_cast<double>(out.total.gradients) * units.gradient_unit,
               hessian = static_cast<double>(out.total.rest >> units.count_bits) * units.hessian_unit;
  const bool is_bounded = column.monotonic != 0 || child.low != -INFINITY || child.high != INFINITY;
  const ColumnCut cuts{
      {units.gradient_unit, units.hessian_unit, search.l2 + kBoostTiny, gradient, hessian, gradient * child.value,
       search.least_hessian, out.total.rest & counts, search.least_rows, units.count_bits},
      {search.l2, child.low, child.high, column.monotonic},
      is_bounded};
  if (column.is_category) cut_categories(cuts, bins, column, order, out);
  else cuts.cut_numbers(upto, bin_at(bins, column.n_bins), column, out);
  return out;
}

// A warp takes a column of the two children of a task, block_y(): the larger one's histogram becomes what the smaller
// one leaves. cuts[(2 * task + child) * n_cols + column].
static __global__ void __launch_bounds__(kCutWarps * 32)
    search_boost_columns(CutSearch search, const BoostTask* tasks, std::int32_t n_tasks, DeviceBoostCut* cuts) {
  __shared__ CategoryOrder orders[kCutWarps];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t j = std::int64_t{blockIdx.x} * kCutWarps + warp, t = block_y();
  if (j >= search.n_cols || t >= n_tasks || !tasks[t].small) return;
  const BoostTask& task = tasks[t];
  const std::int64_t place = j * kBoostCodes + lane * kLaneBins;
  const int n_codes = search.columns[j].n_bins + 1;
  BoostBin bins[kLaneBins];
  for (int child = 0; child < (task.large ? 2 : 1); ++child) {
    KEDGE_UNROLL
    for (int k = 0; k < kLaneBins; ++k) {
      if (lane * kLaneBins + k >= n_codes) bins[k] = BoostBin{};
      else if (child == 0) bins[k] = task.small[place + k];
      else task.large[place + k] = bins[k] = minus(task.large[place + k], bins[k]);
    }
    const bool is_looked_at =
        task.children[child].is_open && (task.masks < 0 || search.masks[(task.masks + child) * search.n_cols + j]);
    const DeviceBoostCut cut = cut_column(search, task.children[child], is_looked_at, bins, j, orders[warp]);
    if (lane == 0) cuts[(2 * t + child) * search.n_cols + j] = cut;
  }
}

// The best cut of each child, a warp each: of equal ones the first in `order`.
static __global__ void choose_boost_cuts(const DeviceBoostCut* cuts, const std::int32_t* order, std::int64_t n_cols,
                                         DeviceBoostCut* best) {
  const int lane = static_cast<int>(threadIdx.x);
  const DeviceBoostCut* const own = cuts + std::int64_t{blockIdx.x} * n_cols;
  FoundCut found;
  for (std::int64_t p = lane; p < n_cols; p += 32) {
    const FoundCut next{own[order[p]].gain, static_cast<int>(p)};
    if (next.gain > 0 && found.is_behind(next, false)) found = next;
  }
  found = best_of_lanes(found, false);
  if (lane != 0) return;
  DeviceBoostCut cut = own[order[found.at < 0 ? 0 : found.at]];   // without one: the node's sums
  if (found.at < 0) cut.gain = -1;
  best[blockIdx.x] = cut;
}

}   // namespace kedge::engine
