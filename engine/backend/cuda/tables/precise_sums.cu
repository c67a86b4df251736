// Weighted sums and means that hold twice a double's bits: a block sums some rows of a column, its threads by turns,
// and one block a column adds the blocks. Every order is fixed. Bound by reading the column and the weights once.
#include "engine/backend/cuda/tables/precise_sums.cuh"

#include <algorithm>

#include "engine/backend/functors.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlockRows = 64 * kThreads, kMostColumns = 65535;   // of a grid, in y

// An unevaluated sum, |low| at most half a unit of high (Dekker 1971).
struct Wide {
  double high = 0, low = 0;
};

// Knuth's exact sum of two, renormalised.
__device__ inline Wide plus(Wide a, Wide b) {
  const double sum = a.high + b.high, part = sum - a.high;
  const double low = (a.high - (sum - part)) + (b.high - part) + a.low + b.low, high = sum + low;
  return {high, low - (high - sum)};
}
__device__ inline Wide product(double a, double b) {
  const double high = a * b;
  return {high, fma(a, b, -high)};
}
__device__ inline double quotient(Wide a, Wide b) {
  const double first = a.high / b.high;
  return first + (fma(-first, b.high, a.high) + a.low - first * b.low) / b.high;
}

// The sum of what the block's threads hold, in thread 0.
__device__ inline Wide fold_block(Wide own) {
  __shared__ double high[kThreads], low[kThreads];
  high[threadIdx.x] = own.high, low[threadIdx.x] = own.low;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    own = plus(own, {high[threadIdx.x + half], low[threadIdx.x + half]});
    high[threadIdx.x] = own.high, low[threadIdx.x] = own.low;
  }
  return own;
}

// Column Z.cols of `sums` has the weights themselves. sums: (cols + 1) x blocks.
template <class T>
__global__ void sum_blocks(MatrixView<const T> Z, const double* weights, std::int64_t first_column, Wide* sums) {
  const std::int64_t j = first_column + blockIdx.y, begin = static_cast<std::int64_t>(blockIdx.x) * kBlockRows,
                     end = begin + kBlockRows < Z.rows ? begin + kBlockRows : Z.rows;
  Wide own;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    const double z = j < Z.cols ? static_cast<double>(Z.data[i * Z.stride + j]) : 1.0;
    own = plus(own, weights ? product(weights[i], z) : Wide{z, 0});
  }
  own = fold_block(own);
  if (threadIdx.x == 0) sums[j * gridDim.x + blockIdx.x] = own;
}

__global__ void add_blocks(std::int64_t blocks, Wide* sums) {
  Wide* const of_column = sums + static_cast<std::int64_t>(blockIdx.x) * blocks;
  Wide own;
  for (std::int64_t b = threadIdx.x; b < blocks; b += kThreads) own = plus(own, of_column[b]);
  own = fold_block(own);
  if (threadIdx.x == 0) of_column[0] = own;
}

__global__ void round_sums(std::int64_t cols, std::int64_t blocks, const Wide* wide, double* sums) {
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (j < cols) sums[j] = wide[j * blocks].high;
}

__global__ void divide(std::int64_t cols, std::int64_t blocks, const Wide* sums, double* mean, double* total) {
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (j > cols) return;
  const Wide weights = sums[cols * blocks];
  if (j < cols) mean[j] = quotient(sums[j * blocks], weights);
  else total[0] = weights.high;
}

// The sums of the first `columns` columns of Z and the weights, each at the start of its row.
template <class T>
Matrix<Wide> wide_sums(CudaRuntime& runtime, MatrixView<const T> Z, const double* weights, std::int64_t columns) {
  Matrix<Wide> sums(runtime, columns, std::max<std::int64_t>(tiles_of(Z.rows, kBlockRows), 1));
  for (std::int64_t first = 0; first < columns; first += kMostColumns) {
    const auto count = static_cast<unsigned>(std::min(kMostColumns, columns - first));
    KEDGE_LAUNCH(runtime, sum_blocks<T>, dim3(static_cast<unsigned>(sums.cols()), count), kThreads, 0, Z, weights,
                 first, sums.data());
  }
  KEDGE_LAUNCH(runtime, add_blocks, static_cast<unsigned>(columns), kThreads, 0, sums.cols(), sums.data());
  return sums;
}

}   // namespace

template <class T>
void precise_means(CudaRuntime& runtime, MatrixView<const T> Z, const double* weights, double* mean, double* total) {
  const Matrix<Wide> sums = wide_sums(runtime, Z, weights, Z.cols + 1);
  KEDGE_LAUNCH(runtime, divide, blocks_for(sums.rows(), 128), 128, 0, Z.cols, sums.cols(), sums.data(), mean, total);
}

template <class T>
void precise_sums(CudaRuntime& runtime, MatrixView<const T> Z, const double* weights, double* sums) {
  const Matrix<Wide> wide = wide_sums(runtime, Z, weights, Z.cols);
  KEDGE_LAUNCH(runtime, round_sums, blocks_for(Z.cols, 128), 128, 0, Z.cols, wide.cols(), wide.data(), sums);
}

template void precise_means(CudaRuntime&, MatrixView<const float>, const double*, double*, double*);
template void precise_means(CudaRuntime&, MatrixView<const double>, const double*, double*, double*);
template void precise_sums(CudaRuntime&, MatrixView<const float>, const double*, double*);
template void precise_sums(CudaRuntime&, MatrixView<const double>, const double*, double*);

}   // namespace kedge::engine
