// Row-wise ops on the GPU. Rows of class scores are short: one thread takes one, and the caches make up for the stride.
#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/tables/precise_sums.cuh"
#include "engine/backend/cuda/tables/tile_block.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128;

template <class T>
__global__ void put_normal(std::uint64_t seed, std::uint64_t stream, T* out, std::int64_t n, std::int64_t cols,
                           std::int64_t stride) {
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
  const std::int64_t j = tile_column(), tile = own_tile();
  if (j >= cols || tile * kRowTile >= rows) return;
  double sum = 0;
  for (std::int64_t i = tile * kRowTile; i < rows && i < (tile + 1) * kRowTile; ++i)
    sum += static_cast<double>(Z[i * stride + j]);
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
class CudaRows final : public RowOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  void fill_normal(std::uint64_t seed, std::uint64_t stream, MatrixView<T> out) override {
    KEDGE_LAUNCH(runtime_, put_normal<T>, blocks_for(out.size(), 2 * kThreads), kThreads, 0, seed, stream, raw(out),
                 out.size(), out.cols, out.stride);
  }

  void add_to_rows(VectorView<const T> v, MatrixView<T> Z) override {
    KEDGE_LAUNCH(runtime_, add_vector<T>, row_blocks(Z.rows, Z.cols), row_block(Z.cols), 0, raw(v), raw(Z), Z.rows,
                 Z.cols, Z.stride);
  }

  void column_sums(MatrixView<const T> Z, VectorView<double> sums) override {
    const RankSeat seat = sums_.seat(Z.rows);
    const Part rows = own_rows(seat, Z.rows);
    const MatrixView<const T> own = Z.row_range(rows.begin, rows.size());
    const std::int64_t tiles = tiles_of(own.rows, kRowTile);
    Array<double> partial;
    const auto sum_own = [&] {
      partial = Array<double>(runtime_, tiles * Z.cols);
      KEDGE_LAUNCH(runtime_, tile_columns<T>, tile_grid(runtime_, tiles, Z.cols), tile_block(Z.cols), 0, raw(own),
                   own.rows, own.cols, own.stride, partial.data());
      return DeviceTables{raw(partial), tiles};
    };
    sums_.add(seat, Z.cols, sum_own, raw(sums));
  }

  void precise_means(MatrixView<const T> Z, VectorView<const double> weights, VectorView<double> mean,
                     VectorView<double> total) override {
    engine::precise_means(runtime_, Z, weights.empty() ? nullptr : raw(weights), raw(mean), raw(total));
  }

  void weighted_sums(MatrixView<const T> Z, VectorView<const double> weights, VectorView<double> sums) override {
    engine::precise_sums(runtime_, Z, weights.empty() ? nullptr : raw(weights), raw(sums));
  }

  void row_squared_norms(MatrixView<const T> X, VectorView<T> norms) override {
    KEDGE_LAUNCH(runtime_, norms_of_rows<T>, blocks_for(X.rows, 8), dim3(kLanes, 8), 0, raw(X), X.rows, X.cols,
                 X.stride, raw(norms));
  }

  void softmax_rows(MatrixView<T> Z) override {
    if (Z.cols == 0) return;
    KEDGE_LAUNCH(runtime_, softmax<T>, blocks_for(Z.rows, kThreads), kThreads, 0, raw(Z), Z.rows, Z.cols, Z.stride);
  }

  void argmax_rows(MatrixView<const T> Z, VectorView<std::int32_t> out) override {
    KEDGE_LAUNCH(runtime_, argmax<T>, blocks_for(Z.rows, kThreads), kThreads, 0, raw(Z), Z.rows, Z.cols, Z.stride,
                 raw(out));
  }
};

}   // namespace

template <class T>
std::unique_ptr<RowOps<T>> make_cuda_rows(const CudaParts<T>& parts) {
  return std::make_unique<CudaRows<T>>(parts);
}
template std::unique_ptr<RowOps<float>> make_cuda_rows<float>(const CudaParts<float>&);
template std::unique_ptr<RowOps<double>> make_cuda_rows<double>(const CudaParts<double>&);

}   // namespace kedge::engine
