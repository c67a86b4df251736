// KernelRidge: ridge regression on the features of a kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/kernels/kernel_matrix.h"

namespace kedge::engine {

struct KernelRidgeParams {
  schema::Value alpha = 1.0;
  std::string kernel = "linear";
  std::optional<double> gamma;
  double degree = 3, coef0 = 1;
};

// Solves (K + alpha I) c = y by Cholesky's method, with the square roots of the weights on both sides of K. Where that
// is not positive definite, warns and takes the shortest solution of least squares. Cost: n_samples^2 * n_features +
// n_samples^3 / 3; memory for the kernel matrix. Everything but the results stays on the device.
template <class T>
class KernelRidge final : public Regressor<T> {
 public:
  explicit KernelRidge(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return Squares::kRows; }
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  KernelChoice kernel_choice() const;

  KernelRidgeParams params_;
  double alpha_ = 1;
  std::int64_t n_features_ = 0;
  std::vector<T> rows_;             // n_samples x n_features
  std::vector<double> dual_coef_;   // n_samples
};

}   // namespace kedge::engine
