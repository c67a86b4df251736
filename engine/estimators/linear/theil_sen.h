// TheilSenRegressor: the spatial median of least squares on small subsets of the rows.
#pragma once

#include <optional>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct TheilSenParams {
  bool fit_intercept = true;
  double max_subpopulation = 1e4;
  std::optional<std::int64_t> n_subsamples;
  std::int64_t max_iter = 300;
  double tol = 1e-3;
  std::optional<std::int64_t> random_state;
};

// scikit-learn's subsets for the same seed; all of them where they are few. Subsets are solved by Householder's method
// on the threads of the host, some at a time; the median by Weiszfeld's iterations. Cost: a permutation of the rows and
// p^3 a subset, p the coefficients. Errors: kBadData for n_subsamples that the data do not allow. Source: Dang, Peng,
// Wang and Zhang, "Theil-Sen estimators in a multiple linear regression model", 2008.
template <class T>
class TheilSenRegressor final : public Regressor<T> {
 public:
  explicit TheilSenRegressor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::int64_t subset_size(std::int64_t n_rows, std::int64_t n_cols) const;
  std::vector<std::int32_t> subsets(const Context& ctx, std::int64_t n_rows, std::int64_t size);

  TheilSenParams params_;
  std::vector<double> coef_;
  double intercept_ = 0, breakdown_ = 0;
  std::int64_t n_iter_ = 0, n_subpopulation_ = 0;
};

}   // namespace kedge::engine
