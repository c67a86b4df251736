// Binning for boosting on the device: the edges and the codes of host/boost_table.cc, bit for bit. The device sorts and
// looks values up, the host makes edges of the few that it needs.
#include <algorithm>
#include <utility>

#include "engine/backend/cuda/trees/bin_columns.cuh"
#include "engine/backend/cuda/trees/ready_boost.h"

namespace kedge::engine {
namespace {

constexpr int kPlaces = 256;                  // of edges of a column, and threads that code one
constexpr std::int64_t kRowsOfBlock = 4096;   // that a block codes

// Of a column, by which the host makes its edges.
struct ColumnValues {
  std::int64_t n = 0;            // values that are there
  std::int32_t n_distinct = 0;   // kPlaces: so many, or more than are wanted
};

// The first distinct values of sorted columns, one more than max_bins at most, or if they are more than max_bins the
// values at the places of edges: low, then high. One warp each; the n - missing first values of a column are there.
template <class T>
__global__ void read_sorted_columns(const T* sorted, std::int64_t n, const std::int32_t* missing, int max_bins,
                                    ColumnValues* found, double* low, double* high) {
  const std::int64_t col = blockIdx.x, present = n - missing[col];
  const T* const values = sorted + col * n;
  const int lane = static_cast<int>(threadIdx.x);
  double *const own_low = low + col * kPlaces, *const own_high = high + col * kPlaces;
  std::int32_t distinct = 0;
  for (std::int64_t at = 0; at < present && distinct <= max_bins; ++distinct) {
    if (lane == 0) own_low[distinct] = values[at];
    at = first_above(values, at + 1, present, values[at]);
  }
  if (lane == 0) found[col] = {present, distinct};
  if (distinct <= max_bins) return;
  __syncthreads();
  for (int i = 1 + lane; i < max_bins; i += 32) {
    const QuantilePlace place = quantile_place(present, max_bins, i);
    own_low[i - 1] = values[place.low], own_high[i - 1] = values[place.high];
  }
}

// The number of edges below each value, by halving; missing values have the code behind the last bin.
template <class T>
__global__ void code_columns(const T* columns, std::int64_t n, const T* edges, const std::int32_t* n_bins,
                             std::uint8_t* codes) {
  __shared__ T own[kPlaces];
  const std::int64_t col = blockIdx.y, first = std::int64_t{blockIdx.x} * kRowsOfBlock;
  own[threadIdx.x] = edges[col * kPlaces + threadIdx.x];
  __syncthreads();
  const auto missing = static_cast<std::uint8_t>(n_bins[col]);
  for (std::int64_t i = first + threadIdx.x; i < min(n, first + kRowsOfBlock); i += kPlaces) {
    const T value = columns[col * n + i];
    int at = 0;
    for (int step = kPlaces / 2; step > 0; step /= 2) at += own[at + step - 1] < value ? step : 0;
    codes[col * n + i] = value != value ? missing : static_cast<std::uint8_t>(at);
  }
}

// The columns with their edges, from the rows that `binning` draws.
template <class T>
std::vector<BoostColumn> find_columns(CudaRuntime& runtime, DeviceLibraries& libraries, RowChoice<T> from,
                                      const BoostBinning& binning) {
  const Array<std::int32_t> drawn(runtime, binning.drawn);
  if (drawn.size() > 0) from.picks = raw(drawn), from.n = drawn.size();
  from.fill = std::numeric_limits<T>::infinity();   // sorted behind all others
  const std::int64_t n_cols = from.X.cols, most = columns_together(runtime, from.n, n_cols, sizeof(T));
  Array<T> columns(runtime, most * from.n);
  Array<std::int32_t> missing(runtime, n_cols);
  Array<ColumnValues> found(runtime, n_cols);
  Array<double> places(runtime, 2 * n_cols * kPlaces);
  double *const low = raw(places), *const high = low + n_cols * kPlaces;
  missing.zero(), places.zero();
  for (std::int64_t first = 0; first < n_cols; first += most) {
    const std::int64_t width = std::min(most, n_cols - first);
    take_columns(runtime, from, first, width, columns, missing.data() + first);
    libraries.sort_rows(MatrixView<T>(columns.data(), width, from.n));
    KEDGE_LAUNCH(runtime, read_sorted_columns<T>, static_cast<unsigned>(width), 32, 0, columns.data(), from.n,
                 missing.data() + first, binning.max_bins, found.data() + first, low + first * kPlaces,
                 high + first * kPlaces);
  }
  const std::vector<ColumnValues> values = found.to_host();
  const std::vector<double> at = places.to_host();
  std::vector<BoostColumn> result(values.size());
  for (std::size_t j = 0; j < result.size(); ++j) {
    const std::span<const double> lows(at.data() + j * kPlaces, kPlaces),
        highs(at.data() + (result.size() + j) * kPlaces, kPlaces);
    const auto [n, n_distinct] = values[j];
    result[j].edges = n_distinct <= binning.max_bins ? value_edges(lows.first(static_cast<std::size_t>(n_distinct)))
                                                     : quantile_edges(n, binning.max_bins, lows, highs);
  }
  return result;
}

// The codes of all rows, and which columns have missing values.
template <class T>
BoostCodes put_codes(CudaRuntime& runtime, const RowChoice<T>& from, std::vector<BoostColumn> columns,
                     bool notes_missing) {
  const std::int64_t n = from.n, n_cols = from.X.cols, most = columns_together(runtime, n, n_cols, sizeof(T));
  std::vector<T> edges;
  std::vector<std::int32_t> n_bins;
  for (const BoostColumn& column : columns) {
    const auto of_column = cell_edges<T>(column);
    edges.insert(edges.end(), of_column.begin(), of_column.end()), n_bins.push_back(column.n_bins());
  }
  const Array<T> device_edges(runtime, std::span<const T>(edges));
  const Array<std::int32_t> device_bins(runtime, std::span<const std::int32_t>(n_bins));
  Array<T> values(runtime, most * n);
  Array<std::int32_t> missing(runtime, n_cols);
  missing.zero();
  BoostCodes made{.n_rows = n, .columns = std::move(columns), .codes = Array<std::uint8_t>(runtime, n * n_cols)};
  for (std::int64_t first = 0; first < n_cols; first += most) {
    const std::int64_t width = std::min(most, n_cols - first);
    take_columns(runtime, from, first, width, values, missing.data() + first);
    KEDGE_LAUNCH(runtime, code_columns<T>, dim3(blocks_for(n, kRowsOfBlock), static_cast<unsigned>(width)), kPlaces, 0,
                 values.data(), n, device_edges.data() + first * kPlaces, device_bins.data() + first,
                 made.codes.data() + first * n);
  }
  if (!notes_missing) return made;
  const std::vector<std::int32_t> counts = missing.to_host();
  for (std::size_t j = 0; j < counts.size(); ++j) made.columns[j].has_missing = counts[j] > 0;
  return made;
}

// The rows in the device's memory, which must outlive the choice.
template <class T>
RowChoice<T> choice_of(const BoostCells<T>& cells, const Array<std::int32_t>& rows) {
  return {.X = cells.X, .n = cells.n_rows(), .rows = rows.size() > 0 ? raw(rows) : nullptr};
}

}   // namespace

template <class T>
BoostCodes bin_boosting(CudaRuntime& runtime, DeviceLibraries& libraries, const BoostCells<T>& cells,
                        const BoostBinning& binning) {
  const Array<std::int32_t> rows(runtime, cells.rows);
  const RowChoice<T> from = choice_of(cells, rows);
  return put_codes(runtime, from, find_columns(runtime, libraries, from, binning), true);
}

template <class T>
BoostCodes code_boosting(CudaRuntime& runtime, const BoostCells<T>& cells, const std::vector<BoostColumn>& columns) {
  const Array<std::int32_t> rows(runtime, cells.rows);
  return put_codes(runtime, choice_of(cells, rows), columns, false);
}

template BoostCodes bin_boosting(CudaRuntime&, DeviceLibraries&, const BoostCells<float>&, const BoostBinning&);
template BoostCodes bin_boosting(CudaRuntime&, DeviceLibraries&, const BoostCells<double>&, const BoostBinning&);
template BoostCodes code_boosting(CudaRuntime&, const BoostCells<float>&, const std::vector<BoostColumn>&);
template BoostCodes code_boosting(CudaRuntime&, const BoostCells<double>&, const std::vector<BoostColumn>&);

}   // namespace kedge::engine
