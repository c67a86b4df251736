// Gaussian naive Bayes.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

template <class T>
class BayesOps {
 public:
  virtual ~BayesOps() = default;

  // Per class c < mean.rows: weighted count, mean and population variance of each column over the rows with y = c.
  // Empty rows mean all; y and weights go by position in rows.
  virtual void class_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows,
                             VectorView<const std::int32_t> y, VectorView<const double> weights,
                             VectorView<double> count, MatrixView<double> mean, MatrixView<double> variance) = 0;
  // Z[i, c] = log_prior[c] - 0.5 sum_j (log(2 pi var[c, j]) + (X[i, j] - mean[c, j])^2 / var[c, j]).
  virtual void gaussian_log_likelihood(MatrixView<const T> X, MatrixView<const double> mean,
                                       MatrixView<const double> variance, VectorView<const double> log_prior,
                                       MatrixView<T> Z) = 0;
};

}   // namespace kedge::engine
