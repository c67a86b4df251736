// The layers of a network and its first parameters.
#include "engine/estimators/neural_network/network_start.h"

#include <algorithm>
#include <cmath>

namespace kedge::engine {
namespace {

constexpr double kEmbeddingBound = 0.05;   // Keras'

}   // namespace

NetworkShape shape_of(const MlpParams& params, std::int64_t n_inputs, std::int64_t n_outputs) {
  NetworkShape shape{.units = {n_inputs}, .n_columns = n_inputs, .hidden = params.hidden_activation()};
  if (!params.layers.is_null()) {
    shape.hidden = Activation::kRelu;
    shape.take(params.layer_list, n_inputs);
  } else {
    for (const std::int64_t units : params.hidden_units()) shape.units.push_back(units);
  }
  shape.units.push_back(n_outputs);
  return shape;
}

template <class V>
std::vector<V> first_parameters(const NetworkShape& shape, LegacyRandom& random) {
  std::vector<V> parameters(static_cast<std::size_t>(shape.n_parameters()));
  const auto draw = [&](std::int64_t first, std::int64_t count, double bound) {
    for (std::int64_t i = first; i < first + count; ++i)
      parameters[static_cast<std::size_t>(i)] = static_cast<V>(-bound + 2 * bound * random.uniform());
  };
  for (std::int64_t l = 0; l < shape.n_layers(); ++l) {
    const double factor = shape.hidden == Activation::kLogistic ? 2 : 6;
    const double bound = std::sqrt(factor / static_cast<double>(shape.inputs(l) + shape.neurons(l)));
    draw(shape.weights_at(l), shape.inputs(l) * shape.neurons(l), bound);
    draw(shape.intercepts_at(l), shape.neurons(l), bound);
  }
  std::int64_t at = shape.intercepts_at(shape.n_layers());
  for (std::size_t l = 0; l < shape.after.size(); ++l) {
    const std::int64_t width = shape.neurons(static_cast<std::int64_t>(l));
    for (const Layer& layer : shape.after[l]) {   // a norm's scale is 1, its shift 0
      if (layer.kind != Layer::Kind::kBatchNorm && layer.kind != Layer::Kind::kLayerNorm) continue;
      std::fill_n(parameters.begin() + at, width, V{1});
      at += 2 * width;
    }
  }
  draw(at, shape.n_parameters() - at, kEmbeddingBound);
  return parameters;
}

std::vector<double> first_moving(const NetworkShape& shape) {
  std::vector<double> moving;
  for (std::size_t l = 0; l < shape.after.size(); ++l) {
    const auto width = static_cast<std::size_t>(shape.neurons(static_cast<std::int64_t>(l)));
    for (const Layer& layer : shape.after[l]) {
      if (layer.kind != Layer::Kind::kBatchNorm) continue;
      moving.insert(moving.end(), width, 0.0), moving.insert(moving.end(), width, 1.0);
    }
  }
  return moving;
}

template std::vector<float> first_parameters(const NetworkShape&, LegacyRandom&);
template std::vector<double> first_parameters(const NetworkShape&, LegacyRandom&);

}   // namespace kedge::engine
