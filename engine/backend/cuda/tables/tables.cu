// Tables on the GPU: find what is not finite, gather rows, moments and ranges of columns. All are bound by reading X once
// (moments: twice); neighbouring threads read neighbouring columns.
#include <limits>
#include <type_traits>
#include <vector>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/double_units.h"
#include "engine/backend/cuda/neighbours/selection.cuh"
#include "engine/backend/cuda/pieces.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/tables/tile_block.cuh"
#include "engine/backend/cuda/tables/tile_moments.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

template <class T>
__global__ void first_nonfinite(MatrixView<const T> X, bool in_pieces, unsigned long long* first) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  const T* const row = raw(X) + i * X.stride;
  const std::int64_t step = in_pieces ? 4 : 1;
  for (std::int64_t j = step * threadIdx.x; j < X.cols; j += step * blockDim.x) {
    T sum = 0;   // of differences that are 0, or NaN
    if (in_pieces && j + 4 <= X.cols) {
      const FourValues<T> four = four_at(row + j);
      for (int e = 0; e < 4; ++e) sum += four.values[e] - four.values[e];
    } else {
      for (std::int64_t e = j; e < j + step && e < X.cols; ++e) sum += row[e] - row[e];
    }
    if (sum == T{0}) continue;
    std::int64_t at = j;
    while (row[at] - row[at] == T{0}) ++at;
    atomicMin(first, static_cast<unsigned long long>(i * X.cols + at));
    return;
  }
}

template <class T>
__global__ void gather_rows(Selection<T> X, const double* shift, const double* scale, bool in_pieces, T* out,
                            std::int64_t out_stride) {
  const std::int64_t i = own_row();
  if (i >= X.n) return;
  const bool is_mapped = shift || scale;
  map_row(X.row(i), out + i * out_stride, X.cols, in_pieces,
          [&](std::int64_t j, T x) { return is_mapped ? affine(x, shift, scale, j) : x; });
}

template <class T>
__global__ void finish_mean(Selection<T> X, const double* sums, const double* total, double* mean) {
  const std::int64_t j = own_item();
  if (j < X.cols) mean[j] = static_cast<double>(X.row(0)[j]) + sums[j] / *total;
}

__global__ void finish_variance(std::int64_t cols, const double* sums, const double* total, double* variance) {
  const std::int64_t j = own_item();
  if (j >= cols) return;
  const double rest = sums[j], value = (sums[cols + j] - rest * rest / *total) / *total;
  variance[j] = value > 0.0 || value != value ? value : 0.0;
}

template <class T>
__global__ void fill(T* out, std::int64_t n, T value) {
  const std::int64_t i = own_item();
  if (i < n) out[i] = value;
}

template <class T>
__global__ void tile_range(Selection<T> X, T infinity, T* low, T* high) {
  const std::int64_t j = tile_column(), tile = own_tile();
  if (j >= X.cols || tile * kRowTile >= X.n) return;
  T minimum = infinity, maximum = -infinity;
  for (std::int64_t i = tile * kRowTile; i < X.n && i < (tile + 1) * kRowTile; ++i) {
    const T x = X.row(i)[j];
    minimum = x < minimum ? x : minimum;
    maximum = x > maximum ? x : maximum;
  }
  low[tile * X.cols + j] = minimum;
  high[tile * X.cols + j] = maximum;
}

constexpr std::int64_t kFold = 32;   // tiles that one thread folds

// The range of each group of kFold tiles.
template <class T>
__global__ void fold_ranges(const T* low, const T* high, std::int64_t tiles, std::int64_t cols, T infinity, T* least,
                            T* most) {
  const std::int64_t j = tile_column(), group = own_tile();
  if (j >= cols || group * kFold >= (tiles > 0 ? tiles : 1)) return;
  T minimum = infinity, maximum = -infinity;
  for (std::int64_t t = group * kFold; t < tiles && t < (group + 1) * kFold; ++t) {
    minimum = low[t * cols + j] < minimum ? low[t * cols + j] : minimum;
    maximum = high[t * cols + j] > maximum ? high[t * cols + j] : maximum;
  }
  least[group * cols + j] = minimum;
  most[group * cols + j] = maximum;
}

template <class T>
__global__ void clip_rows(T* X, std::int64_t rows, std::int64_t cols, std::int64_t stride, T low, T high) {
  const std::int64_t i = own_row();
  if (i >= rows) return;
  for (std::int64_t j = threadIdx.x; j < cols; j += blockDim.x) {
    T& x = X[i * stride + j];
    x = x < low ? low : (x > high ? high : x);
  }
}

template <class T>
class CudaTables final : public TableOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  std::optional<Cell> find_nonfinite(MatrixView<const T> X) override {
    constexpr unsigned long long kNone = ~0ull;
    if (X.size() == 0) return std::nullopt;
    Array<unsigned long long> first(runtime_, std::span<const unsigned long long>(&kNone, 1));
    const bool in_pieces = lies_in_pieces(X);
    const std::int64_t across = in_pieces ? tiles_of(X.cols, 4) : X.cols;
    KEDGE_LAUNCH(runtime_, first_nonfinite<T>, row_blocks(X.rows, across), row_block(across), 0, X, in_pieces,
                 first.data());
    const unsigned long long cell = first.to_host()[0];
    if (cell == kNone) return std::nullopt;
    return Cell{static_cast<std::int64_t>(cell) / X.cols, static_cast<std::int64_t>(cell) % X.cols};
  }

  void gather(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> shift,
              VectorView<const double> scale, MatrixView<T> out) override {
    const bool in_pieces = lies_in_pieces(X) && lies_in_pieces(out);
    const std::int64_t across = in_pieces ? tiles_of(X.cols, 4) : X.cols;
    KEDGE_LAUNCH(runtime_, gather_rows<T>, row_blocks(out.rows, across), row_block(across), 0, select(X, rows),
                 shift.empty() ? nullptr : raw(shift), scale.empty() ? nullptr : raw(scale), in_pieces, raw(out),
                 out.stride);
  }

  void column_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> weights,
                      VectorView<double> mean, VectorView<double> variance) override {
    const Selection<T> x = select(X, rows);
    if (x.n == 0) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      KEDGE_LAUNCH(runtime_, fill<double>, blocks_for(x.cols, 128), 128, 0, raw(mean), x.cols, nan);
      if (!variance.empty())
        KEDGE_LAUNCH(runtime_, fill<double>, blocks_for(x.cols, 128), 128, 0, raw(variance), x.cols, nan);
      return;
    }
    const double* const w = weights.empty() ? nullptr : raw(weights);
    if constexpr (std::is_same_v<T, float>) {
      if (!w && has_few_double_units(runtime_)) return put_moments<true>(x, w, mean, variance);
    }
    put_moments<false>(x, w, mean, variance);
  }

  // Of equal numbers, as of 0 and -0, the range has the first: ranks have consecutive rows, and are folded in order.
  void column_range(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<T> minimum,
                    VectorView<T> maximum) override {
    const Selection<T> x = select(X, rows);
    const RankSeat seat = sums_.seat(x.n);
    if (seat.is_alone() || x.cols == 0) return put_range(x, minimum, maximum);
    const Part own = own_rows(seat, x.n);
    std::vector<T> least, most;
    for (const std::vector<T>& ends : sums_.numbers_of_ranks<T>([&] {
           Array<T> found(runtime_, 2 * x.cols);
           put_range(x.range(own.begin, own.size()), found.view().slice(0, x.cols), found.view().slice(x.cols, x.cols));
           return found.to_host();
         })) {
      const auto middle = ends.begin() + x.cols;
      if (least.empty()) least.assign(ends.begin(), middle), most.assign(middle, ends.end());
      for (std::size_t j = 0; j < least.size(); ++j) {
        if (ends[j] < least[j]) least[j] = ends[j];
        if (middle[static_cast<std::ptrdiff_t>(j)] > most[j]) most[j] = middle[static_cast<std::ptrdiff_t>(j)];
      }
    }
    runtime_.to_device(raw(minimum), least.data(), least.size() * sizeof(T));
    runtime_.to_device(raw(maximum), most.data(), most.size() * sizeof(T));
  }

  void clip(MatrixView<T> X, T low, T high) override {
    KEDGE_LAUNCH(runtime_, clip_rows<T>, row_blocks(X.rows, X.cols), row_block(X.cols), 0, raw(X), X.rows, X.cols,
                 X.stride, low, high);
  }

 private:
  void put_range(const Selection<T>& x, VectorView<T> minimum, VectorView<T> maximum) {
    const std::int64_t tiles = tiles_of(x.n, kRowTile);
    const T infinity = std::numeric_limits<T>::infinity();
    Array<T> low(runtime_, tiles * x.cols), high(runtime_, tiles * x.cols);
    const dim3 block = tile_block(x.cols);
    KEDGE_LAUNCH(runtime_, tile_range<T>, tile_grid(runtime_, tiles, x.cols), block, 0, x, infinity, low.data(),
                 high.data());
    std::int64_t left = tiles;
    const auto fold = [&](T* least, T* most) {
      const std::int64_t groups = std::max<std::int64_t>(tiles_of(left, kFold), 1);
      KEDGE_LAUNCH(runtime_, fold_ranges<T>, tile_grid(runtime_, groups, x.cols), block, 0, low.data(), high.data(),
                   left, x.cols, infinity, least, most);
    };
    for (; left > kFold; left = tiles_of(left, kFold)) {
      const std::int64_t groups = tiles_of(left, kFold);
      Array<T> least(runtime_, groups * x.cols), most(runtime_, groups * x.cols);
      fold(raw(least), raw(most));
      low = std::move(least), high = std::move(most);
    }
    fold(raw(minimum), raw(maximum));
  }

  template <bool kInPairs>
  void put_moments(const Selection<T>& x, const double* weights, VectorView<double> mean, VectorView<double> variance) {
    const RankSeat seat = sums_.seat(x.n);
    const Part rows = own_rows(seat, x.n);
    const Selection<T> own = x.range(rows.begin, rows.size());
    const double* const own_weights = weights ? weights + rows.begin : nullptr;
    const std::int64_t tiles = tiles_of(own.n, kRowTile);
    const dim3 grid = tile_grid(runtime_, tiles, x.cols), block = tile_block(x.cols);
    Array<double> total(runtime_, 1), sums(runtime_, 2 * x.cols), partial;
    const auto sum_deviations = [&] {
      partial = Array<double>(runtime_, tiles * 2 * x.cols);
      KEDGE_LAUNCH(runtime_, (tile_deviations<T, kInPairs>), grid, block, 0, own, x, own_weights, partial.data());
      return DeviceTables{raw(partial), tiles};
    };
    const auto sum_squares = [&] {
      KEDGE_LAUNCH(runtime_, (tile_squares<T, kInPairs>), grid, block, 0, own, own_weights, raw(mean), partial.data());
      return DeviceTables{raw(partial), tiles};
    };
    sums_.add_values(seat, weights, x.n, raw(total));
    sums_.add(seat, x.cols, sum_deviations, raw(sums));
    KEDGE_LAUNCH(runtime_, finish_mean<T>, blocks_for(x.cols, 128), 128, 0, x, sums.data(), total.data(), raw(mean));
    if (variance.empty()) return;
    sums_.add(seat, 2 * x.cols, sum_squares, raw(sums));
    KEDGE_LAUNCH(runtime_, finish_variance, blocks_for(x.cols, 128), 128, 0, x.cols, sums.data(), total.data(),
                 raw(variance));
  }
};

}   // namespace

template <class T>
std::unique_ptr<TableOps<T>> make_cuda_tables(const CudaParts<T>& parts) {
  return std::make_unique<CudaTables<T>>(parts);
}
template std::unique_ptr<TableOps<float>> make_cuda_tables<float>(const CudaParts<float>&);
template std::unique_ptr<TableOps<double>> make_cuda_tables<double>(const CudaParts<double>&);

}  // namespace kedge::engine
