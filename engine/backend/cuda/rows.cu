// Row-wise ops on the GPU. Rows of class scores are short: one thread takes one, and the caches make up for the stride.
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/cuda/sums.cuh"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128;

template <class T>
__global__ void put_normal(std::uint64_t seed, std::uint64_t stream, T* out, std::int64_t n, std::int64_t cols, std::int64_t stride) {
  const std::int64_t i = own_item();
  if (2 * i >= n) return;
  const NormalPair pair = normal_pair(seed, stream, static_cast<std::uint64_t>(i));
  out[2 * i / cols * stride + 2 * i % cols] = static_cast<T>(pair.first);
  if (2 * i + 1 < n) out[(2 * i + 1) / cols * stride + (2 * i + 1) % cols] = static_cast<T>(pair.second);
}

template <class T>
__global__ void add_vector(const T* v, T* Z, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  const std::int64_t i = own_row();
  if (i >= rows) return;
  for (std::int64_t j = threadIdx.x; j < cols; j += blockDim.x) Z[i * stride + j] += v[j];
}

template <class T>
__global__ void tile_columns(const T* Z, std::int64_t rows, std::int64_t cols, std::int64_t stride, double* sums) {
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x, tile = blockIdx.x;
  if (j >= cols) return;
  double sum = 0;
  for (std::int64_t i = tile * kRowTile; i < rows && i < (tile + 1) * kRowTile; ++i) sum += static_cast<double>(Z[i * stride + j]);
  sums[tile * cols + j] = sum;
}

// One warp a row.
template <class T>
__global__ void norms_of_rows(const T* X, std::int64_t rows, std::int64_t cols, std::int64_t stride, T* norms) {
  const std::int64_t i = own_row();
  if (i >= rows) return;
  double sum = 0;
  for (std::int64_t j = threadIdx.x; j < cols; j += kLanes) {
    const double x = static_cast<double>(X[i * stride + j]);
    sum += x * x;
  }
  sum = fold_lanes(sum);
  if (threadIdx.x == 0) norms[i] = static_cast<T>(sum);
}

template <class T>
__global__ void softmax(T* Z, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  const std::int64_t i = own_item();
  if (i < rows) softmax_row(Z + i * stride, cols);
}

template <class T>
__global__ void argmax(const T* Z, std::int64_t rows, std::int64_t cols, std::int64_t stride, std::int32_t* out) {
  const std::int64_t i = own_item();
  if (i < rows) out[i] = argmax_row(Z + i * stride, cols);
}

template <class T>
__global__ void logistic(T* Z, std::int64_t rows, std::int64_t cols, std::int64_t stride, const T* b, const std::int32_t* y,
                         const double* weights, double* losses) {
  const std::int64_t i = own_item();
  if (i < rows) losses[i] = logistic_row(Z + i * stride, cols, b, y[i], weights ? weights[i] : 1.0);
}

template <class T>
__global__ void curvature(const T* Z, std::int64_t rows, std::int64_t cols, std::int64_t stride, const T* b, const double* weights, double* W,
                          std::int64_t w_stride) {
  const std::int64_t i = own_item();
  if (i < rows) curvature_row(Z + i * stride, cols, b, weights ? weights[i] : 1.0, W + i * w_stride);
}

}  // namespace

template <class T>
void CudaRows<T>::fill_normal(std::uint64_t seed, std::uint64_t stream, MatrixView<T> out) {
  KEDGE_LAUNCH(this->runtime_, put_normal<T>, blocks_for(out.size(), 2 * kThreads), kThreads, 0, seed, stream, out.data, out.size(),
               out.cols, out.stride);
}

template <class T>
void CudaRows<T>::add_to_rows(VectorView<const T> v, MatrixView<T> Z) {
  KEDGE_LAUNCH(this->runtime_, add_vector<T>, row_blocks(Z.rows, Z.cols), row_block(Z.cols), 0, v.data, Z.data, Z.rows, Z.cols, Z.stride);
}

template <class T>
void CudaRows<T>::column_sums(MatrixView<const T> Z, VectorView<double> sums) {
  const std::int64_t tiles = tiles_of(Z.rows, kRowTile);
  Array<double> partial(this->runtime_, tiles * Z.cols);
  KEDGE_LAUNCH(this->runtime_, tile_columns<T>, dim3(blocks_for(Z.rows, kRowTile), blocks_for(Z.cols, 64)), 64, 0, Z.data, Z.rows, Z.cols,
               Z.stride, partial.data());
  sum_tables(this->runtime_, partial.data(), tiles, Z.cols, sums.data);
}

template <class T>
void CudaRows<T>::row_squared_norms(MatrixView<const T> X, VectorView<T> norms) {
  KEDGE_LAUNCH(this->runtime_, norms_of_rows<T>, blocks_for(X.rows, 8), dim3(kLanes, 8), 0, X.data, X.rows, X.cols, X.stride, norms.data);
}

template <class T>
void CudaRows<T>::softmax_rows(MatrixView<T> Z) {
  if (Z.cols == 0) return;
  KEDGE_LAUNCH(this->runtime_, softmax<T>, blocks_for(Z.rows, kThreads), kThreads, 0, Z.data, Z.rows, Z.cols, Z.stride);
}

template <class T>
void CudaRows<T>::argmax_rows(MatrixView<const T> Z, VectorView<std::int32_t> out) {
  KEDGE_LAUNCH(this->runtime_, argmax<T>, blocks_for(Z.rows, kThreads), kThreads, 0, Z.data, Z.rows, Z.cols, Z.stride, out.data);
}

template <class T>
double CudaRows<T>::logistic_loss(MatrixView<T> Z, VectorView<const T> b, VectorView<const std::int32_t> y,
                                  VectorView<const double> weights) {
  Array<double> losses(this->runtime_, Z.rows), total(this->runtime_, 1);
  KEDGE_LAUNCH(this->runtime_, logistic<T>, blocks_for(Z.rows, kThreads), kThreads, 0, Z.data, Z.rows, Z.cols, Z.stride,
               b.empty() ? nullptr : b.data, y.data, weights.empty() ? nullptr : weights.data, losses.data());
  sum_values(this->runtime_, losses.data(), Z.rows, total.data());
  return total.to_host()[0];
}

template <class T>
void CudaRows<T>::logistic_curvature(MatrixView<const T> Z, VectorView<const T> b, VectorView<const double> weights, MatrixView<double> W) {
  KEDGE_LAUNCH(this->runtime_, curvature<T>, blocks_for(Z.rows, kThreads), kThreads, 0, Z.data, Z.rows, Z.cols, Z.stride,
               b.empty() ? nullptr : b.data, weights.empty() ? nullptr : weights.data, W.data, W.stride);
}

template class CudaRows<float>;
template class CudaRows<double>;

}  // namespace kedge::engine
