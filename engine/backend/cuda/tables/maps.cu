// Maps of columns and rows on the GPU: one thread an element where elements are independent, neighbours along a row.
#include <type_traits>

#include "engine/backend/column_functors.h"
#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/double_units.h"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/tables/row_norm.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

template <class T>
__global__ void map_elements(ColumnMap map, const double* a, const double* b, bool in_pieces, MatrixView<const T> X,
                             MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  map_row(raw(X) + i * X.stride, raw(out) + i * out.stride, X.cols, in_pieces, [&](std::int64_t j, T x) {
    return static_cast<T>(column_map(map, static_cast<double>(x), a ? a[j] : 0.0, b ? b[j] : 0.0));
  });
}

template <class T>
__global__ void unary_elements(Unary f, double scale, bool in_pieces, MatrixView<const T> X, MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  map_row(raw(X) + i * X.stride, raw(out) + i * out.stride, X.cols, in_pieces,
          [&](std::int64_t, T x) { return static_cast<T>(unary(f, scale * static_cast<double>(x))); });
}

template <class T>
__global__ void binary_elements(Binary f, bool in_pieces, MatrixView<const T> X, MatrixView<const T> Y,
                                MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  const T* const y = raw(Y) + (Y.rows == 1 ? 0 : i * Y.stride);
  map_row(raw(X) + i * X.stride, raw(out) + i * out.stride, X.cols, in_pieces, [&](std::int64_t j, T x) {
    return static_cast<T>(binary(f, static_cast<double>(x), static_cast<double>(y[Y.cols == 1 ? 0 : j])));
  });
}

template <class T>
__global__ void rank_elements(MatrixView<const T> X, MatrixView<const double> quantiles, const double* references, bool normal,
                              MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  for (std::int64_t j = threadIdx.x; j < X.cols; j += blockDim.x)
    raw(out)[i * out.stride + j] =
        static_cast<T>(quantile_rank(static_cast<double>(raw(X)[i * X.stride + j]),
                                     raw(quantiles) + j * quantiles.stride, references, quantiles.cols, normal));
}

template <class T>
__global__ void fill_zero(MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= out.rows) return;
  for (std::int64_t j = threadIdx.x; j < out.cols; j += blockDim.x) raw(out)[i * out.stride + j] = T{0};
}

template <class T>
__global__ void put_bins(MatrixView<const T> X, const double* edges, const std::int32_t* first_edge,
                         const std::int32_t* first_out, MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  for (std::int64_t j = threadIdx.x; j < X.cols; j += blockDim.x) {
    const std::int32_t first = first_edge[j];
    const std::int64_t bin =
        edges_up_to(edges + first, first_edge[j + 1] - first, static_cast<double>(raw(X)[i * X.stride + j]));
    if (first_out) raw(out)[i * out.stride + first_out[j] + bin] = T{1};
    else raw(out)[i * out.stride + j] = static_cast<T>(bin);
  }
}

template <class T>
__global__ void put_splines(MatrixView<const T> X, SplineBasis spline, std::int64_t n_splines, std::int64_t n_out,
                            MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  for (std::int64_t j = threadIdx.x; j < X.cols; j += blockDim.x)
    spline_cells(static_cast<double>(raw(X)[i * X.stride + j]), raw(spline.knots) + j * spline.knots.stride,
                 spline.knots.cols, spline.degree, spline.extrapolation, n_splines, n_out,
                 raw(out) + i * out.stride + j * n_out);
}

template <class T>
__global__ void divide_by_norm(RowNorm norm, MatrixView<T> X) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  divide_values(norm, raw(X) + i * X.stride, X.cols);
}

template <class T, bool kInPairs>
__global__ void divide_short_rows(RowNorm norm, bool in_pieces, MatrixView<T> X) {
  const std::int64_t i = own_item();
  if (i >= X.rows) return;
  T* const row = raw(X) + i * X.stride;
  if constexpr (kInPairs) {
    if (divide_short_in_pairs(norm, in_pieces, row, static_cast<int>(X.cols))) return;
  }
  divide_short(norm, in_pieces, row, static_cast<int>(X.cols));
}

// Each thread multiplies its own column's chain of features, so that no column waits for its parent.
template <class T>
__global__ void multiply_features(MatrixView<const T> X, const std::int32_t* feature, const std::int32_t* parent,
                                  MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  const T* const row = raw(X) + i * X.stride;
  for (std::int64_t c = threadIdx.x; c < out.cols; c += blockDim.x) {
    T product = 1;
    for (std::int32_t at = static_cast<std::int32_t>(c); at >= 0; at = parent[at])
      if (feature[at] >= 0) product *= row[feature[at]];
    raw(out)[i * out.stride + c] = product;
  }
}

template <class T>
__global__ void kernel_elements(Kernel kernel, const T* x_norms, const T* y_norms, MatrixView<T> K) {
  const std::int64_t i = own_row();
  if (i >= K.rows) return;
  for (std::int64_t j = threadIdx.x; j < K.cols; j += blockDim.x) {
    T& k = raw(K)[i * K.stride + j];
    k = static_cast<T>(kernel_value(kernel, static_cast<double>(k), x_norms ? static_cast<double>(x_norms[i]) : 0.0,
                                    y_norms ? static_cast<double>(y_norms[j]) : 0.0));
  }
}

template <class T>
class CudaMaps final : public MapOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  void map_columns(ColumnMap map, VectorView<const double> a, VectorView<const double> b, MatrixView<const T> X,
                   MatrixView<T> out) override {
    const bool in_pieces = lies_in_pieces(X) && lies_in_pieces(out);
    const std::int64_t across = in_pieces ? tiles_of(X.cols, 4) : X.cols;
    KEDGE_LAUNCH(runtime_, map_elements<T>, row_blocks(X.rows, across), row_block(across), 0, map,
                 a.empty() ? nullptr : raw(a), b.empty() ? nullptr : raw(b), in_pieces, X, out);
  }

  void map(Unary f, double scale, MatrixView<const T> X, MatrixView<T> out) override {
    const bool in_pieces = lies_in_pieces(X) && lies_in_pieces(out);
    const std::int64_t across = in_pieces ? tiles_of(X.cols, 4) : X.cols;
    KEDGE_LAUNCH(runtime_, unary_elements<T>, row_blocks(X.rows, across), row_block(across), 0, f, scale, in_pieces, X,
                 out);
  }

  void combine(Binary f, MatrixView<const T> X, MatrixView<const T> Y, MatrixView<T> out) override {
    const bool in_pieces = lies_in_pieces(X) && lies_in_pieces(out);
    const std::int64_t across = in_pieces ? tiles_of(X.cols, 4) : X.cols;
    KEDGE_LAUNCH(runtime_, binary_elements<T>, row_blocks(X.rows, across), row_block(across), 0, f, in_pieces, X, Y,
                 out);
  }

  void quantile_ranks(MatrixView<const T> X, MatrixView<const double> quantiles, VectorView<const double> references,
                      bool normal, MatrixView<T> out) override {
    KEDGE_LAUNCH(runtime_, rank_elements<T>, row_blocks(X.rows, X.cols), row_block(X.cols), 0, X, quantiles,
                 raw(references), normal, out);
  }

  void bin_columns(MatrixView<const T> X, VectorView<const double> edges, VectorView<const std::int32_t> first_edge,
                   VectorView<const std::int32_t> first_out, MatrixView<T> out) override {
    if (!first_out.empty())
      KEDGE_LAUNCH(runtime_, fill_zero<T>, row_blocks(out.rows, out.cols), row_block(out.cols), 0, out);
    KEDGE_LAUNCH(runtime_, put_bins<T>, row_blocks(X.rows, X.cols), row_block(X.cols), 0, X, raw(edges),
                 raw(first_edge), first_out.empty() ? nullptr : raw(first_out), out);
  }

  void spline_basis(MatrixView<const T> X, const SplineBasis& spline, MatrixView<T> out) override {
    KEDGE_LAUNCH(runtime_, put_splines<T>, row_blocks(X.rows, X.cols), row_block(X.cols), 0, X, spline,
                 spline.n_splines(), spline.n_out(), out);
  }

  void normalize_rows(RowNorm norm, MatrixView<T> X) override {
    if (X.cols <= kShortNorm) {
      if constexpr (std::is_same_v<T, float>) {
        if (has_few_double_units(runtime_))
          return KEDGE_LAUNCH(runtime_, (divide_short_rows<T, true>), blocks_for(X.rows, 128), 128, 0, norm,
                              lies_in_pieces(X), X);
      }
      KEDGE_LAUNCH(runtime_, (divide_short_rows<T, false>), blocks_for(X.rows, 128), 128, 0, norm, lies_in_pieces(X),
                   X);
    } else KEDGE_LAUNCH(runtime_, divide_by_norm<T>, blocks_for(X.rows, 8), dim3(kLanes, 8), 0, norm, X);
  }

  void monomials(MatrixView<const T> X, VectorView<const std::int32_t> feature, VectorView<const std::int32_t> parent,
                 MatrixView<T> out) override {
    KEDGE_LAUNCH(runtime_, multiply_features<T>, row_blocks(out.rows, out.cols), row_block(out.cols), 0, X,
                 raw(feature), raw(parent), out);
  }

  void apply_kernel(const Kernel& kernel, VectorView<const T> x_norms, VectorView<const T> y_norms,
                    MatrixView<T> K) override {
    const bool gaussian = kernel.kind == KernelKind::kGaussian;
    KEDGE_LAUNCH(runtime_, kernel_elements<T>, row_blocks(K.rows, K.cols), row_block(K.cols), 0, kernel,
                 gaussian ? raw(x_norms) : nullptr, gaussian ? raw(y_norms) : nullptr, K);
  }
};

}   // namespace

template <class T>
std::unique_ptr<MapOps<T>> make_cuda_maps(const CudaParts<T>& parts) {
  return std::make_unique<CudaMaps<T>>(parts);
}
template std::unique_ptr<MapOps<float>> make_cuda_maps<float>(const CudaParts<float>&);
template std::unique_ptr<MapOps<double>> make_cuda_maps<double>(const CudaParts<double>&);

}  // namespace kedge::engine
