// Binning on the device: each column is sorted and cut as bin_columns() of the host cuts it, to the same edges and
// codes.
#include <algorithm>
#include <functional>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/libraries.h"
#include "engine/backend/cuda/trees/bin_columns.cuh"
#include "engine/backend/cuda/trees/trees_device.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kMaxBins = 256, kThreads = 256;
constexpr std::int64_t kRowsOfBlock = 4096;   // that a block goes through

// Adds up how many distinct values each sorted column has. Reads each value once.
template <class T>
__global__ void count_distinct(const T* sorted, std::int64_t n, std::int32_t* distinct) {
  const T* const values = sorted + std::int64_t{blockIdx.y} * n;
  const std::int64_t first = std::int64_t{blockIdx.x} * kRowsOfBlock;
  std::int32_t count = 0;
  for (std::int64_t i = first; i < first + kRowsOfBlock; i += kThreads) {
    const std::int64_t at = i + threadIdx.x;
    count += __popc(__ballot_sync(kFullWarp, at < n && (at == 0 || values[at] != values[at - 1])));
  }
  if (threadIdx.x % 32 == 0 && count > 0) atomicAdd(&distinct[blockIdx.y], count);
}

// The bins of each sorted column, one warp each: its values, or at most 256 quantiles, as quantile_bins() of
// host/tree_bin.cc. About 256 steps, each of which waits for memory once, or some more times where values are equal.
template <class T>
__global__ void find_bins(const T* sorted, std::int64_t n, const std::int32_t* distinct, double* low, double* high,
                          std::int32_t* count) {
  const std::int64_t col = blockIdx.x;
  const T* const values = sorted + col * n;
  const bool is_exact = distinct[col] <= kMaxBins;
  std::int32_t bins = 0;
  for (std::int64_t begin = 0; begin < n; ++bins) {
    const std::int64_t bins_left = kMaxBins - bins;
    std::int64_t end = bins_left <= 1 ? n : begin + max(std::int64_t{1}, (n - begin) / bins_left);
    if (is_exact) end = begin + 1;
    end = first_above(values, end, n, values[end - 1]);
    if (threadIdx.x == 0) low[col * kMaxBins + bins] = values[begin], high[col * kMaxBins + bins] = values[end - 1];
    begin = end;
  }
  if (threadIdx.x == 0) count[col] = bins;
}

// The code of each cell: the first bin that does not end below it. Reads a value, writes a byte.
template <class T>
__global__ void put_codes(const T* columns, std::int64_t n, const double* high, const std::int32_t* count,
                          std::uint8_t* codes) {
  __shared__ T ends[kMaxBins];
  const std::int64_t col = std::int64_t{blockIdx.y}, first = std::int64_t{blockIdx.x} * kRowsOfBlock;
  const std::int32_t bins = count[col];
  for (std::int32_t b = static_cast<std::int32_t>(threadIdx.x); b < bins; b += kThreads)
    ends[b] = static_cast<T>(high[col * kMaxBins + b]);
  __syncthreads();
  for (std::int64_t i = first + threadIdx.x; i < min(n, first + kRowsOfBlock); i += kThreads) {
    const T value = columns[col * n + i];
    std::int32_t begin = 0, end = bins;
    while (begin < end) {
      const std::int32_t middle = (begin + end) / 2;
      if (ends[middle] < value) begin = middle + 1;
      else end = middle;
    }
    codes[col * n + i] = static_cast<std::uint8_t>(begin);
  }
}

// The edges of columns that each have room for kMaxBins; first where bins begin, then where they end.
BinEdges packed(const std::vector<double>& ends, const std::vector<std::int32_t>& count) {
  BinEdges edges{.offset = {0}, .low = {}, .high = {}};
  const auto low = ends.begin(), high = low + static_cast<std::ptrdiff_t>(count.size() * kMaxBins);
  for (std::size_t j = 0; j < count.size(); ++j) {
    const auto begin = static_cast<std::ptrdiff_t>(j * kMaxBins), end = begin + count[j];
    edges.low.insert(edges.low.end(), low + begin, low + end);
    edges.high.insert(edges.high.end(), high + begin, high + end);
    edges.offset.push_back(static_cast<std::int32_t>(edges.low.size()));
  }
  return edges;
}

}   // namespace

template <class T>
bool bin_on_device(CudaRuntime& runtime, DeviceLibraries& libraries, MatrixView<const T> X, BinnedTable& table) {
  const std::int64_t n = X.rows, row_blocks = (n + kRowsOfBlock - 1) / kRowsOfBlock;
  const std::int64_t most = columns_together(runtime, n, X.cols, sizeof(T));
  table.codes = Array<std::uint8_t>(runtime, n * X.cols);
  Array<double> ends(runtime, 2 * X.cols * kMaxBins);
  double *const low = raw(ends), *const high = low + X.cols * kMaxBins;
  Array<std::int32_t> count(runtime, X.cols), distinct(runtime, X.cols), missing(runtime, most);
  ends.zero(), distinct.zero(), missing.zero();
  Array<T> columns(runtime, most * n), sorted(runtime, most * n);
  for (std::int64_t first = 0; first < X.cols; first += most) {
    const std::int64_t width = std::min(most, X.cols - first);
    take_columns(runtime, RowChoice<T>{.X = X, .n = n}, first, width, columns, missing.data());
    if (std::ranges::any_of(missing.to_host(), std::identity())) return false;
    runtime.copy(sorted.data(), columns.data(), static_cast<std::size_t>(width * n) * sizeof(T));
    libraries.sort_rows(MatrixView<T>(sorted.data(), width, n));
    const dim3 grid(static_cast<unsigned>(row_blocks), static_cast<unsigned>(width));
    KEDGE_LAUNCH(runtime, count_distinct<T>, grid, kThreads, 0, sorted.data(), n, distinct.data() + first);
    KEDGE_LAUNCH(runtime, find_bins<T>, static_cast<unsigned>(width), 32, 0, sorted.data(), n, distinct.data() + first,
                 low + first * kMaxBins, high + first * kMaxBins, count.data() + first);
    KEDGE_LAUNCH(runtime, put_codes<T>, grid, kThreads, 0, columns.data(), n, high + first * kMaxBins,
                 count.data() + first, table.codes.data() + first * n);
  }
  table.edges = packed(ends.to_host(), count.to_host());
  return true;
}
template bool bin_on_device<float>(CudaRuntime&, DeviceLibraries&, MatrixView<const float>, BinnedTable&);
template bool bin_on_device<double>(CudaRuntime&, DeviceLibraries&, MatrixView<const double>, BinnedTable&);

}   // namespace kedge::engine
