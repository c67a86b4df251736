// Gaussian naive Bayes on the GPU. Moments read X twice; likelihoods do n x classes x columns terms in double.
#include <type_traits>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/double_units.h"
#include "engine/backend/cuda/float_pair.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kColumnThreads = 64;

// What a thread adds: column j of the rows of one tile, by class. Deviations are from the first row, or, squared, from
// each class's mean.
template <class T>
struct ClassColumn {
  MatrixView<const T> X;
  VectorView<const std::int32_t> rows;
  const std::int32_t* y;
  const double* weights;   // null: 1 each
  MatrixView<const double> mean;
  std::int64_t classes, tile_rows, first_tile = 0;   // first_tile: that of the first block

  KEDGE_HD std::int64_t n() const { return rows.size ? rows.size : X.rows; }
  __device__ T at(std::int64_t i, std::int64_t j) const {
    return raw(X)[(rows.size ? std::int64_t{raw(rows)[i]} : i) * X.stride + j];
  }
  // table[c * step] = the sum of class c.
  __device__ void add_in_double(std::int64_t j, std::int64_t tile, double* table, std::int64_t step) const {
    for (std::int64_t c = 0; c < classes; ++c) table[c * step] = 0;
    const double first = static_cast<double>(at(0, j));
    for (std::int64_t i = tile * tile_rows; i < n() && i < (tile + 1) * tile_rows; ++i) {
      const double weight = weights ? weights[i] : 1.0;
      const double origin = raw(mean) ? raw(mean)[y[i] * mean.stride + j] : first;
      const double deviation = static_cast<double>(at(i, j)) - origin;
      table[y[i] * step] += raw(mean) ? weight * deviation * deviation : weight * deviation;
    }
  }
};

// A thread has its own column of `table` (classes x step): in shared memory where the classes fit, else in the tile's
// sums themselves.
template <class T>
__global__ void tile_classes(ClassColumn<T> from, bool in_shared, double* sums) {
  KEDGE_DYNAMIC_SHARED(double, shared);
  const std::int64_t j = block_y() * blockDim.x + threadIdx.x, tile = from.first_tile + blockIdx.x, d = from.X.cols;
  if (j >= d) return;
  double* const own = sums + blockIdx.x * from.classes * d + j;
  if (!in_shared) return from.add_in_double(j, tile, own, d);
  double* const table = shared + threadIdx.x;
  from.add_in_double(j, tile, table, kColumnThreads);
  for (std::int64_t c = 0; c < from.classes; ++c) own[c * d] = table[c * kColumnThreads];
}

// The same of rows without weights in pairs of floats, within 20 m 2^-48 of the sums of the sizes of m rows; where a
// deviation is too large or too small for them, the thread adds its rows in double. Shared memory: a sum for each class
// and thread, then a map.
__global__ void tile_classes_in_pairs(ClassColumn<float> from, double* sums) {
  constexpr float kLeast = 0x1p-50F, kMost = 0x1p50F;   // squares of less would lose what lies below 2^-149
  KEDGE_DYNAMIC_SHARED(FloatPair, shared);
  const std::int64_t j = block_y() * blockDim.x + threadIdx.x, tile = from.first_tile + blockIdx.x, d = from.X.cols;
  if (j >= d) return;
  FloatPair* const table = shared + threadIdx.x;
  auto* const maps = reinterpret_cast<AffineMap<FloatPair>*>(shared + from.classes * kColumnThreads) + threadIdx.x;
  const bool squared = raw(from.mean) != nullptr;
  const auto first = static_cast<double>(from.at(0, j));
  for (std::int64_t c = 0; c < from.classes; ++c) {
    table[c * kColumnThreads] = {};
    maps[c * kColumnThreads] = AffineMap<FloatPair>::of(squared ? raw(from.mean)[c * from.mean.stride + j] : first, 1);
  }
  const std::int64_t begin = tile * from.tile_rows, stop = begin + from.tile_rows,
                     end = stop < from.n() ? stop : from.n();
  bool fits = true;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t place = from.y[i] * kColumnThreads;
    const FloatPair deviation = maps[place](from.at(i, j));
    const float size = fabsf(deviation.high);
    fits = fits && (size == 0 || (size > kLeast && size < kMost));
    FloatPair sum = table[place];
    if (squared) add_product(sum, deviation, deviation);
    else add(sum, deviation);
    settle(sum);
    table[place] = sum;
  }
  double* const own = sums + blockIdx.x * from.classes * d + j;
  for (std::int64_t c = 0; c < from.classes; ++c) own[c * d] = value_of(table[c * kColumnThreads]);
  if (!fits) from.add_in_double(j, tile, own, d);
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
    const std::int64_t tile = class_tile_rows(n, classes * d);
    const double* const w = weights.empty() ? nullptr : raw(weights);
    const RankSeat seat = sums_.seat(n);
    const Part tiles = own_tiles(seat, tiles_of(n, tile)), own = rows_of_tiles(tiles, tile, n);
    ClassColumn<T> from{.X = X,
                        .rows = rows,
                        .y = raw(y),
                        .weights = w,
                        .mean = {},
                        .classes = classes,
                        .tile_rows = tile,
                        .first_tile = tiles.begin};
    Array<double> counts, partial, sums(gpu, classes * d);
    const auto count_own = [&] {
      counts = Array<double>(gpu, tiles.size() * classes);
      KEDGE_LAUNCH(gpu, tile_counts, blocks_for(tiles.size(), 32), 32, 0, raw(y) + own.begin,
                   w ? w + own.begin : nullptr, own.size(), classes, tile, tiles.size(), counts.data());
      return DeviceTables{raw(counts), tiles.size()};
    };
    const auto sum_own = [&] {
      if (partial.size() == 0) partial = Array<double>(gpu, tiles.size() * classes * d);
      sum_tiles(from, tiles.size(), raw(partial));
      return DeviceTables{raw(partial), tiles.size()};
    };
    sums_.add(seat, classes, count_own, raw(count));
    sums_.add(seat, classes * d, sum_own, raw(sums));
    KEDGE_LAUNCH(gpu, divide_by_count<T>, row_blocks(classes, d), row_block(d), 0, sums.data(), raw(count),
                 n ? raw(X) : nullptr, X.stride, rows, mean);
    from.mean = mean;
    sums_.add(seat, classes * d, sum_own, raw(sums));
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

 private:
  // sums: tiles x classes x columns.
  void sum_tiles(const ClassColumn<T>& from, std::int64_t tiles, double* sums) {
    const dim3 grid = tall_grid(runtime_, static_cast<unsigned>(tiles), blocks_for(from.X.cols, kColumnThreads));
    const auto places = static_cast<std::size_t>(from.classes) * kColumnThreads;
    if constexpr (std::is_same_v<T, float>) {
      const std::size_t bytes = places * (sizeof(FloatPair) + sizeof(AffineMap<FloatPair>));
      if (!from.weights && bytes <= kPlainSharedBytes && has_few_double_units(runtime_))
        return KEDGE_LAUNCH(runtime_, tile_classes_in_pairs, grid, kColumnThreads, bytes, from, sums);
    }
    const std::size_t bytes = places * sizeof(double);
    const bool in_shared = bytes <= kPlainSharedBytes;
    KEDGE_LAUNCH(runtime_, tile_classes<T>, grid, kColumnThreads, in_shared ? bytes : 0, from, in_shared, sums);
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
