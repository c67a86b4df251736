// A regression on many rows by its products alone: those of all columns with the target and with the requested columns.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/estimators/samples.h"

namespace kedge::engine {

// Products of the centred (with an intercept), weighted columns, in double, on the host. Borrows the samples.
template <class T>
class TallProducts {
 public:
  // y and weights (device): one a row, weights that sum to the number of rows, or none. `mean`: about the means of the
  // columns, from a sample; sums are taken of differences from these, and once more where one is far off the mean for
  // the spread of its column.
  TallProducts(const Context& ctx, const Samples<T>& X, MatrixView<const double> y, VectorView<const double> weights,
               bool fit_intercept, std::vector<double> mean);

  // The products with these columns, none of them there yet: one pass over X. Many columns bring all others along. Errors:
  // kCancelled.
  void take(const std::vector<std::int32_t>& columns);

  std::int64_t n_cols() const { return d_; }
  const std::vector<std::int32_t>& taken() const { return taken_; }
  bool has(std::int32_t column) const { return is_taken_[static_cast<std::size_t>(column)]; }
  // The rest needs one take().
  double y_squared() const { return y_squared_; }
  const std::vector<double>& with_target() const { return with_target_; }   // one a column
  // X'(y - X w) for a w that is 0 outside of taken().
  std::vector<double> slopes(const std::vector<double>& w) const;
  // Of the taken columns and, last, the target, on the device.
  Matrix<double> gram(const Context& ctx) const;
  double intercept(const std::vector<double>& w) const;

 private:
  struct Sums {   // products of some columns with all, and the squares of all
    std::vector<double> products, squares;
  };
  Sums sums(const std::vector<std::int32_t>& columns) const;
  bool centre(const Sums& found);
  void keep(const double* products, std::int32_t column);

  const Context& ctx_;
  const Samples<T>& X_;
  std::int64_t d_;
  bool fit_intercept_;
  double y_mean_ = 0, y_squared_ = 0, total_ = 0;   // total_: of the weights; 0 before the first pass
  Matrix<double> targets_;                          // the centred target, and ones
  Array<double> roots_;                             // of the weights
  std::vector<double> mean_, off_, with_target_;    // off_: how far the means are from mean_
  std::vector<bool> is_taken_, is_constant_;
  std::vector<std::int32_t> taken_;
  std::vector<std::vector<double>> products_;   // of each taken column with all columns
};

}   // namespace kedge::engine
