// The parameters of multi-layer perceptrons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/ops/network.h"
#include "engine/core/params.h"

namespace kedge::engine {

struct MlpParams {
  std::string loss = "squared_error";   // of the regressor
  schema::Value hidden_layer_sizes = schema::ValueList{schema::Value(100)};
  std::string activation = "relu", solver = "adam";
  double alpha = 1e-4;
  schema::Value batch_size = std::string("auto");
  std::string learning_rate = "constant";
  double learning_rate_init = 1e-3, power_t = 0.5;
  std::int64_t max_iter = 200;
  bool shuffle = true;
  std::optional<std::int64_t> random_state;
  double tol = 1e-4;
  double momentum = 0.9;
  bool nesterovs_momentum = true, early_stopping = false;
  double validation_fraction = 0.1, beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-8;
  schema::Value n_iter_no_change = std::int64_t{10};
  std::int64_t max_fun = 15000;

  std::vector<std::int64_t> hidden_units() const;
  Activation hidden_activation() const;
  std::optional<std::int64_t> batch() const;   // nothing: auto
  double idle_epochs() const;                  // n_iter_no_change
};

const ParamSet<MlpParams>& mlp_classifier_params();
const ParamSet<MlpParams>& mlp_regressor_params();

}   // namespace kedge::engine
