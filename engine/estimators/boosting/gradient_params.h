// The parameters of exact gradient boosting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/core/params.h"
#include "engine/estimators/boosting/stage_cuts.h"

namespace kedge::engine {

struct GradientParams {
  std::string loss = "squared_error";
  double learning_rate = 0.1;
  std::int64_t n_estimators = 100;
  double subsample = 1, alpha = 0.9;
  schema::Value min_samples_split = 2, min_samples_leaf = 1, max_features;
  double min_weight_fraction_leaf = 0, min_impurity_decrease = 0, ccp_alpha = 0;
  std::optional<std::int64_t> max_depth = 3, max_leaf_nodes, n_iter_no_change, random_state;
  std::optional<std::string> init;
  double validation_fraction = 0.1, tol = 1e-4;

  // Of trees on so many rows and columns, whose weights sum to `weight`.
  StageRules rules(std::int64_t n_rows, std::int64_t n_cols, double weight) const;
  std::int64_t columns_per_split(std::int64_t n_cols) const;   // max_features_
};

struct GradientClassifierParams : GradientParams {
  GradientClassifierParams() { loss = "log_loss"; }
};

const ParamSet<GradientParams>& gradient_regressor_params();
const ParamSet<GradientClassifierParams>& gradient_classifier_params();

}   // namespace kedge::engine
