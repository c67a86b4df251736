// Layers of neural networks: activations, what comes back through them, and the optimiser's step.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

enum class Activation : int { kIdentity, kLogistic, kTanh, kRelu, kExp };

// What the last layer's values are compared with, and how. p is what the output makes of a value z.
enum class OutputLoss : int {
  kSquared,   // (p - y)^2 / 2, p = z
  kPoisson,   // y log(y / p) - y + p, p = exp(z)
  kBinary,    // the logistic loss of two classes, p = 1 / (1 + exp(-z)) is the second's share
  kClasses,   // the logistic loss of many, p = softmax(z)
  kMisses,    // 1 where the class is another; one column: the second class is where z > 0
};

// The targets of all rows, and which of them a batch has.
template <class T>
struct Goals {
  VectorView<const std::int32_t> batch;   // positions of its rows
  VectorView<const T> values;             // of kSquared and kPoisson
  VectorView<const std::int32_t> codes;   // of the others
  VectorView<const double> weights;       // empty: all are 1
};

// A step of gradient descent. Source: Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015;
// Nesterov's momentum as scikit-learn takes it.
struct DescentStep {
  bool is_adam = true, is_nesterov = false;
  double rate = 1e-3;
  double first_decay = 0.9, second_decay = 0.999;   // first: the momentum where it is not Adam
  double epsilon = 1e-8;
  std::int64_t n_weights = 0;   // so many parameters come first and are penalised
  double penalty = 0;           // times half their square
  double loss_scale = 1;        // of the penalty, in the sums
};

inline constexpr std::int64_t kLossSums = 256;   // places over which a loss is summed

template <class T>
class NetworkOps {
 public:
  virtual ~NetworkOps() = default;

  // Z[i, j] = f(Z[i, j] + bias[j]), in double, rounded once; relu and identity in T. An empty bias is 0. Agree within 8
  // ulp.
  virtual void activate(Activation f, VectorView<const T> bias, MatrixView<T> Z) = 0;
  // D[i, j] *= f'(z) where A = f(z), and bias_gradient[j] = scale * the new sum_i D[i, j]. A is read unless f is
  // kIdentity. f is not kExp.
  virtual void backward(Activation f, MatrixView<const T> A, double scale, MatrixView<T> D,
                        VectorView<T> bias_gradient) = 0;
  // Z becomes weight * (p - y), the slope of the loss by z + bias; kMisses leaves it. Places of `sums` (kLossSums of
  // them) grow by scale * weight * loss in all. Shares are clipped to eps of T and 1 - eps in losses.
  virtual void output(OutputLoss loss, VectorView<const T> bias, const Goals<T>& goals, double scale, MatrixView<T> Z,
                      VectorView<double> sums) = 0;
  // Moves the parameters against gradient + penalty * weights, in T; `first` and `second` are the running means
  // (second: Adam's alone). Places of `sums` grow by loss_scale * penalty / 2 * the squares of the old weights in all.
  virtual void descend(const DescentStep& step, VectorView<const T> gradient, VectorView<T> parameters,
                       VectorView<T> first, VectorView<T> second, VectorView<double> sums) = 0;
};

}   // namespace kedge::engine
