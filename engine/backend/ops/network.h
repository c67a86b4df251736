// Layers of neural networks: activations, what comes back through them, and the optimiser's step.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/backend/ops/tables.h"
#include "engine/core/view.h"

namespace kedge::engine {

enum class Activation : int { kIdentity, kLogistic, kTanh, kRelu, kExp, kLeakyRelu, kElu, kGelu, kSilu };

// Whose slope is not a formula of its value: what comes back through it needs what went in.
inline bool slopes_by_input(Activation f) {
  return f == Activation::kGelu || f == Activation::kSilu;
}

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
  bool is_rmsprop = false;      // neither Adam nor momentum: only the mean of squares
  double shrinkage = 0;         // share of itself that a weight loses before the step: decoupled decay
};

inline constexpr std::int64_t kLossSums = 256;   // places over which a loss is summed

// What a normalisation takes its mean and variance over.
enum class NormOver : int {
  kBatch,   // a column's rows
  kRow,     // a row's columns
};

template <class T>
class NetworkOps {
 public:
  virtual ~NetworkOps() = default;

  // Z[i, j] = f(Z[i, j] + bias[j]), in double, rounded once; relu and identity in T. An empty bias is 0. Agree within 8
  // ulp.
  virtual void activate(Activation f, VectorView<const T> bias, MatrixView<T> Z) = 0;
  // D[i, j] *= f'(z) where A = f(z), or A = z with slopes_by_input(f), and bias_gradient[j] = scale * the new sum_i
  // D[i, j]. A is read unless f is kIdentity. f is not kExp.
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

  // Dropout: a cell becomes 0 with probability `rate`, otherwise it grows by 1 / (1 - rate). Philox draws by seed,
  // stream and the cell's place, so that a second call drops the same cells.
  virtual void drop(double rate, std::uint64_t seed, std::uint64_t stream, MatrixView<T> Z) = 0;
  // H = (Z - mean) / sqrt(variance + epsilon), spread = 1 / that root (a number for each column, or each row), and
  // Z[i, j] = scale[j] * H[i, j] + shift[j]. In double, rounded at the end. An empty H is not written. With kBatch,
  // `moving` (means, then variances of n - 1 rows) comes nearer to those of Z by `momentum`; otherwise it is empty.
  virtual void normalize(NormOver over, double epsilon, VectorView<const T> scale, VectorView<const T> shift,
                         MatrixView<T> Z, MatrixView<T> H, VectorView<double> spread, double momentum,
                         VectorView<double> moving) = 0;
  // The same by the means and variances of `moving`.
  virtual void normalize_as_seen(double epsilon, VectorView<const T> scale, VectorView<const T> shift,
                                 VectorView<const double> moving, MatrixView<T> Z) = 0;
  // What comes back through normalize(): D becomes the slopes by its input; the gradients of scale and shift are
  // gradient_scale times their sums over the rows.
  virtual void normalize_backward(NormOver over, VectorView<const T> scale, MatrixView<const T> H,
                                  VectorView<const double> spread, double gradient_scale, MatrixView<T> D,
                                  VectorView<T> scale_gradient, VectorView<T> shift_gradient) = 0;
  // Scales a gradient whose norm exceeds `most` to that norm. `places` are kLossSums numbers of scratch.
  virtual void clip_norm(double most, VectorView<T> gradient, VectorView<double> places) = 0;

  // The first cell (in row-major order) of these columns of X that is no integer from 0 to n_codes - 1, if any; its
  // column is that of X. Waits for the device.
  virtual std::optional<Cell> find_no_code(MatrixView<const T> X, VectorView<const std::int32_t> columns,
                                           std::int64_t n_codes) = 0;
  // out[i, c * width + j] = table[X[i, columns[c]], j] for the table's `width` columns. The cells are codes of it.
  virtual void embed(MatrixView<const T> X, VectorView<const std::int32_t> columns, MatrixView<const T> table,
                     MatrixView<T> out) = 0;
  // What comes back through embed(): gradient[k, j] = scale * the sum of D[i, c * width + j] over the cells with code
  // k, 0 where there are none, of fewer than 2^31 cells. In double, by rows and then columns, rounded once: the same
  // bits on every device.
  virtual void embed_backward(MatrixView<const T> X, VectorView<const std::int32_t> columns, double scale,
                              MatrixView<const T> D, MatrixView<T> gradient) = 0;
};

}   // namespace kedge::engine
