// NMF: rows as sums of parts, none of which is negative.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/core/params.h"
#include "engine/estimators/decomposition/nmf_solver.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/fit_transformer.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct NMFParams {
  schema::Value n_components = std::string("auto"), alpha_H = std::string("same");
  std::optional<std::string> init;
  std::string solver = "cd", beta_loss = "frobenius";
  double tol = 1e-4, alpha_W = 0, l1_ratio = 0;
  std::int64_t max_iter = 200;
  std::optional<std::int64_t> random_state;
  bool shuffle = false;
};

// X is about W H with W (n_samples x n_components) and H (components_) at least 0. Starts from the singular vectors of
// X, from which W and H take the positive or the negative parts: Boutsidis, Gallopoulos, "SVD based initialization: a
// head start for nonnegative matrix factorization", Pattern Recognition 41, 2008. Cost of an iteration: 4 n_samples
// n_features n_components and, by coordinates, 2 n_samples n_components^2. Errors: kBadData for negative values, and
// for more components than rows or columns where init takes singular vectors.
template <class T>
class NMF final : public Transformer<T>, public FitTransformer<T> {
 public:
  explicit NMF(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kProducts; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  bool has_own_fit_transform() const override { return true; }   // W of the fit, not W for the last H
  Samples<T> fit_transform(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  NmfOptions options(std::int64_t n, std::int64_t d) const;
  Matrix<T> fit_rows(const Context& ctx, const Samples<T>& X);   // W'
  void warn_of_no_convergence(const Context& ctx, std::int64_t n_iter) const;
  LegacyRandom random(const Context& ctx) const;

  NMFParams params_;
  std::int64_t n_features_ = 0, n_components_ = 0, n_iter_ = 0;
  double error_ = 0;
  std::vector<T> components_;   // n_components x n_features
};

}   // namespace kedge::engine
