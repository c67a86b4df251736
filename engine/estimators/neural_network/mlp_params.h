// The parameters of multi-layer perceptrons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/ops/network.h"
#include "engine/core/params.h"
#include "engine/estimators/neural_network/layer_list.h"

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
  schema::Value verbose = false;

  // Beyond scikit-learn.
  schema::Value layers;   // null: hidden_layer_sizes and activation
  std::optional<std::string> lr_schedule;
  std::optional<double> weight_decay, max_grad_norm;
  std::string scoring = "score";        // or loss, or a scorer's name
  std::vector<Layer> layer_list = {};   // of `layers`
  RateSchedule schedule = {};           // of lr_schedule

  std::vector<std::int64_t> hidden_units() const;
  Activation hidden_activation() const;
  std::optional<std::int64_t> batch() const;   // nothing: auto
  double idle_epochs() const;                  // n_iter_no_change
  bool is_adam() const { return solver == "adam" || solver == "adamw"; }
  double decay() const { return weight_decay.value_or(solver == "adamw" ? 0.01 : 0); }
  bool tells_epochs() const;   // verbose
  bool has_scorer() const { return scoring != "score" && scoring != "loss"; }
  bool is_extended() const;    // whether something is beyond scikit-learn
};

const ParamSet<MlpParams>& mlp_classifier_params();
const ParamSet<MlpParams>& mlp_regressor_params();

// Errors: those of ParamSet::parse(), read_layers() and read_schedule(); kInvalidValue for what does not go together.
MlpParams read_mlp_params(const ParamSet<MlpParams>& set, const schema::ValueMap& values);

}   // namespace kedge::engine
