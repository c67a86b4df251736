// The penalised logistic loss of a weight vector, its gradient, and its matrix of second derivatives.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/core/context.h"

namespace kedge::engine {

// What the loss is taken over; all device memory, borrowed for the objective's lifetime.
template <class T>
struct LogisticData {
  MatrixView<const T> X;             // n x d; of sparse rows the shape alone
  VectorView<const std::int32_t> y;  // n class positions, 0 .. n_classes - 1
  VectorView<const double> weights;  // n, or empty for 1 each
  double weight_sum = 0;
  std::int32_t n_classes = 0;  // at least 2
  // Of sparse rows, X B and X'B for a double B on the device; T is then double, for a table of either type.
  using Product = std::function<void(MatrixView<const double> B, MatrixView<double> out)>;
  Product times = {}, transpose_times = {};
  bool is_sparse() const { return static_cast<bool>(times); }
};

// What is added to the loss for element j of the vector: l1[j] |w[j]| + l2[j] w[j]^2 / 2. l1 is empty where there is none.
struct LogisticPenalty {
  std::vector<double> l1, l2;
};

// mean of weight[i] * loss(x_i, y_i) + sum l2[j] w[j]^2 / 2, as scikit-learn's LinearModelLoss: multinomial with a row of
// coefficients a class; with two classes a single row, that of the second class. The vector holds the rows of coefficients,
// then one intercept each. penalty.l1 is left to the minimiser. Device buffers are made once.
template <class T>
class LogisticObjective {
 public:
  LogisticObjective(const Context& ctx, const LogisticData<T>& data, const LogisticPenalty& penalty, bool fit_intercept);
  std::int64_t size() const { return n_rows_ * (data_.X.cols + (fit_intercept_ ? 1 : 0)); }
  double operator()(std::span<const double> w, std::span<double> gradient);
  // Of dense rows. hessian: size() x size(), row-major. Directions that change no margin (the same added to every class) and that no penalty
  // holds get a positive curvature, so that the matrix can be inverted; a gradient has no part along them. Cost: one Gram matrix
  // for each pair of classes.
  void curvature(std::span<const double> w, std::span<double> hessian);

 private:
  void upload(std::span<const double> w);
  MatrixView<T> margins(std::span<const double> w);  // without intercepts
  double loss(std::span<const double> w, std::vector<T>& coef_gradient);   // sums over the rows; margins_ become the loss's derivative
  double add_penalty(std::span<const double> w, std::span<double> gradient) const;
  void add_block(std::int64_t a, std::int64_t b, std::span<const T> gram, std::span<double> hessian) const;
  void finish_curvature(std::span<double> hessian) const;
  std::int64_t position(std::int64_t row, std::int64_t column) const;  // in the vector; column d is the intercept

  const Context& ctx_;
  LogisticData<T> data_;
  const LogisticPenalty& penalty_;
  bool fit_intercept_;
  std::int64_t n_rows_;  // of coefficients
  Matrix<T> margins_, coef_, coef_gradient_;
  Array<T> intercept_;
  Array<double> intercept_gradient_;
  std::vector<T> host_;
};

}  // namespace kedge::engine
