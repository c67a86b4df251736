// Gaussian naive Bayes on the GPU. Moments read X twice; likelihoods do n x classes x columns terms in double.
#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kColumnThreads = 64;

// A thread sums one column over one tile of rows, by class, in its own column of `table` (classes x step): in shared memory
// where the classes fit, else in the tile's sums themselves. squares: deviations squared, from each class's mean.
template <class T>
__global__ void tile_classes(MatrixView<const T> X, VectorView<const std::int32_t> rows, const std::int32_t* y, const double* weights,
                             MatrixView<const double> mean, std::int64_t classes, std::int64_t tile_rows, bool in_shared, double* sums) {
  KEDGE_DYNAMIC_SHARED(double, shared);
  const std::int64_t j = block_y() * blockDim.x + threadIdx.x, tile = blockIdx.x, d = X.cols;
  if (j >= d) return;
  double* const own = sums + tile * classes * d + j;
  double* const table = in_shared ? shared + threadIdx.x : own;
  const std::int64_t step = in_shared ? kColumnThreads : d;
  for (std::int64_t c = 0; c < classes; ++c) table[c * step] = 0;
  const std::int64_t n = rows.size ? rows.size : X.rows;
  const auto at = [&](std::int64_t i) {
    return static_cast<double>(raw(X)[(rows.size ? std::int64_t{raw(rows)[i]} : i) * X.stride + j]);
  };
  const double first = at(0);
  for (std::int64_t i = tile * tile_rows; i < n && i < (tile + 1) * tile_rows; ++i) {
    const double weight = weights ? weights[i] : 1.0;
    const double origin = raw(mean) ? raw(mean)[y[i] * mean.stride + j] : first;
    const double deviation = at(i) - origin;
    table[y[i] * step] += raw(mean) ? weight * deviation * deviation : weight * deviation;
  }
  for (std::int64_t c = 0; in_shared && c < classes; ++c) own[c * d] = table[c * step];
}

__global__ void tile_counts(const std::int32_t* y, const double* weights, std::int64_t n, std::int64_t classes, std::int64_t tile_rows,
                            std::int64_t tiles, double* counts) {
  const std::int64_t tile = own_item();
  if (tile >= tiles) return;
  for (std::int64_t c = 0; c < classes; ++c) counts[tile * classes + c] = 0;
  for (std::int64_t i = tile * tile_rows; i < n && i < (tile + 1) * tile_rows; ++i)
    counts[tile * classes + y[i]] += weights ? weights[i] : 1.0;
}

// out = origin + sums / count; origin is the first of the rows, or 0 where X is null.
template <class T>
__global__ void divide_by_count(const double* sums, const double* count, const T* X, std::int64_t stride, VectorView<const std::int32_t> rows,
                                MatrixView<double> out) {
  const std::int64_t c = own_row();
  if (c >= out.rows) return;
  if (X && rows.size > 0) X += raw(rows)[0] * stride;
  for (std::int64_t j = threadIdx.x; j < out.cols; j += blockDim.x)
    raw(out)[c * out.stride + j] = (X ? static_cast<double>(X[j]) : 0.0) + sums[c * out.cols + j] / count[c];
}

__global__ void invert(MatrixView<const double> variance, double* precision) {
  const std::int64_t c = own_row();
  if (c >= variance.rows) return;
  for (std::int64_t j = threadIdx.x; j < variance.cols; j += blockDim.x)
    precision[c * variance.cols + j] = 1 / raw(variance)[c * variance.stride + j];
}

__global__ void log_constants(MatrixView<const double> variance, const double* log_prior, double* constants) {
  const std::int64_t c = own_item();
  if (c >= variance.rows) return;
  double logs = 0;
  for (std::int64_t j = 0; j < variance.cols; ++j)
    logs += log(6.283185307179586476925 * raw(variance)[c * variance.stride + j]);
  constants[c] = log_prior[c] - 0.5 * logs;
}

// One warp a row.
template <class T>
__global__ void log_likelihoods(MatrixView<const T> X, MatrixView<const double> mean, const double* precision, const double* constants,
                                MatrixView<T> Z) {
  const std::int64_t i = own_row(), d = X.cols;
  if (i >= X.rows) return;
  for (std::int64_t c = 0; c < mean.rows; ++c) {
    double sum = 0;
    for (std::int64_t j = threadIdx.x; j < d; j += kLanes)
      sum += gaussian_term(raw(X)[i * X.stride + j], raw(mean)[c * mean.stride + j], precision[c * d + j]);
    sum = fold_lanes(sum);
    if (threadIdx.x == 0) raw(Z)[i * Z.stride + c] = static_cast<T>(constants[c] - 0.5 * sum);
  }
}

template <class T>
class CudaBayes final : public BayesOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  void class_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> y,
                     VectorView<const double> weights, VectorView<double> count, MatrixView<double> mean,
                     MatrixView<double> variance) override {
    CudaRuntime& gpu = runtime_;
    const std::int64_t n = rows.empty() ? X.rows : rows.size, classes = mean.rows, d = X.cols;
    const std::int64_t tile = class_tile_rows(n, classes * d), tiles = tiles_of(n, tile);
    const double* const w = weights.empty() ? nullptr : raw(weights);
    const std::size_t shared = static_cast<std::size_t>(classes) * kColumnThreads * sizeof(double);
    const bool in_shared = shared <= kPlainSharedBytes;
    const dim3 grid = tall_grid(gpu, static_cast<unsigned>(tiles), blocks_for(d, kColumnThreads)),
               block(kColumnThreads);
    Array<double> partial(gpu, tiles * classes * d), sums(gpu, classes * d), counts(gpu, tiles * classes);
    KEDGE_LAUNCH(gpu, tile_counts, blocks_for(tiles, 32), 32, 0, raw(y), w, n, classes, tile, tiles, counts.data());
    sum_tables(gpu, raw(counts), tiles, classes, raw(count));
    KEDGE_LAUNCH(gpu, tile_classes<T>, grid, block, in_shared ? shared : 0, X, rows, raw(y), w,
                 MatrixView<const double>{}, classes, tile, in_shared, partial.data());
    sum_tables(gpu, raw(partial), tiles, classes * d, raw(sums));
    KEDGE_LAUNCH(gpu, divide_by_count<T>, row_blocks(classes, d), row_block(d), 0, sums.data(), raw(count),
                 n ? raw(X) : nullptr, X.stride, rows, mean);
    KEDGE_LAUNCH(gpu, tile_classes<T>, grid, block, in_shared ? shared : 0, X, rows, raw(y), w, mean, classes, tile,
                 in_shared, partial.data());
    sum_tables(gpu, raw(partial), tiles, classes * d, raw(sums));
    KEDGE_LAUNCH(gpu, divide_by_count<T>, row_blocks(classes, d), row_block(d), 0, sums.data(), raw(count),
                 static_cast<const T*>(nullptr), std::int64_t{0}, rows, variance);
  }

  void gaussian_log_likelihood(MatrixView<const T> X, MatrixView<const double> mean, MatrixView<const double> variance,
                               VectorView<const double> log_prior, MatrixView<T> Z) override {
    CudaRuntime& gpu = runtime_;
    const std::int64_t classes = mean.rows, d = X.cols;
    Array<double> precision(gpu, classes * d), constants(gpu, classes);
    KEDGE_LAUNCH(gpu, invert, row_blocks(classes, d), row_block(d), 0, variance, precision.data());
    KEDGE_LAUNCH(gpu, log_constants, blocks_for(classes, 32), 32, 0, variance, raw(log_prior), constants.data());
    KEDGE_LAUNCH(gpu, log_likelihoods<T>, blocks_for(X.rows, 8), dim3(kLanes, 8), 0, X, mean, precision.data(),
                 constants.data(), Z);
  }
};

}   // namespace

template <class T>
std::unique_ptr<BayesOps<T>> make_cuda_bayes(const CudaParts<T>& parts) {
  return std::make_unique<CudaBayes<T>>(parts);
}
template std::unique_ptr<BayesOps<float>> make_cuda_bayes<float>(const CudaParts<float>&);
template std::unique_ptr<BayesOps<double>> make_cuda_bayes<double>(const CudaParts<double>&);

}  // namespace kedge::engine
