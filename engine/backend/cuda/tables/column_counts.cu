// What columns are made of, on the GPU. Columns are copied next to each other and sorted, some at a time, so that the
// copies stay small beside the table; equal numbers are then runs, and a run begins where a number differs from the one
// before. Bound by the sort; means by two reads of X.
#include "engine/backend/cuda/tables/column_counts.cuh"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kSide = 32, kSideRows = 8, kThreads = 256, kWarps = kThreads / 32, kColumnThreads = 64;
constexpr std::int64_t kBatchCells = std::int64_t{1} << 24;   // sorted at once, if more than one column has fewer
constexpr std::int64_t kBatchColumns = 65535;                 // a grid's most in y

// Some columns of a table, and what each of them lacks; null: all columns, nothing but NaN.
template <class T>
struct ColumnChoice {
  const std::int32_t* columns;
  const T* missing;
  std::int64_t first, n;
  __device__ std::int64_t column(std::int64_t c) const { return columns ? columns[first + c] : first + c; }
  __device__ bool lacks(T x, std::int64_t column) const { return x != x || (missing && x == missing[column]); }
};

// out[c, i] = X[i, column(c)], or infinity for what is left out; the rest is counted. Through squares in shared memory.
template <class T>
__global__ void take_present(Selection<T> X, ColumnChoice<T> choice, T infinity, T* out, unsigned long long* present) {
  __shared__ T square[kSide][kSide + 1];
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * kSide,
                     first_col = static_cast<std::int64_t>(blockIdx.y) * kSide;
  for (int r = static_cast<int>(threadIdx.y); r < kSide; r += kSideRows) {
    const std::int64_t i = first_row + r, c = first_col + threadIdx.x;
    if (i >= X.n || c >= choice.n) continue;
    const std::int64_t j = choice.column(c);
    const T x = X.row(i)[j];
    square[r][threadIdx.x] = choice.lacks(x, j) ? std::numeric_limits<T>::quiet_NaN() : x;
  }
  __syncthreads();
  for (int s = static_cast<int>(threadIdx.y); s < kSide; s += kSideRows) {   // the same for all lanes of a warp
    const std::int64_t i = first_row + threadIdx.x, c = first_col + s;
    const bool is_cell = i < X.n && c < choice.n;
    const T x = is_cell ? square[threadIdx.x][s] : T{0};
    const unsigned here = __ballot_sync(kFullWarp, is_cell && x == x);
    if (is_cell) out[c * X.n + i] = x == x ? x + T{0} : infinity;   // -0 becomes 0
    if (threadIdx.x == 0 && here != 0) atomicAdd(present + c, static_cast<unsigned long long>(__popc(here)));
  }
}

// Sorted columns side by side, n places each, of which present[c] count.
template <class T>
struct SortedColumns {
  const T* values;
  const std::int64_t* present;
  std::int64_t n, cols;
  __device__ bool begins_run(std::int64_t c, std::int64_t i) const {
    const T* const column = values + c * n;
    return i < present[c] && (i == 0 || column[i - 1] != column[i]);
  }
};

template <class T>
__global__ void count_runs(SortedColumns<T> sorted, std::int64_t tiles, std::int64_t* starts) {
  const std::int64_t c = blockIdx.y, i = own_item();
  const int count = __syncthreads_count(sorted.begins_run(c, i));
  if (threadIdx.x == 0) starts[c * tiles + blockIdx.x] = count;
}

// Exclusive sums of each column's tiles, and their total. A thread takes tiles that lie together.
__global__ void place_tiles(std::int64_t tiles, std::int64_t* starts, std::int64_t* runs) {
  __shared__ std::int64_t of_thread[kThreads];
  std::int64_t* const own = starts + static_cast<std::int64_t>(blockIdx.x) * tiles;
  const std::int64_t share = (tiles + kThreads - 1) / kThreads, begin = threadIdx.x * share,
                     end = begin + share < tiles ? begin + share : tiles;
  std::int64_t sum = 0;
  for (std::int64_t t = begin; t < end; ++t) sum += own[t];
  of_thread[threadIdx.x] = sum;
  __syncthreads();
  std::int64_t before = 0;
  for (unsigned t = 0; t < threadIdx.x; ++t) before += of_thread[t];
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t count = own[t];
    own[t] = before;
    before += count;
  }
  if (threadIdx.x == kThreads - 1) runs[blockIdx.x] = before;
}

// The number and the first place of each run, runs of a column from offsets[c] on.
template <class T>
__global__ void write_runs(SortedColumns<T> sorted, std::int64_t tiles, const std::int64_t* starts,
                           const std::int64_t* offsets, T* numbers, std::int64_t* places) {
  __shared__ int of_warp[kWarps];
  const std::int64_t c = blockIdx.y, i = own_item();
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool begins = sorted.begins_run(c, i);
  const unsigned all = __ballot_sync(kFullWarp, begins);
  if (lane == 0) of_warp[warp] = __popc(all);
  __syncthreads();
  if (!begins) return;
  std::int64_t at = offsets[c] + starts[c * tiles + blockIdx.x] + __popc(all & ((1u << lane) - 1));
  for (unsigned w = 0; w < warp; ++w) at += of_warp[w];
  numbers[at] = sorted.values[c * sorted.n + i];
  places[at] = i;
}

struct LongestRun {
  std::int64_t length, run;   // of equal lengths the first run: its number is the smallest
  __device__ bool is_before(const LongestRun& other) const {
    return length > other.length || (length == other.length && run < other.run);
  }
};

// One block a column.
template <class T>
__global__ void find_modes(const T* numbers, const std::int64_t* places, const std::int64_t* offsets,
                           const std::int64_t* present, double nan, double* centre) {
  __shared__ LongestRun of_thread[kThreads];
  const std::int64_t c = blockIdx.x, first = offsets[c], last = offsets[c + 1];
  LongestRun best{0, std::numeric_limits<std::int64_t>::max()};
  for (std::int64_t r = first + threadIdx.x; r < last; r += kThreads) {
    const LongestRun own{(r + 1 < last ? places[r + 1] : present[c]) - places[r], r};
    if (own.is_before(best)) best = own;
  }
  of_thread[threadIdx.x] = best;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half && of_thread[threadIdx.x + half].is_before(of_thread[threadIdx.x]))
      of_thread[threadIdx.x] = of_thread[threadIdx.x + half];
  }
  if (threadIdx.x == 0) centre[c] = last > first ? static_cast<double>(numbers[of_thread[0].run]) : nan;
}

template <class T>
__global__ void read_medians(SortedColumns<T> sorted, double nan, double* centre) {
  const std::int64_t c = own_item();
  if (c >= sorted.cols) return;
  const std::int64_t count = sorted.present[c];
  const T* const column = sorted.values + c * sorted.n;
  if (count == 0) centre[c] = nan;
  else if (count % 2 == 1) centre[c] = static_cast<double>(column[count / 2]);
  else centre[c] = (static_cast<double>(column[count / 2 - 1]) + static_cast<double>(column[count / 2])) / 2;
}

// One thread sums one column over one tile: x - origin, and how many.
template <class T>
__global__ void sum_present(Selection<T> X, ColumnChoice<T> choice, const double* origin, double* sums) {
  const std::int64_t j = block_y() * blockDim.x + threadIdx.x, tile = blockIdx.x;
  if (j >= X.cols) return;
  const double from = origin ? origin[j] : 0.0;
  double sum = 0, count = 0;
  for (std::int64_t i = tile * kRowTile; i < X.n && i < (tile + 1) * kRowTile; ++i) {
    const T x = X.row(i)[j];
    if (choice.lacks(x, j)) continue;
    sum += static_cast<double>(x) - from;
    count += 1;
  }
  sums[tile * 2 * X.cols + j] = sum;
  sums[tile * 2 * X.cols + X.cols + j] = count;
}

// centre = sum / count, on the second pass plus what it was. Without a mean: NaN.
__global__ void finish_centres(std::int64_t cols, const double* sums, bool has_mean, bool adds, double nan,
                               double* centre, std::int64_t* present) {
  const std::int64_t j = own_item();
  if (j >= cols) return;
  const double count = sums[cols + j];
  present[j] = static_cast<std::int64_t>(count);
  centre[j] = has_mean && count > 0 ? (adds ? centre[j] : 0.0) + sums[j] / count : nan;
}

// Some columns of a table, sorted.
template <class T>
struct Batch {
  Matrix<T> values;
  Array<std::int64_t> present;
  SortedColumns<T> sorted() const { return {raw(values), raw(present), values.cols(), values.rows()}; }
};

std::int64_t batch_columns(std::int64_t n, std::int64_t cols) {
  return std::clamp<std::int64_t>(kBatchCells / std::max<std::int64_t>(n, 1), 1, std::min(cols, kBatchColumns));
}

template <class T>
Batch<T> sorted_batch(CudaRuntime& runtime, DeviceLibraries& libraries, const Selection<T>& X,
                      const ColumnChoice<T>& choice) {
  Batch<T> batch{Matrix<T>(runtime, choice.n, X.n), Array<std::int64_t>(runtime, choice.n)};
  batch.present.zero();
  KEDGE_LAUNCH(runtime, take_present<T>, dim3(blocks_for(X.n, kSide), blocks_for(choice.n, kSide)),
               dim3(kSide, kSideRows), 0, X, choice, std::numeric_limits<T>::infinity(), batch.values.data(),
               reinterpret_cast<unsigned long long*>(raw(batch.present)));
  libraries.sort_rows(batch.values.view());
  return batch;
}

// The runs of a batch; offsets[c] .. offsets[c + 1] - 1 are those of its column c.
template <class T>
struct Runs {
  std::vector<std::int64_t> host_offsets;
  Array<std::int64_t> offsets, places;
  Array<T> numbers;
};

template <class T>
Runs<T> runs_of(CudaRuntime& runtime, const Batch<T>& batch) {
  const SortedColumns<T> sorted = batch.sorted();
  const std::int64_t tiles = tiles_of(sorted.n, kThreads);
  const dim3 grid(blocks_for(sorted.n, kThreads), static_cast<unsigned>(sorted.cols));
  Array<std::int64_t> starts(runtime, sorted.cols * tiles), counts(runtime, sorted.cols);
  KEDGE_LAUNCH(runtime, count_runs<T>, grid, kThreads, 0, sorted, tiles, starts.data());
  KEDGE_LAUNCH(runtime, place_tiles, static_cast<unsigned>(sorted.cols), kThreads, 0, tiles, starts.data(),
               counts.data());
  Runs<T> runs{{0}, {}, {}, {}};
  for (const std::int64_t count : counts.to_host()) runs.host_offsets.push_back(runs.host_offsets.back() + count);
  runs.offsets = Array<std::int64_t>(runtime, std::span<const std::int64_t>(runs.host_offsets));
  runs.places = Array<std::int64_t>(runtime, runs.host_offsets.back());
  runs.numbers = Array<T>(runtime, runs.host_offsets.back());
  KEDGE_LAUNCH(runtime, write_runs<T>, grid, kThreads, 0, sorted, tiles, starts.data(), runs.offsets.data(),
               runs.numbers.data(), runs.places.data());
  return runs;
}

template <class T>
void put_means(CudaRuntime& runtime, bool wants_mean, const Selection<T>& X, const T* missing, double* centre,
               std::int64_t* present) {
  const std::int64_t tiles = tiles_of(X.n, kRowTile);
  const ColumnChoice<T> choice{nullptr, missing, 0, X.cols};
  Array<double> partial(runtime, tiles * 2 * X.cols), sums(runtime, 2 * X.cols);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool again : {false, true}) {   // the second pass takes up what the first has lost
    if (again && !wants_mean) break;
    KEDGE_LAUNCH(runtime, sum_present<T>,
                 tall_grid(runtime, blocks_for(X.n, kRowTile), blocks_for(X.cols, kColumnThreads)), kColumnThreads, 0,
                 X, choice, again ? centre : nullptr, partial.data());
    sum_tables(runtime, raw(partial), tiles, 2 * X.cols, raw(sums));
    KEDGE_LAUNCH(runtime, finish_centres, blocks_for(X.cols, 128), 128, 0, X.cols, sums.data(), wants_mean, again, nan,
                 centre, present);
  }
}

}   // namespace

template <class T>
void column_centres(CudaRuntime& runtime, DeviceLibraries& libraries, ColumnCentre kind, const Selection<T>& X,
                    const T* missing, double* centre, std::int64_t* present) {
  if (kind == ColumnCentre::kNone || kind == ColumnCentre::kMean)
    return put_means(runtime, kind == ColumnCentre::kMean, X, missing, centre, present);
  const std::int64_t step = batch_columns(X.n, X.cols);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t first = 0; first < X.cols; first += step) {
    const std::int64_t cols = std::min(step, X.cols - first);
    const Batch<T> batch = sorted_batch(runtime, libraries, X, ColumnChoice<T>{nullptr, missing, first, cols});
    runtime.copy(present + first, batch.present.data(), static_cast<std::size_t>(cols) * sizeof(std::int64_t));
    if (kind == ColumnCentre::kMedian) {
      KEDGE_LAUNCH(runtime, read_medians<T>, blocks_for(cols, 128), 128, 0, batch.sorted(), nan, centre + first);
      continue;
    }
    const Runs<T> runs = runs_of(runtime, batch);
    KEDGE_LAUNCH(runtime, find_modes<T>, static_cast<unsigned>(cols), kThreads, 0, runs.numbers.data(),
                 runs.places.data(), runs.offsets.data(), batch.present.data(), nan, centre + first);
  }
}

template <class T>
std::vector<NumberCounts<T>> count_numbers(CudaRuntime& runtime, DeviceLibraries& libraries, const Selection<T>& X,
                                           std::span<const std::int32_t> columns) {
  std::vector<NumberCounts<T>> result;
  const Array<std::int32_t> chosen(runtime, columns);
  const std::int64_t all = chosen.size(), step = batch_columns(X.n, all);
  for (std::int64_t first = 0; first < all; first += step) {
    const std::int64_t cols = std::min(step, all - first);
    const Batch<T> batch = sorted_batch(runtime, libraries, X, ColumnChoice<T>{raw(chosen), nullptr, first, cols});
    const Runs<T> runs = runs_of(runtime, batch);
    const std::vector<std::int64_t> places = runs.places.to_host(), present = batch.present.to_host();
    const std::vector<T> numbers = runs.numbers.to_host();
    for (std::int64_t c = 0; c < cols; ++c) {
      const auto at = static_cast<std::size_t>(c);
      const auto begin = static_cast<std::size_t>(runs.host_offsets[at]),
                 end = static_cast<std::size_t>(runs.host_offsets[at + 1]);
      NumberCounts<T>& counts = result.emplace_back();
      counts.missing = X.n - present[at];
      for (std::size_t r = begin; r < end; ++r) {
        counts.numbers.push_back(numbers[r]);
        counts.counts.push_back((r + 1 < end ? places[r + 1] : present[at]) - places[r]);
      }
    }
  }
  return result;
}

template void column_centres(CudaRuntime&, DeviceLibraries&, ColumnCentre, const Selection<float>&, const float*,
                             double*, std::int64_t*);
template void column_centres(CudaRuntime&, DeviceLibraries&, ColumnCentre, const Selection<double>&, const double*,
                             double*, std::int64_t*);
template std::vector<NumberCounts<float>> count_numbers(CudaRuntime&, DeviceLibraries&, const Selection<float>&,
                                                        std::span<const std::int32_t>);
template std::vector<NumberCounts<double>> count_numbers(CudaRuntime&, DeviceLibraries&, const Selection<double>&,
                                                         std::span<const std::int32_t>);

}   // namespace kedge::engine
