// PLSRegression: least squares on the directions of the columns that have most in common with the target.
#pragma once

#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct PlsParams {
  std::int64_t n_components = 2;
  bool scale = true;
};

// Partial least squares of one target. The rows are reduced to a triangle in one pass, in which directions, loadings
// and deflations are those of all rows; only the scores of the rows are made of X again. Errors: kBadData for fewer
// than two rows, or more components than rows or columns. Source: Wegelin, "A survey of partial least squares (PLS)
// methods", technical report 371, University of Washington, 2000.
template <class T>
class PLSRegression final : public Regressor<T>, public Transformer<T> {
 public:
  explicit PLSRegression(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  Matrix<double> scores(const Context& ctx, const Samples<T>& X) const;   // rows x components

  PlsParams params_;
  // By component: rows of x_weights_, x_loadings_ and x_rotations_, one number of each of the others.
  std::vector<double> x_weights_, x_loadings_, x_rotations_, y_weights_, y_loadings_;
  std::vector<double> coef_, x_mean_, x_scale_;
  std::vector<double> x_scores_, y_scores_;   // rows x components
  double y_mean_ = 0;
  std::int64_t n_used_ = 0;   // components that found something left of the target
};

}   // namespace kedge::engine
