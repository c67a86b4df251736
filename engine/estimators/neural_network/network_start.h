// The layers of a network that is asked for, and the numbers with which its training begins.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/estimators/neural_network/mlp_params.h"
#include "engine/estimators/neural_network/network.h"

namespace kedge::engine {

NetworkShape shape_of(const MlpParams& params, std::int64_t n_inputs, std::int64_t n_outputs);

// Uniform within bounds that keep the spread of values and slopes, in scikit-learn's order; a norm's scale is 1, its
// shift 0. Embeddings are drawn last, uniform from -0.05 to 0.05. Source: Glorot and Bengio, "Understanding the
// difficulty of training deep feedforward neural networks", AISTATS 2010.
template <class V>
std::vector<V> first_parameters(const NetworkShape& shape, LegacyRandom& random);

// What batch norms hold before the first batch: means of 0 and variances of 1.
std::vector<double> first_moving(const NetworkShape& shape);

}   // namespace kedge::engine
