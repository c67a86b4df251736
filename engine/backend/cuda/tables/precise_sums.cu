// Weighted sums and means that hold twice a double's bits: a block sums some rows, its threads by turns, neighbours
// along a row, and one block a column adds the blocks. Every order is fixed. Bound by reading the table and the weights
// once.
#include "engine/backend/cuda/tables/precise_sums.cuh"

#include <algorithm>

#include "engine/backend/functors.h"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kThreadRows = 64;
constexpr int kAtOnce = 4;   // rows that a thread reads before it adds them

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

// The sum of what the threads with this threadIdx.x hold, in those with threadIdx.y = 0.
__device__ inline Wide fold_block(Wide own) {
  __shared__ double high[kThreads], low[kThreads];
  const unsigned place = threadIdx.y * blockDim.x + threadIdx.x;
  high[place] = own.high, low[place] = own.low;
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y >= half) continue;
    own = plus(own, {high[place + half * blockDim.x], low[place + half * blockDim.x]});
    high[place] = own.high, low[place] = own.low;
  }
  return own;
}

// What is summed: `columns` of Z, and with one more column the weights. Null weights are 1 each.
template <class T>
struct Weighed {
  MatrixView<const T> Z;
  const double* weights;
  __device__ Wide at(std::int64_t i, std::int64_t j) const {
    const double z = j < Z.cols ? static_cast<double>(raw(Z)[i * Z.stride + j]) : 1.0;
    return weights ? product(weights[i], z) : Wide{z, 0};
  }
};

// sums: columns x blocks.
template <class T>
__global__ void sum_blocks(Weighed<T> from, std::int64_t columns, Wide* sums) {
  const std::int64_t j = block_y() * blockDim.x + threadIdx.x, step = blockDim.y,
                     begin = blockIdx.x * kThreadRows * step, stop = begin + kThreadRows * step,
                     end = j >= columns         ? 0
                           : stop < from.Z.rows ? stop
                                                : from.Z.rows;
  Wide own;
  std::int64_t i = begin + threadIdx.y;
  for (; i + (kAtOnce - 1) * step < end; i += kAtOnce * step) {
    Wide some[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) some[k] = from.at(i + k * step, j);
    for (int k = 0; k < kAtOnce; ++k) own = plus(own, some[k]);
  }
  for (; i < end; i += step) own = plus(own, from.at(i, j));
  own = fold_block(own);
  if (threadIdx.y == 0 && j < columns) sums[j * gridDim.x + blockIdx.x] = own;
}

__global__ void add_blocks(std::int64_t blocks, Wide* sums) {
  Wide* const of_column = sums + static_cast<std::int64_t>(blockIdx.x) * blocks;
  Wide own;
  for (std::int64_t b = threadIdx.y; b < blocks; b += kThreads) own = plus(own, of_column[b]);
  own = fold_block(own);
  if (threadIdx.y == 0) of_column[0] = own;
}

// The sum of `rows` weights that are 1 each, where their column's blocks would be.
__global__ void put_count(double rows, Wide* sum) {
  *sum = {rows, 0};
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

// The sums of the columns of Z, and of the weights where `with_weights`, each at the start of its row.
template <class T>
Matrix<Wide> wide_sums(CudaRuntime& runtime, MatrixView<const T> Z, const double* weights, bool with_weights) {
  const std::int64_t columns = Z.cols + (with_weights && weights ? 1 : 0);
  unsigned across = 1;
  while (across < 32 && across < columns) across *= 2;
  const dim3 block(across, kThreads / across);
  Matrix<Wide> sums(runtime, Z.cols + (with_weights ? 1 : 0),
                    std::max<std::int64_t>(tiles_of(Z.rows, kThreadRows * block.y), 1));
  KEDGE_LAUNCH(runtime, sum_blocks<T>,
               tall_grid(runtime, static_cast<unsigned>(sums.cols()), blocks_for(columns, across)), block, 0,
               Weighed<T>{Z, weights}, columns, sums.data());
  KEDGE_LAUNCH(runtime, add_blocks, static_cast<unsigned>(columns), dim3(1, kThreads), 0, sums.cols(), sums.data());
  if (with_weights && !weights)
    KEDGE_LAUNCH(runtime, put_count, 1, 1, 0, static_cast<double>(Z.rows), sums.data() + Z.cols * sums.cols());
  return sums;
}

}   // namespace

template <class T>
void precise_means(CudaRuntime& runtime, MatrixView<const T> Z, const double* weights, double* mean, double* total) {
  const Matrix<Wide> sums = wide_sums(runtime, Z, weights, true);
  KEDGE_LAUNCH(runtime, divide, blocks_for(sums.rows(), 128), 128, 0, Z.cols, sums.cols(), sums.data(), mean, total);
}

template <class T>
void precise_sums(CudaRuntime& runtime, MatrixView<const T> Z, const double* weights, double* sums) {
  const Matrix<Wide> wide = wide_sums(runtime, Z, weights, false);
  KEDGE_LAUNCH(runtime, round_sums, blocks_for(Z.cols, 128), 128, 0, Z.cols, wide.cols(), wide.data(), sums);
}

template void precise_means(CudaRuntime&, MatrixView<const float>, const double*, double*, double*);
template void precise_means(CudaRuntime&, MatrixView<const double>, const double*, double*, double*);
template void precise_sums(CudaRuntime&, MatrixView<const float>, const double*, double*);
template void precise_sums(CudaRuntime&, MatrixView<const double>, const double*, double*);

}   // namespace kedge::engine
