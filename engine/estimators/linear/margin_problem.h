// Sums over rows of a loss of each row's margin x'w + b: the passes over the rows that Poisson, Huber and hinge losses
// share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/linear/row_lanes.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

// What a loss reads of a block of rows, and what it writes for each, times the row's weight.
struct MarginRows {
  MatrixView<double> z;   // margins
  MatrixView<const double> y, weights;
  MatrixView<double> dual;      // multipliers, where the problem keeps them
  MatrixView<double> scratch;   // for what the loss likes
};
struct MarginParts {
  MatrixView<double> slope;           // the loss's derivative by the margin
  MatrixView<double> first, second;   // two parts of the loss, whose sums the caller combines
};

// A formula on lanes. Host factors that are the same for all rows are left to the caller.
class MarginLoss {
 public:
  virtual ~MarginLoss() = default;
  virtual void write(const LaneMath& math, const MarginRows& rows, const MarginParts& out) const = 0;
  // The second derivative by the margin, or what stands in for it, at least 0; rows.z may be overwritten.
  virtual void write_curvature(const LaneMath& math, const MarginRows& rows, MatrixView<double> out) const = 0;
  // Replaces rows.dual.
  virtual void write_dual(const LaneMath&, const MarginRows&) const {}
};

struct MarginSums {
  double first = 0, second = 0;
  std::vector<double> slopes;   // of the columns, and of the intercept
};

// The columns of X less `shift` times `scale`, followed by one column of `ones` where that is not 0. Where there are
// signs, each row, with its ones, counts times its sign. Borrows the samples' table; holds a few numbers a row.
template <class T>
class MarginProblem {
 public:
  // X is dense; weights empty: 1 each.
  MarginProblem(const Context& ctx, const Samples<T>& X, std::vector<double> y, std::vector<double> weights,
                std::vector<double> shift, std::vector<double> scale, double ones, std::vector<double> signs = {});

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t size() const { return X_.n_cols() + (ones_value_ != 0 ? 1 : 0); }   // of a vector of coefficients
  double ones() const { return ones_value_; }
  double weight_sum() const { return weight_sum_; }
  const std::vector<double>& targets() const { return y_host_; }

  // At the coefficients v. One pass over X, one wait.
  MarginSums sums(const Context& ctx, const MarginLoss& loss, std::span<const double> v);
  // The sum of each row's curvature times the products of its columns with each other, size() x size(); with_residual
  // adds a last column of margin - y. Two passes over X.
  std::vector<double> curvature(const Context& ctx, const MarginLoss& loss, std::span<const double> v,
                                bool with_residual = false);

  // Keeps a multiplier a row, 0 at first; and replaces them by what the loss makes of the margins at v.
  void keep_duals(const Context& ctx) { dual_ = RowLanes(ctx, n_rows_, 0.0); }
  void update_duals(const Context& ctx, const MarginLoss& loss, std::span<const double> v);

  // About `count` rows from evenly spaced places, as a problem of its own whose columns are shifted and scaled already.
  struct Sample {
    Samples<double> X;
    std::vector<double> y, weights, signs;
  };
  Sample sample(const Context& ctx, std::int64_t count) const;

 private:
  Design<T> design() const;
  MarginRows rows_of(std::int64_t first, std::int64_t count,
                     RowLanes& margins);   // which has room for scratch behind them
  template <class Visit>
  void for_blocks(const Context& ctx, std::span<const double> v, Visit visit);

  Samples<T> X_;
  std::int64_t n_rows_;
  double ones_value_;
  std::vector<double> y_host_, weights_host_, signs_host_;
  double weight_sum_;
  Array<double> shift_, scale_, signs_;
  Matrix<double> ones_;   // n x 1, or nothing
  RowLanes y_, weights_, curvature_, dual_;
};

}   // namespace kedge::engine
