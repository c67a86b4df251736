// What linear models share: the centred, weighted least-squares problem of some samples, and predictions made of coefficients.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/context.h"
#include "engine/core/uploaded.h"
#include "engine/estimators/samples.h"
#include "engine/estimators/target.h"

namespace kedge::engine {

// Samples and targets as a design in double: columns of X less their weighted means (with an intercept), targets less theirs,
// rows times the square roots of their weights. Nothing of X, which is dense, is copied. Borrows the samples' table.
template <class T>
class LinearProblem {
 public:
  // What is found of each column: its mean, one pass over X; or how far it spreads as well, two passes.
  enum class Moments : std::uint8_t { kMean, kSpread };
  // Y (device): X.n_rows() x targets. weights (device): one per row, or empty. Errors: kBadData naming `owner`, for no
  // rows, no columns, or weights that sum to 0; kCancelled.
  LinearProblem(const Context& ctx, const char* owner, const Samples<T>& X, MatrixView<const double> Y,
                VectorView<const double> weights, bool fit_intercept, Moments moments = Moments::kMean);
  // The same with the values and weights of a target, and with Y (row-major) and weights on the host.
  LinearProblem(const Context& ctx, const char* owner, const Samples<T>& X, const Target& y, bool fit_intercept,
                Moments moments = Moments::kMean)
      : LinearProblem(ctx, owner, X, y.device_values(ctx), y.device_weights(ctx), fit_intercept, moments) {}
  LinearProblem(const Context& ctx, const char* owner, const Samples<T>& X, std::span<const double> Y,
                std::int64_t n_targets, const std::vector<double>& weights, bool fit_intercept,
                Moments moments = Moments::kMean)
      : LinearProblem(ctx, owner, X, Uploaded<double>(ctx, Y).matrix(n_targets), Uploaded<double>(ctx, weights).view(),
                      fit_intercept, moments) {}

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t n_cols() const { return n_cols_; }
  std::int64_t n_targets() const { return n_targets_; }
  const std::vector<double>& mean() const { return mean_; }       // of the columns; 0 without an intercept
  const std::vector<double>& y_mean() const { return y_mean_; }   // of the targets; 0 without an intercept
  // Root mean square of the centred columns, 0 where it is rounding; empty without Moments::kSpread.
  const std::vector<double>& spread() const { return spread_; }

  // From now on the design's columns are these times its own; one factor a column, none 0.
  void scale_columns(const Context& ctx, const std::vector<double>& factors);

  // Of the columns of X and then the targets: p x p with p = n_cols() + n_targets(), on the device.
  Matrix<double> gram(const Context& ctx) const;
  Matrix<double> triangle(const Context& ctx) const;
  // X'(y - X coef) of the first target, centred and weighted; no coef is 0. One pass over X.
  std::vector<double> slopes(const Context& ctx, std::span<const double> coef = {}) const;
  // |y - X coef|^2 of the first target, centred and weighted: the sum of the residuals' squares itself. One pass over
  // X.
  double residual_squares(const Context& ctx, std::span<const double> coef) const;
  // The rows of the design without its targets (n_rows() x n_cols()), and the targets alone (copied to the host,
  // row-major).
  Matrix<double> rows(const Context& ctx) const;
  std::vector<double> targets(const Context& ctx) const;
  Matrix<double> weighted_targets(const Context& ctx, std::int64_t n_targets) const;   // the first of them
  Design<T> design() const;   // whose Y are the centred targets, not weighted

  // The intercept of each target for coefficients (targets x columns) of the columns as the samples have them.
  std::vector<double> intercepts(std::span<const double> coef) const;

 private:
  Samples<T> X_;
  std::int64_t n_rows_, n_cols_, n_targets_;
  std::vector<double> mean_, y_mean_, spread_, scale_;
  Array<double> device_shift_, device_scale_, device_weights_;
  Matrix<double> device_targets_;
};

// The samples' values in double, neither centred nor weighted.
template <class T>
Matrix<double> sample_rows(const Context& ctx, const Samples<T>& X);

// X coef' + intercept (X.n_rows() x targets) on the device, in double; X may be sparse. coef: targets x columns, row-major, host.
template <class T>
Matrix<double> linear_values(const Context& ctx, const Samples<T>& X, std::span<const double> coef,
                             std::span<const double> intercept);

}   // namespace kedge::engine
