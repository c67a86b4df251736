// The parameters of histogram gradient boosting, once for both estimators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/core/params.h"

namespace kedge::engine {

struct HistBoostingParams {
  std::string loss = "squared_error";
  std::optional<double> quantile;
  double learning_rate = 0.1;
  std::int64_t max_iter = 100;
  std::optional<std::int64_t> max_leaf_nodes = 31, max_depth;
  std::int64_t min_samples_leaf = 20;
  double l2_regularization = 0, max_features = 1.0;
  std::int64_t max_bins = 255;
  schema::Value categorical_features = "from_dtype", monotonic_cst, interaction_cst;
  bool warm_start = false;
  schema::Value early_stopping = "auto";
  std::string scoring = "loss";
  schema::Value validation_fraction = 0.1;
  std::int64_t n_iter_no_change = 10;
  double tol = 1e-7;
  std::optional<std::int64_t> random_state;
  schema::Value class_weight;
};

struct HistClassifierParams : HistBoostingParams {
  HistClassifierParams() { loss = "log_loss"; }
};
struct HistRegressorParams : HistBoostingParams {};

const ParamSet<HistClassifierParams>& hist_classifier_params();
const ParamSet<HistRegressorParams>& hist_regressor_params();

// Refuses what bounds cannot: combinations, and what is not here. Errors: kInvalidValue.
void check_hist_params(const char* owner, const HistBoostingParams& params);

}   // namespace kedge::engine
