// A network of layers: its parameters, its values for some rows, and the gradient of its loss.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/ops/network.h"
#include "engine/core/array.h"
#include "engine/core/context.h"
#include "engine/estimators/neural_network/layer_list.h"

namespace kedge::engine {

// units: columns of the input, neurons of each hidden layer, outputs. Parameters are packed: the weights of each layer
// (inputs x neurons), then the intercepts of each, then scale and shift of each normalisation.
struct NetworkShape {
  std::vector<std::int64_t> units;
  Activation hidden = Activation::kRelu;
  std::vector<std::vector<Layer>> after = {};   // by hidden layer: what follows its neurons; empty: `hidden` alone

  std::int64_t n_layers() const { return static_cast<std::int64_t>(units.size()) - 1; }
  std::int64_t inputs(std::int64_t layer) const { return units[static_cast<std::size_t>(layer)]; }
  std::int64_t neurons(std::int64_t layer) const { return units[static_cast<std::size_t>(layer) + 1]; }
  std::int64_t weights_at(std::int64_t layer) const;      // place of a layer's first weight
  std::int64_t intercepts_at(std::int64_t layer) const;   // and of its first intercept
  std::int64_t n_weights() const { return weights_at(n_layers()); }
  std::int64_t n_parameters() const;
  std::int64_t n_moving() const;   // means and variances that batch norms keep

  // Hidden layers and what follows them, from dense(...) on; nothing follows the outputs.
  void take(const std::vector<Layer>& layers);
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
  Array<V>& gradient() { return gradient_; }
  const Array<double>& moving() const { return moving_; }
  void set_moving(const std::vector<double>& moving);   // of batch norms: shape().n_moving() of them
  VectorView<const V> bias(std::int64_t layer) const;

  // What dropout draws by. With a step, forward() drops cells and batch norms go by the batch.
  struct Step {
    std::uint64_t seed = 0;
    std::int64_t number = 0;
    std::uint64_t stream(std::uint64_t stage) const { return static_cast<std::uint64_t>(number) << 24 | stage; }
  };
  // The values of the last layer for these rows, at most most_rows, before its intercepts.
  MatrixView<V> forward(MatrixView<const V> X, const Step* step = nullptr);
  // After forward(X, step): adds loss_scale times the loss to the places of `sums` and makes gradient() of it, all
  // slopes times `slope_scale`.
  void backward(MatrixView<const V> X, OutputLoss loss, const Goals<V>& goals, double loss_scale, double slope_scale,
                VectorView<double> sums, const Step* step = nullptr);

 private:
  // What follows the neurons of a layer, one after the other.
  struct Stage {
    Layer layer;
    std::int64_t at = 0, moving_at = 0;   // of a normalisation: its scale (then its shift), its moving numbers
    std::uint64_t stream = 0;             // of dropout
    bool is_fused = false;                // an activation that adds the intercepts, in place
    Matrix<V> values = {}, kept = {};     // what it gives; what backward() needs beside that
    Array<double> spread = {};
  };

  void add_stages(std::int64_t layer, std::int64_t most_rows, std::int64_t& at, std::int64_t& moving_at);
  MatrixView<V> run_stage(Stage& stage, std::int64_t layer, MatrixView<V> from, const Step* step);
  void return_stage(Stage& stage, double slope_scale, MatrixView<V> slopes, const Step* step);
  MatrixView<V> values_of(std::int64_t layer, std::int64_t rows);   // what the next layer reads
  MatrixView<const V> weights(std::int64_t layer) const;
  MatrixView<V> layer(std::vector<Matrix<V>>& of, std::int64_t layer, std::int64_t rows);
  VectorView<V> part(Array<V>& of, std::int64_t at, std::int64_t size) { return of.view().slice(at, size); }

  const Context& ctx_;
  NetworkShape shape_;
  bool is_trained_;
  Array<V> parameters_, gradient_, unused_;
  Array<double> moving_;
  std::vector<Matrix<V>> values_, slopes_;   // by layer; slopes of hidden layers alone
  std::vector<std::vector<Stage>> stages_;   // by hidden layer
};

}   // namespace kedge::engine
