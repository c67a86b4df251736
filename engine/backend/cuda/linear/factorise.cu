// Factorisations and solvers on the GPU: cuSOLVER through libraries.h, and the steps of non-negative factorisation.
#include <string>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/linear/factor_steps.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

template <class T>
class CudaFactorise final : public FactoriseOps<T>, public FactorOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  bool solve_positive(MatrixView<T> A, MatrixView<T> B) override {
    return A.size() == 0 || libraries_.solve_positive(A, B);
  }

  void eigh(MatrixView<T> A, VectorView<T> w) override {
    if (A.size()) libraries_.eigh(A, w);
  }

  void svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt) override {
    if (A.size()) libraries_.svd(A, U, s, Vt);
  }

  void orthonormalize(MatrixView<T> A) override {
    if (A.rows < A.cols)
      throw schema::Error(schema::ErrorCode::kInternal, "orthonormalize: " + std::to_string(A.rows) +
                                                            " rows, must be at least the " + std::to_string(A.cols) +
                                                            " columns");
    if (A.size()) libraries_.orthonormalize(A);
  }

  std::unique_ptr<FactorSteps<T>> factor_steps(const FactorProblem<T>& problem) override {
    return cuda_factor_steps(runtime_, problem);
  }
};

}   // namespace

template <class T>
std::unique_ptr<FactoriseOps<T>> make_cuda_factorise(const CudaParts<T>& parts) {
  return std::make_unique<CudaFactorise<T>>(parts);
}
template std::unique_ptr<FactoriseOps<float>> make_cuda_factorise<float>(const CudaParts<float>&);
template std::unique_ptr<FactoriseOps<double>> make_cuda_factorise<double>(const CudaParts<double>&);

}   // namespace kedge::engine
