// Columns on the GPU: sorted (transposed first, so that a column is contiguous), their quantiles, their moments without what is
// missing. Bound by reading X, but for the sort.
#include <limits>

#include "engine/backend/column_functors.h"
#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/neighbours/selection.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/tables/column_counts.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kColumnThreads = 64, kCountThreads = 256, kSide = 32, kSideRows = 8;
constexpr unsigned long long kNone = ~0ull;

// out[j, i] = X[i, j], through square tiles in shared memory: both sides are read and written along their rows.
template <class T>
__global__ void transpose_rows(Selection<T> X, T* out, std::int64_t out_stride) {
  __shared__ T tile[kSide][kSide + 1];
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * kSide, first_col = block_y() * kSide;
  for (int r = static_cast<int>(threadIdx.y); r < kSide; r += kSideRows) {
    const std::int64_t i = first_row + r, j = first_col + threadIdx.x;
    if (i < X.n && j < X.cols) tile[r][threadIdx.x] = X.row(i)[j];
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.y); c < kSide; c += kSideRows) {
    const std::int64_t i = first_row + threadIdx.x, j = first_col + c;
    if (i < X.n && j < X.cols) out[j * out_stride + i] = tile[threadIdx.x][c];
  }
}

// One block a row: NaN becomes infinity, and what is left is counted.
template <class T>
__global__ void count_present(T* values, std::int64_t n, std::int64_t stride, T infinity, std::int64_t* present) {
  __shared__ std::int64_t of_warp[kCountThreads / 32];
  T* const row = values + static_cast<std::int64_t>(blockIdx.x) * stride;
  std::int64_t count = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    const T x = row[i];
    if (x == x)
      ++count;
    else
      row[i] = infinity;
  }
  for (int width = 16; width > 0; width /= 2) count += __shfl_down_sync(kFullWarp, count, width);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = count;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kCountThreads / 32; ++w) count += of_warp[w];
  present[blockIdx.x] = count;
}

template <class T>
__global__ void read_quantiles(const T* sorted, std::int64_t stride, const std::int64_t* present, const double* q,
                               std::int64_t n_q, std::int64_t cols, double nan, double* out, std::int64_t out_stride) {
  const std::int64_t item = own_item(), i = item / cols, j = item % cols;
  if (i >= n_q) return;
  double value = nan;
  if (present[j] > 0) {
    const T* const column = sorted + j * stride;
    const QuantilePlace place = quantile_place(q[i], present[j]);
    value = between(static_cast<double>(column[place.below]), static_cast<double>(column[place.above]), place.between);
  }
  out[i * out_stride + j] = value;
}

template <class T>
__global__ void find_first_present(Selection<T> X, unsigned long long* first) {
  const std::int64_t j = block_y() * blockDim.x + threadIdx.x, tile = blockIdx.x;
  if (j >= X.cols) return;
  for (std::int64_t i = tile * kRowTile; i < X.n && i < (tile + 1) * kRowTile; ++i) {
    const T x = X.row(i)[j];
    if (x != x) continue;
    atomicMin(first + j, static_cast<unsigned long long>(i));
    return;
  }
}

template <class T>
__global__ void read_origin(Selection<T> X, const unsigned long long* first, double nan, double* origin) {
  const std::int64_t j = own_item();
  if (j < X.cols) origin[j] = first[j] == kNone ? nan : static_cast<double>(X.row(static_cast<std::int64_t>(first[j]))[j]);
}

// One thread sums one column over one tile: w (x - origin), and w.
template <class T>
__global__ void present_deviations(Selection<T> X, const double* weights, const double* origin, double* sums) {
  const std::int64_t j = block_y() * blockDim.x + threadIdx.x, tile = blockIdx.x;
  if (j >= X.cols) return;
  double sum = 0, count = 0;
  for (std::int64_t i = tile * kRowTile; i < X.n && i < (tile + 1) * kRowTile; ++i) {
    const T x = X.row(i)[j];
    const double w = weights ? weights[i] : 1.0;
    sum += x == x ? w * (static_cast<double>(x) - origin[j]) : 0.0;
    count += x == x ? w : 0.0;
  }
  sums[tile * 2 * X.cols + j] = sum;
  sums[tile * 2 * X.cols + X.cols + j] = count;
}

template <class T>
__global__ void present_squares(Selection<T> X, const double* weights, const double* mean, double* sums) {
  const std::int64_t j = block_y() * blockDim.x + threadIdx.x, tile = blockIdx.x;
  if (j >= X.cols) return;
  double sum = 0, squares = 0;
  for (std::int64_t i = tile * kRowTile; i < X.n && i < (tile + 1) * kRowTile; ++i) {
    const T x = X.row(i)[j];
    const double deviation = x == x ? static_cast<double>(x) - mean[j] : 0.0, weighted = (weights ? weights[i] : 1.0) * deviation;
    sum += weighted;
    squares += weighted * deviation;
  }
  sums[tile * 2 * X.cols + j] = sum;
  sums[tile * 2 * X.cols + X.cols + j] = squares;
}

__global__ void finish_present_mean(std::int64_t cols, const double* sums, const double* origin, double* count, double* mean) {
  const std::int64_t j = own_item();
  if (j >= cols) return;
  count[j] = sums[cols + j];
  mean[j] = origin[j] + sums[j] / count[j];
}

__global__ void finish_present_variance(std::int64_t cols, const double* sums, const double* count, double* variance) {
  const std::int64_t j = own_item();
  if (j >= cols) return;
  const double value = (sums[cols + j] - sums[j] * sums[j] / count[j]) / count[j];
  variance[j] = value < 0 ? 0.0 : value;
}

template <class T>
class CudaColumns final : public ColumnOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  void sort_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, MatrixView<T> sorted,
                    VectorView<std::int64_t> present) override {
    const Selection<T> x = select(X, rows);
    KEDGE_LAUNCH(runtime_, transpose_rows<T>, tall_grid(runtime_, blocks_for(x.n, kSide), blocks_for(x.cols, kSide)),
                 dim3(kSide, kSideRows), 0, x, raw(sorted), sorted.stride);
    KEDGE_LAUNCH(runtime_, count_present<T>, static_cast<unsigned>(x.cols), kCountThreads, 0, raw(sorted), x.n,
                 sorted.stride, std::numeric_limits<T>::infinity(), raw(present));
    libraries_.sort_rows(sorted);
  }

  void column_quantiles(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> q,
                        MatrixView<double> out) override {
    const std::int64_t n = rows.empty() ? X.rows : rows.size;
    Matrix<T> sorted(runtime_, X.cols, n);
    Array<std::int64_t> present(runtime_, X.cols);
    sort_columns(X, rows, sorted.view(), present.view());
    KEDGE_LAUNCH(runtime_, read_quantiles<T>, blocks_for(q.size * X.cols, 128), 128, 0, sorted.data(), n,
                 present.data(), raw(q), q.size, X.cols, std::numeric_limits<double>::quiet_NaN(), raw(out),
                 out.stride);
  }

  void present_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> weights,
                       VectorView<double> count, VectorView<double> mean, VectorView<double> variance) override {
    const Selection<T> x = select(X, rows);
    const std::int64_t tiles = tiles_of(x.n, kRowTile), d = x.cols;
    const double* const w = weights.empty() ? nullptr : raw(weights);
    const dim3 grid = tall_grid(runtime_, blocks_for(x.n, kRowTile), blocks_for(d, kColumnThreads));
    const std::vector<unsigned long long> none(static_cast<std::size_t>(d), kNone);
    Array<unsigned long long> first(runtime_, none);
    Array<double> origin(runtime_, d), partial(runtime_, tiles * 2 * d), sums(runtime_, 2 * d);
    KEDGE_LAUNCH(runtime_, find_first_present<T>, grid, kColumnThreads, 0, x, first.data());
    KEDGE_LAUNCH(runtime_, read_origin<T>, blocks_for(d, 128), 128, 0, x, first.data(),
                 std::numeric_limits<double>::quiet_NaN(), origin.data());
    KEDGE_LAUNCH(runtime_, present_deviations<T>, grid, kColumnThreads, 0, x, w, origin.data(), partial.data());
    sum_tables(runtime_, raw(partial), tiles, 2 * d, raw(sums));
    KEDGE_LAUNCH(runtime_, finish_present_mean, blocks_for(d, 128), 128, 0, d, sums.data(), origin.data(), raw(count),
                 raw(mean));
    KEDGE_LAUNCH(runtime_, present_squares<T>, grid, kColumnThreads, 0, x, w, raw(mean), partial.data());
    sum_tables(runtime_, raw(partial), tiles, 2 * d, raw(sums));
    KEDGE_LAUNCH(runtime_, finish_present_variance, blocks_for(d, 128), 128, 0, d, sums.data(), raw(count),
                 raw(variance));
  }

  void column_centres(ColumnCentre centre_kind, MatrixView<const T> X, VectorView<const std::int32_t> rows,
                      VectorView<const T> missing, VectorView<double> centre,
                      VectorView<std::int64_t> present) override {
    engine::column_centres(runtime_, libraries_, centre_kind, select(X, rows), raw(missing), raw(centre), raw(present));
  }

  std::vector<NumberCounts<T>> count_numbers(MatrixView<const T> X, VectorView<const std::int32_t> rows,
                                             std::span<const std::int32_t> columns) override {
    return engine::count_numbers(runtime_, libraries_, select(X, rows), columns);
  }
};

}   // namespace

template <class T>
std::unique_ptr<ColumnOps<T>> make_cuda_columns(const CudaParts<T>& parts) {
  return std::make_unique<CudaColumns<T>>(parts);
}
template std::unique_ptr<ColumnOps<float>> make_cuda_columns<float>(const CudaParts<float>&);
template std::unique_ptr<ColumnOps<double>> make_cuda_columns<double>(const CudaParts<double>&);

}  // namespace kedge::engine
