// Products of dense matrices on the GPU: cuBLAS through libraries.h.
#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/sums.cuh"

namespace kedge::engine {
namespace {

template <class T>
__global__ void mirror_lower(T* C, std::int64_t n, std::int64_t stride) {
  const std::int64_t i = own_row();
  if (i >= n) return;
  for (std::int64_t j = threadIdx.x; j < n; j += blockDim.x) {
    if (j > i) C[i * stride + j] = C[j * stride + i];
  }
}

// out (rows x q, no padding) = sqrt(w[i]) * row i of X, followed by a 1 where q is one more than X's columns.
template <class T>
__global__ void scale_rows(MatrixView<const T> X, const double* w, std::int64_t w_stride, T* out, std::int64_t q) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  const T factor = static_cast<T>(sqrt(w[i * w_stride]));
  for (std::int64_t j = threadIdx.x; j < q; j += blockDim.x)
    out[i * q + j] = j < X.cols ? X.data[i * X.stride + j] * factor : factor;
}

template <class T>
class CudaLinear final : public LinearOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  void gemm(Transpose ta, Transpose tb, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta,
            MatrixView<T> C) override {
    if (C.size() == 0) return;
    libraries_.gemm(ta == Transpose::kYes, tb == Transpose::kYes, alpha, A, B, beta, C);
  }

  void gram(T alpha, MatrixView<const T> A, MatrixView<T> C) override {
    if (C.size() == 0) return;
    libraries_.gram_lower(alpha, A, C);
    KEDGE_LAUNCH(runtime_, mirror_lower<T>, row_blocks(C.rows, C.cols), row_block(C.cols), 0, C.data, C.rows, C.stride);
  }

  void weighted_gram(MatrixView<const T> X, MatrixView<const double> W, bool with_ones, MatrixView<T> C) override {
    const std::int64_t q = X.cols + (with_ones ? 1 : 0);
    Matrix<T> scaled(runtime_, X.rows, q);
    for (std::int64_t m = 0; m < W.cols; ++m) {
      KEDGE_LAUNCH(runtime_, scale_rows<T>, row_blocks(X.rows, q), row_block(q), 0, X, W.data + m, W.stride,
                   scaled.data(), q);
      gram(T{1}, std::as_const(scaled).view(), C.row_range(m * q, q));
    }
  }
};

}   // namespace

template <class T>
std::unique_ptr<LinearOps<T>> make_cuda_linear(const CudaParts<T>& parts) {
  return std::make_unique<CudaLinear<T>>(parts);
}
template std::unique_ptr<LinearOps<float>> make_cuda_linear<float>(const CudaParts<float>&);
template std::unique_ptr<LinearOps<double>> make_cuda_linear<double>(const CudaParts<double>&);

}   // namespace kedge::engine
