// OrthogonalMatchingPursuit: least squares on few columns, taken one after the other.
#pragma once

#include <optional>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct OmpParams {
  std::optional<std::int64_t> n_nonzero_coefs;
  std::optional<double> tol;
  bool fit_intercept = true;
};

// Takes the column that has most in common with what is left of the target, and fits all that were taken anew. One pass
// over X for the products of its columns; then O(n_features * n_nonzero_coefs) a column, on the host, in double.
// Errors: kBadData without rows or columns. Source: Mallat and Zhang, "Matching pursuits with time-frequency
// dictionaries", IEEE Transactions on Signal Processing 41, 1993; Rubinstein, Zibulevsky and Elad, technical report
// CS-2008-08, Technion.
template <class T>
class OrthogonalMatchingPursuit final : public Regressor<T> {
 public:
  explicit OrthogonalMatchingPursuit(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  OmpParams params_;
  std::vector<double> coef_;
  double intercept_ = 0;
  std::int64_t n_iter_ = 0, most_ = 0;   // most_: n_nonzero_coefs_; 0 where tol ends it
};

}   // namespace kedge::engine
