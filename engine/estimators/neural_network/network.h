// A network of layers: its parameters, its values for some rows, and the gradient of its loss.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/backend/ops/batch_steps.h"
#include "engine/core/array.h"
#include "engine/core/context.h"
#include "engine/estimators/neural_network/layer_list.h"

namespace kedge::engine {

// units: what the first dense layer reads, neurons of each hidden layer, outputs. Parameters are packed: the weights of
// each layer (inputs x neurons), then the intercepts of each, then scale and shift of each normalisation, then the
// table of each embedding (input_dim x output_dim).
struct NetworkShape {
  std::vector<std::int64_t> units;
  std::int64_t n_columns = 0;   // of the input; without embeddings units.front()
  std::vector<Embedding> embeddings = {};
  Activation hidden = Activation::kRelu;
  std::vector<std::vector<Layer>> after = {};   // by hidden layer: what follows its neurons; empty: `hidden` alone

  std::int64_t n_layers() const { return static_cast<std::int64_t>(units.size()) - 1; }
  std::int64_t inputs(std::int64_t layer) const { return units[static_cast<std::size_t>(layer)]; }
  std::int64_t neurons(std::int64_t layer) const { return units[static_cast<std::size_t>(layer) + 1]; }
  std::int64_t weights_at(std::int64_t layer) const;      // place of a layer's first weight
  std::int64_t intercepts_at(std::int64_t layer) const;   // and of its first intercept
  std::int64_t n_weights() const { return weights_at(n_layers()); }
  std::int64_t embeddings_at() const;   // place of the first table
  std::int64_t n_parameters() const;
  std::int64_t n_moving() const;   // means and variances that batch norms keep

  // The layers of a network of so many columns, without the outputs, which nothing follows. Embeddings of columns that
  // there are not do no harm here: find_missing_column() finds them.
  void take(const std::vector<Layer>& layers, std::int64_t columns);
  std::vector<std::int32_t> plain_columns() const;           // that no embedding names
  std::optional<std::int64_t> find_missing_column() const;   // that an embedding names and the input does not have
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

  // Errors: kBadData for a cell of an embedded column that is no code of it. Waits for the device if there are any.
  void require_codes(const char* owner, MatrixView<const V> X);

  // What dropout draws by: the step's number, or that of the queue's batch. With a step, forward() drops cells and
  // batch norms go by the batch.
  struct Step {
    std::uint64_t seed = 0;
    std::int64_t number = 0;
    const BatchQueue* queue = nullptr;
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

  void add_embeddings(std::int64_t most_rows);
  MatrixView<const V> read_input(MatrixView<const V> X);
  MatrixView<const V> input_of(MatrixView<const V> X) {   // after read_input(X)
    return embedded_.empty() ? X : MatrixView<const V>(input_.view().row_range(0, X.rows));
  }
  void return_to_embeddings(MatrixView<const V> X, MatrixView<const V> slopes, double slope_scale);
  void add_stages(std::int64_t layer, std::int64_t most_rows, std::int64_t& at, std::int64_t& moving_at);
  MatrixView<V> run_stage(Stage& stage, std::int64_t layer, MatrixView<V> from, const Step* step);
  void drop(const Stage& stage, const Step& step, MatrixView<V> Z);
  void return_stage(Stage& stage, double slope_scale, MatrixView<V> slopes, const Step* step);
  MatrixView<V> values_of(std::int64_t layer, std::int64_t rows);   // what the next layer reads
  MatrixView<const V> weights(std::int64_t layer) const;
  MatrixView<V> table(Array<V>& of, std::size_t embedding);   // in parameters or their gradient
  MatrixView<V> layer(std::vector<Matrix<V>>& of, std::int64_t layer, std::int64_t rows);
  VectorView<V> part(Array<V>& of, std::int64_t at, std::int64_t size) { return of.view().slice(at, size); }

  const Context& ctx_;
  NetworkShape shape_;
  bool is_trained_;
  Array<V> parameters_, gradient_, unused_;
  Array<double> moving_;
  std::vector<Matrix<V>> values_, slopes_;   // by layer; slopes of hidden layers alone
  std::vector<std::vector<Stage>> stages_;   // by hidden layer

  // With embeddings: what the first dense layer reads, plain columns and then vectors, and the slopes by the vectors.
  Matrix<V> input_, input_slopes_;
  Array<std::int32_t> plain_;
  std::vector<Array<std::int32_t>> embedded_;   // columns by embedding
};

}   // namespace kedge::engine
