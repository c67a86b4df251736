// Sparse rows on the GPU: one warp a row. cuSPARSE is not used: it sums in the dtype, and in its own order. All ops but the
// transpose are bound by reading the entries (and for products the rows of B that they name) once.
#include "engine/backend/raw.h"
#include "engine/backend/sparse_functors.h"

#include <limits>
#include <vector>

#include "engine/backend/column_functors.h"
#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/tables/row_norm.cuh"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128;

__device__ std::int64_t row_at(const std::int32_t* rows, std::int64_t i) { return rows ? std::int64_t{rows[i]} : i; }
const std::int32_t* or_null(VectorView<const std::int32_t> v) {
  return v.empty() ? nullptr : raw(v);
}
const double* or_null(VectorView<const double> v) {
  return v.empty() ? nullptr : raw(v);
}

template <class T>
__global__ void row_sizes(CsrView<const T> A, const std::int32_t* rows, std::int64_t n, std::int64_t* sizes) {
  const std::int64_t i = own_item();
  if (i >= n) return;
  const std::int64_t row = row_at(rows, i);
  sizes[i] = raw(A.offsets)[row + 1] - raw(A.offsets)[row];
}

template <class T>
__global__ void gather_entries(CsrView<const T> A, const std::int32_t* rows, const double* scale, CsrView<T> out) {
  const std::int64_t i = own_row();
  if (i >= out.rows) return;
  const std::int64_t row = row_at(rows, i), from = raw(A.offsets)[row], n = raw(A.offsets)[row + 1] - from,
                     to = raw(out.offsets)[i];
  for (std::int64_t e = threadIdx.x; e < n; e += kLanes) {
    const std::int32_t column = raw(A.columns)[from + e];
    raw(out.columns)[to + e] = column;
    raw(out.values)[to + e] = scaled_entry(raw(A.values)[from + e], scale, column);
  }
}

// Which row each entry belongs to, and its number.
template <class T>
__global__ void number_entries(CsrView<const T> A, std::int32_t* row_of, std::int32_t* numbers) {
  const std::int64_t i = own_row();
  if (i >= A.rows) return;
  for (std::int64_t e = raw(A.offsets)[i] + threadIdx.x; e < raw(A.offsets)[i + 1]; e += kLanes) {
    row_of[e] = static_cast<std::int32_t>(i);
    numbers[e] = static_cast<std::int32_t>(e);
  }
}

template <class T>
__global__ void place_entries(CsrView<const T> A, const std::int32_t* row_of, const std::int32_t* numbers, CsrView<T> out) {
  const std::int64_t to = own_item();
  if (to >= A.values.size) return;
  raw(out.columns)[to] = row_of[numbers[to]];
  raw(out.values)[to] = raw(A.values)[numbers[to]];
}

// offsets[j] = how many sorted keys are below j.
__global__ void find_offsets(const std::int32_t* keys, std::int64_t n, std::int64_t rows, std::int64_t* offsets) {
  const std::int64_t j = own_item();
  if (j > rows) return;
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (keys[middle] < j) low = middle + 1;
    else high = middle;
  }
  offsets[j] = low;
}

template <class T>
__global__ void multiply_vector(CsrView<const T> A, const double* b, std::int64_t b_stride, double* c, std::int64_t c_stride) {
  const std::int64_t i = own_row();
  if (i >= A.rows) return;
  double sum = 0;
  for (std::int64_t e = raw(A.offsets)[i] + threadIdx.x; e < raw(A.offsets)[i + 1]; e += kLanes)
    sum += static_cast<double>(raw(A.values)[e]) * b[raw(A.columns)[e] * b_stride];
  sum = fold_lanes(sum);
  if (threadIdx.x == 0) c[i * c_stride] = sum;
}

// One thread a column of B, so that neighbours read neighbours.
template <class T>
__global__ void multiply_matrix(CsrView<const T> A, MatrixView<const double> B, MatrixView<double> C) {
  const std::int64_t i = own_row();
  if (i >= A.rows) return;
  for (std::int64_t j = threadIdx.x; j < B.cols; j += blockDim.x) {
    double sum = 0;
    for (std::int64_t e = raw(A.offsets)[i]; e < raw(A.offsets)[i + 1]; ++e)
      sum += static_cast<double>(raw(A.values)[e]) * raw(B)[raw(A.columns)[e] * B.stride + j];
    raw(C)[i * C.stride + j] = sum;
  }
}

template <class T>
__global__ void row_moments(CsrView<const T> A, const double* weights, const double* total, double* mean, double* variance) {
  const std::int64_t i = own_row();
  if (i >= A.rows) return;
  const std::int64_t begin = raw(A.offsets)[i], end = raw(A.offsets)[i + 1];
  double sum = 0, weight = 0, squares = 0;
  for (std::int64_t e = begin + threadIdx.x; e < end; e += kLanes) {
    const double w = weights ? weights[raw(A.columns)[e]] : 1.0;
    weight += w;
    sum += w * static_cast<double>(raw(A.values)[e]);
  }
  const double all = weights ? *total : static_cast<double>(A.cols);
  const double m = __shfl_sync(kFullWarp, fold_lanes(sum), 0) / all;
  weight = fold_lanes(weight);
  for (std::int64_t e = begin + threadIdx.x; e < end; e += kLanes) {
    const double away = static_cast<double>(raw(A.values)[e]) - m;
    squares += (weights ? weights[raw(A.columns)[e]] : 1.0) * away * away;
  }
  squares = fold_lanes(squares);
  if (threadIdx.x != 0) return;
  mean[i] = m;
  variance[i] = sparse_variance(squares, m, {weight, all}, end - begin == A.cols);
}

template <class T>
__global__ void row_range(CsrView<const T> A, T infinity, T* minimum, T* maximum) {
  const std::int64_t i = own_row();
  if (i >= A.rows) return;
  const std::int64_t begin = raw(A.offsets)[i], end = raw(A.offsets)[i + 1];
  T low = end - begin < A.cols ? T{0} : infinity, high = end - begin < A.cols ? T{0} : -infinity;
  for (std::int64_t e = begin + threadIdx.x; e < end; e += kLanes) {
    const T x = raw(A.values)[e];
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  for (int width = kLanes / 2; width > 0; width /= 2) {
    const T other_low = __shfl_down_sync(kFullWarp, low, width), other_high = __shfl_down_sync(kFullWarp, high, width);
    low = other_low < low ? other_low : low;
    high = other_high > high ? other_high : high;
  }
  if (threadIdx.x == 0) minimum[i] = low, maximum[i] = high;
}

template <class T>
__global__ void fill_dense(CsrView<const T> A, const std::int32_t* rows, const double* shift, const double* scale, MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= out.rows) return;
  T* const row = raw(out) + i * out.stride;
  for (std::int64_t j = threadIdx.x; j < A.cols; j += kLanes) row[j] = shift ? affine(T{0}, shift, scale, j) : T{0};
  __syncwarp(kFullWarp);
  const std::int64_t from = row_at(rows, i);
  for (std::int64_t e = raw(A.offsets)[from] + threadIdx.x; e < raw(A.offsets)[from + 1]; e += kLanes) {
    const std::int32_t j = raw(A.columns)[e];
    row[j] = affine(raw(A.values)[e], shift, scale, j);
  }
}

template <class T>
__global__ void divide_by_norm(RowNorm norm, CsrView<T> A) {
  const std::int64_t i = own_row();
  if (i >= A.rows) return;
  const std::int64_t begin = raw(A.offsets)[i];
  divide_values(norm, raw(A.values) + begin, raw(A.offsets)[i + 1] - begin);
}

template <class T>
class CudaSparse final : public SparseOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  // The sizes are summed on the host, which has to know the last sum anyway.
  std::int64_t offsets(CsrView<const T> A, VectorView<const std::int32_t> rows,
                       VectorView<std::int64_t> offsets) override {
    CudaRuntime& runtime = runtime_;
    const std::int64_t n = offsets.size - 1;
    KEDGE_LAUNCH(runtime, row_sizes<T>, blocks_for(n, kThreads), kThreads, 0, A, or_null(rows), n, raw(offsets) + 1);
    std::vector<std::int64_t> host(static_cast<std::size_t>(n + 1), 0);
    if (n > 0) runtime.to_host(host.data() + 1, raw(offsets) + 1, static_cast<std::size_t>(n) * sizeof(std::int64_t));
    for (std::size_t i = 1; i < host.size(); ++i) host[i] += host[i - 1];
    runtime.to_device(raw(offsets), host.data(), host.size() * sizeof(std::int64_t));
    runtime.synchronize();   // host goes away
    return host.back();
  }

  void gather(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<const double> scale,
              CsrView<T> out) override {
    KEDGE_LAUNCH(runtime_, gather_entries<T>, row_blocks(out.rows, kLanes), row_block(kLanes), 0, A, or_null(rows),
                 or_null(scale), out);
  }

  // A stable sort of the entries by column keeps rows ascending in each.
  void transpose(CsrView<const T> A, CsrView<T> out) override {
    CudaRuntime& runtime = runtime_;
    const std::int64_t n = A.n_entries();
    Array<std::int32_t> keys(runtime, n), numbers(runtime, n), row_of(runtime, n);
    if (n > 0) runtime.copy(keys.data(), raw(A.columns), static_cast<std::size_t>(n) * sizeof(std::int32_t));
    KEDGE_LAUNCH(runtime, number_entries<T>, row_blocks(A.rows, kLanes), row_block(kLanes), 0, A, row_of.data(),
                 numbers.data());
    libraries_.sort_pairs(raw(keys), raw(numbers), n);
    KEDGE_LAUNCH(runtime, place_entries<T>, blocks_for(n, kThreads), kThreads, 0, A, row_of.data(), numbers.data(),
                 out);
    KEDGE_LAUNCH(runtime, find_offsets, blocks_for(A.cols + 1, kThreads), kThreads, 0, keys.data(), n, A.cols,
                 raw(out.offsets));
  }

  void multiply(CsrView<const T> A, MatrixView<const double> B, MatrixView<double> C) override {
    if (B.cols == 1)
      KEDGE_LAUNCH(runtime_, multiply_vector<T>, row_blocks(A.rows, kLanes), row_block(kLanes), 0, A, raw(B), B.stride,
                   raw(C), C.stride);
    else KEDGE_LAUNCH(runtime_, multiply_matrix<T>, row_blocks(A.rows, B.cols), row_block(B.cols), 0, A, B, C);
  }

  void moments(CsrView<const T> A, VectorView<const double> weights, VectorView<double> mean,
               VectorView<double> variance) override {
    Array<double> total(runtime_, 1);
    if (!weights.empty()) sum_values(runtime_, raw(weights), weights.size, raw(total));
    KEDGE_LAUNCH(runtime_, row_moments<T>, row_blocks(A.rows, kLanes), row_block(kLanes), 0, A, or_null(weights),
                 total.data(), raw(mean), raw(variance));
  }

  void range(CsrView<const T> A, VectorView<T> minimum, VectorView<T> maximum) override {
    KEDGE_LAUNCH(runtime_, row_range<T>, row_blocks(A.rows, kLanes), row_block(kLanes), 0, A,
                 std::numeric_limits<T>::infinity(), raw(minimum), raw(maximum));
  }

  void to_dense(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<const double> shift,
                VectorView<const double> scale, MatrixView<T> out) override {
    KEDGE_LAUNCH(runtime_, fill_dense<T>, row_blocks(out.rows, kLanes), row_block(kLanes), 0, A, or_null(rows),
                 or_null(shift), or_null(scale), out);
  }

  void normalize(RowNorm norm, CsrView<T> A) override {
    KEDGE_LAUNCH(runtime_, divide_by_norm<T>, row_blocks(A.rows, kLanes), row_block(kLanes), 0, norm, A);
  }
};

}   // namespace

template <class T>
std::unique_ptr<SparseOps<T>> make_cuda_sparse(const CudaParts<T>& parts) {
  return std::make_unique<CudaSparse<T>>(parts);
}
template std::unique_ptr<SparseOps<float>> make_cuda_sparse<float>(const CudaParts<float>&);
template std::unique_ptr<SparseOps<double>> make_cuda_sparse<double>(const CudaParts<double>&);

}  // namespace kedge::engine
