// A network of dense layers: its parameters, its values for some rows, and the gradient of its loss.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/ops/network.h"
#include "engine/core/array.h"
#include "engine/core/context.h"

namespace kedge::engine {

// units: columns of the input, neurons of each hidden layer, outputs. Parameters are packed: the weights of each layer
// (inputs x neurons), then the intercepts of each.
struct NetworkShape {
  std::vector<std::int64_t> units;
  Activation hidden = Activation::kRelu;

  std::int64_t n_layers() const { return static_cast<std::int64_t>(units.size()) - 1; }
  std::int64_t inputs(std::int64_t layer) const { return units[static_cast<std::size_t>(layer)]; }
  std::int64_t neurons(std::int64_t layer) const { return units[static_cast<std::size_t>(layer) + 1]; }
  std::int64_t weights_at(std::int64_t layer) const;      // place of a layer's first weight
  std::int64_t intercepts_at(std::int64_t layer) const;   // and of its first intercept
  std::int64_t n_weights() const { return weights_at(n_layers()); }
  std::int64_t n_parameters() const { return intercepts_at(n_layers()); }
};

// V is the type of the arithmetic. Holds layers of up to `most_rows` rows; without `is_trained` forward() alone works.
// Borrows the context.
template <class V>
class Network {
 public:
  Network(const Context& ctx, NetworkShape shape, const std::vector<V>& parameters, std::int64_t most_rows,
          bool is_trained);

  const NetworkShape& shape() const { return shape_; }
  Array<V>& parameters() { return parameters_; }
  const Array<V>& gradient() const { return gradient_; }
  VectorView<const V> bias(std::int64_t layer) const;

  // The values of the last layer for these rows, at most most_rows, before its intercepts.
  MatrixView<V> forward(MatrixView<const V> X);
  // After forward(X): adds loss_scale times the loss to the places of `sums` and makes gradient() of it, all slopes
  // times `slope_scale`.
  void backward(MatrixView<const V> X, OutputLoss loss, const Goals<V>& goals, double loss_scale, double slope_scale,
                VectorView<double> sums);

 private:
  MatrixView<const V> weights(std::int64_t layer) const;
  MatrixView<V> layer(std::vector<Matrix<V>>& of, std::int64_t layer, std::int64_t rows);

  const Context& ctx_;
  NetworkShape shape_;
  Array<V> parameters_, gradient_;
  std::vector<Matrix<V>> values_, slopes_;   // by layer; slopes of hidden layers alone
};

}   // namespace kedge::engine
