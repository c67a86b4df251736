// Nystroem: an approximate feature map of a kernel, from some of the rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/kernels/kernel_matrix.h"

namespace kedge::engine {

struct NystroemParams {
  std::string kernel = "rbf";
  std::optional<double> gamma, coef0, degree;
  std::int64_t n_components = 100;
  std::optional<std::int64_t> random_state;
};

// The rows are the first of numpy's RandomState.permutation, as scikit-learn takes them. Cost: n_components^3 in fit, and
// n_samples * n_components * (n_features + n_components) in transform. Singular values below 1e-12 are raised to it.
// Source: Williams and Seeger, NIPS 2001.
template <class T>
class Nystroem final : public Transformer<T> {
 public:
  explicit Nystroem(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return Squares::kRows; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  KernelChoice kernel_choice() const;

  NystroemParams params_;
  std::int64_t n_features_ = 0;
  std::vector<double> component_indices_;
  std::vector<T> components_, normalization_;   // n_components x n_features, n_components x n_components
};

}  // namespace kedge::engine
