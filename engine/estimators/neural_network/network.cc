// Forward and backward passes, a product and a map for each layer.
#include "engine/estimators/neural_network/network.h"

#include <span>
#include <utility>

namespace kedge::engine {

std::int64_t NetworkShape::weights_at(std::int64_t layer) const {
  std::int64_t at = 0;
  for (std::int64_t l = 0; l < layer; ++l) at += inputs(l) * neurons(l);
  return at;
}

std::int64_t NetworkShape::intercepts_at(std::int64_t layer) const {
  std::int64_t at = n_weights();
  for (std::int64_t l = 0; l < layer; ++l) at += neurons(l);
  return at;
}

template <class V>
Network<V>::Network(const Context& ctx, NetworkShape shape, const std::vector<V>& parameters, std::int64_t most_rows,
                    bool is_trained)
    : ctx_(ctx),
      shape_(std::move(shape)),
      parameters_(ctx.memory(), std::span<const V>(parameters)),
      gradient_(ctx.memory(), is_trained ? parameters_.size() : 0) {
  for (std::int64_t l = 0; l < shape_.n_layers(); ++l) {
    values_.emplace_back(ctx.memory(), most_rows, shape_.neurons(l));
    if (is_trained && l + 1 < shape_.n_layers()) slopes_.emplace_back(ctx.memory(), most_rows, shape_.neurons(l));
  }
}

template <class V>
VectorView<const V> Network<V>::bias(std::int64_t layer) const {
  return parameters_.view().slice(shape_.intercepts_at(layer), shape_.neurons(layer));
}

template <class V>
MatrixView<const V> Network<V>::weights(std::int64_t layer) const {
  return {parameters_.data() + shape_.weights_at(layer), shape_.inputs(layer), shape_.neurons(layer)};
}

template <class V>
MatrixView<V> Network<V>::layer(std::vector<Matrix<V>>& of, std::int64_t layer, std::int64_t rows) {
  return of[static_cast<std::size_t>(layer)].view().row_range(0, rows);
}

template <class V>
MatrixView<V> Network<V>::forward(MatrixView<const V> X) {
  const Backend<V>& ops = ctx_.ops<V>();
  MatrixView<const V> from = X;
  for (std::int64_t l = 0; l < shape_.n_layers(); ++l) {
    const MatrixView<V> to = layer(values_, l, X.rows);
    ops.linear->gemm(Transpose::kNo, Transpose::kNo, V{1}, from, weights(l), V{0}, to);
    if (l + 1 < shape_.n_layers()) ops.network->activate(shape_.hidden, bias(l), to);
    from = to;
  }
  return layer(values_, shape_.n_layers() - 1, X.rows);
}

template <class V>
void Network<V>::backward(MatrixView<const V> X, OutputLoss loss, const Goals<V>& goals, double loss_scale,
                          double slope_scale, VectorView<double> sums) {
  const Backend<V>& ops = ctx_.ops<V>();
  const std::int64_t last = shape_.n_layers() - 1;
  MatrixView<V> slopes = layer(values_, last, X.rows);
  ops.network->output(loss, bias(last), goals, loss_scale, slopes, sums);
  for (std::int64_t l = last; l >= 0; --l) {
    const MatrixView<const V> own = l == last ? MatrixView<const V>() : layer(values_, l, X.rows);
    ops.network->backward(l == last ? Activation::kIdentity : shape_.hidden, own, slope_scale, slopes,
                          gradient_.view().slice(shape_.intercepts_at(l), shape_.neurons(l)));
    const MatrixView<const V> below = l == 0 ? X : layer(values_, l - 1, X.rows);
    const MatrixView<V> into(gradient_.data() + shape_.weights_at(l), shape_.inputs(l), shape_.neurons(l));
    ops.linear->gemm(Transpose::kYes, Transpose::kNo, static_cast<V>(slope_scale), below, slopes, V{0}, into);
    if (l == 0) return;
    const MatrixView<V> next = layer(slopes_, l - 1, X.rows);
    ops.linear->gemm(Transpose::kNo, Transpose::kYes, V{1}, slopes, weights(l), V{0}, next);
    slopes = next;
  }
}

template class Network<float>;
template class Network<double>;

}   // namespace kedge::engine
