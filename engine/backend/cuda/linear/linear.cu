// Products of dense matrices on the GPU: cuBLAS through libraries.h, and Gram matrices of few columns in one pass.
#include <utility>
#include <vector>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/linear/long_products.cuh"
#include "engine/backend/cuda/linear/row_tiles.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

__global__ void square_roots(const double* values, std::int64_t n, std::int64_t stride, double* roots) {
  const std::int64_t i = own_item();
  if (i < n) roots[i] = sqrt(values[i * stride]);
}

// C = alpha G, which has no padding.
template <class T>
__global__ void narrow(const double* G, double alpha, MatrixView<T> C) {
  const std::int64_t i = own_row();
  if (i >= C.rows) return;
  for (std::int64_t j = threadIdx.x; j < C.cols; j += blockDim.x)
    raw(C)[i * C.stride + j] = static_cast<T>(alpha * G[i * C.cols + j]);
}

template <class T>
class CudaLinear final : public LinearOps<T>, private CudaBody {
 public:
  explicit CudaLinear(const CudaParts<T>& parts) : CudaBody(parts), ops_(parts.ops) {}

  // cuBLAS alone adds all terms in T.
  void gemm(Transpose ta, Transpose tb, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta,
            MatrixView<T> C) override {
    if (C.size() == 0) return;
    const std::int64_t depth = ta == Transpose::kYes ? A.rows : A.cols;
    if (sizeof(T) == sizeof(float) && depth > kPieceDepth)
      return long_product<T, T>(runtime_, libraries_, ta == Transpose::kYes, tb == Transpose::kYes, alpha, A, B, beta,
                                C);
    libraries_.gemm(ta == Transpose::kYes, tb == Transpose::kYes, alpha, A, B, beta, C);
  }

  void gram(T alpha, MatrixView<const T> A, MatrixView<T> C) override {
    if (C.size() == 0) return;
    if (A.cols > kTallColumns) return long_gram<T, T>(runtime_, libraries_, alpha, A, 0, C);
    put_gram({.X = A}, alpha, C);
  }

  void weighted_gram(MatrixView<const T> X, MatrixView<const double> W, bool with_ones, MatrixView<T> C) override {
    const std::int64_t q = X.cols + (with_ones ? 1 : 0);
    const Array<double> one(runtime_,
                            std::vector<double>{1});   // the column of ones: a target whose rows are one place
    Array<double> roots(runtime_, X.rows);
    Design<T> design{.X = X, .weights = std::as_const(roots).view()};
    if (with_ones) design.Y = {one.data(), X.rows, 1, 0};
    for (std::int64_t m = 0; m < W.cols; ++m) {
      KEDGE_LAUNCH(runtime_, square_roots, blocks_for(X.rows, 256), 256, 0, raw(W) + m, X.rows, W.stride, roots.data());
      put_gram(design, 1, C.row_range(m * q, q));
    }
  }

 private:
  void put_gram(const Design<T>& design, double alpha, MatrixView<T> C) {
    Array<double> G(runtime_, C.size());
    ops_.design->gram(design, {G.data(), C.rows, C.cols});
    KEDGE_LAUNCH(runtime_, narrow<T>, row_blocks(C.rows, C.cols), row_block(C.cols), 0, G.data(), alpha, C);
  }

  const Backend<T>& ops_;
};

}   // namespace

template <class T>
std::unique_ptr<LinearOps<T>> make_cuda_linear(const CudaParts<T>& parts) {
  return std::make_unique<CudaLinear<T>>(parts);
}
template std::unique_ptr<LinearOps<float>> make_cuda_linear<float>(const CudaParts<float>&);
template std::unique_ptr<LinearOps<double>> make_cuda_linear<double>(const CudaParts<double>&);

}   // namespace kedge::engine
