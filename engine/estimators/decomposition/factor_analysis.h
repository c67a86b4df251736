// FactorAnalysis: rows as few normal factors, times loadings, plus noise of each column's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct FactorAnalysisParams {
  std::optional<std::int64_t> n_components;
  double tol = 1e-2;
  std::int64_t max_iter = 1000;
  schema::Value noise_variance_init;
  std::string svd_method = "randomized";
  std::optional<std::string> rotation;
};

// The covariance of the rows is all that expectation maximisation needs: X is read once, and an iteration costs the
// leading eigenvectors of a matrix of n_features^2, in double. Errors: kBadData for fewer than 2 rows. Source: Barber,
// "Bayesian reasoning and machine learning", 2012, algorithm 21.1; rotations: Kaiser, "The varimax criterion for
// analytic rotation in factor analysis", Psychometrika 23, 1958.
template <class T>
class FactorAnalysis final : public Transformer<T> {
 public:
  explicit FactorAnalysis(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kColumns; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::vector<double> first_noise() const;
  bool iterate(const Context& ctx, const std::vector<double>& S, double n);

  FactorAnalysisParams params_;
  std::int64_t n_features_ = 0, n_components_ = 0, n_iter_ = 0;
  std::vector<double> components_, mean_, noise_variance_, loglike_;   // n_components x n_features, d, d, iterations
};

}   // namespace kedge::engine
