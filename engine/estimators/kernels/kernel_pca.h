// KernelPCA: principal components of the rows as a kernel sees them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/kernels/kernel_matrix.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct KernelPcaParams {
  std::optional<std::int64_t> n_components;
  std::string kernel = "linear";
  std::optional<double> gamma;
  double degree = 3, coef0 = 1;
  bool remove_zero_eig = false;
};

// Eigenvectors of the kernel matrix of the rows, centred in the kernel's space, in double; few of them by block
// Lanczos. Keeps the rows. Cost: n_rows^2 (n_features + some 10 n_components), or n_rows^3 for many components;
// transform: the kernel with the fitted rows. Errors: kBadData where the kernel has clearly negative eigenvalues.
// Source: Schoelkopf, Smola and Mueller, "Nonlinear component analysis as a kernel eigenvalue problem", Neural
// Computation 10(5), 1998.
template <class T>
class KernelPCA final : public Transformer<T> {
 public:
  explicit KernelPCA(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kRows; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  KernelChoice kernel_choice() const;

  KernelPcaParams params_;
  std::int64_t n_features_ = 0;
  std::vector<T> rows_;                    // fitted, row-major
  std::vector<double> values_, vectors_;   // of the components; a row each
  std::vector<double> row_means_;          // of the kernel matrix
  double mean_ = 0;
};

}   // namespace kedge::engine
