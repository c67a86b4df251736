// The parameters of trees and forests, and the options of TreeOps that follow from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/ops/trees.h"
#include "engine/core/params.h"

namespace kedge::engine {

// Of all of them together; an estimator declares those that it has. The structs below have the defaults that differ.
struct TreeParams {
  std::int64_t n_estimators = 100;
  std::string criterion = "gini", splitter = "best";
  std::optional<std::int64_t> max_depth;
  schema::Value min_samples_split = 2, min_samples_leaf = 1;
  double min_weight_fraction_leaf = 0;
  schema::Value max_features;
  std::optional<std::int64_t> max_leaf_nodes;
  double min_impurity_decrease = 0;
  bool bootstrap = false, oob_score = false;
  std::optional<std::int64_t> random_state;
  std::string draws = "kedge";
  bool warm_start = false;
  schema::Value class_weight;
  double ccp_alpha = 0;
  schema::Value max_samples, monotonic_cst;
};

struct RandomForestClassifierParams : TreeParams {
  RandomForestClassifierParams() { max_features = "sqrt", bootstrap = true; }
};
struct ExtraTreesClassifierParams : TreeParams {
  ExtraTreesClassifierParams() { max_features = "sqrt", splitter = "random"; }
};
struct RandomForestRegressorParams : TreeParams {
  RandomForestRegressorParams() { criterion = "squared_error", max_features = 1.0, bootstrap = true; }
};
struct ExtraTreesRegressorParams : TreeParams {
  ExtraTreesRegressorParams() { criterion = "squared_error", max_features = 1.0, splitter = "random"; }
};
struct DecisionTreeClassifierParams : TreeParams {
  DecisionTreeClassifierParams() { n_estimators = 1; }
};
struct DecisionTreeRegressorParams : TreeParams {
  DecisionTreeRegressorParams() { n_estimators = 1, criterion = "squared_error"; }
};

const ParamSet<RandomForestClassifierParams>& random_forest_classifier_params();
const ParamSet<ExtraTreesClassifierParams>& extra_trees_classifier_params();
const ParamSet<RandomForestRegressorParams>& random_forest_regressor_params();
const ParamSet<ExtraTreesRegressorParams>& extra_trees_regressor_params();
const ParamSet<DecisionTreeClassifierParams>& decision_tree_classifier_params();
const ParamSet<DecisionTreeRegressorParams>& decision_tree_regressor_params();

// Refuses what bounds cannot: combinations, and what is not implemented. Errors: kInvalidValue.
void check_tree_params(const char* owner, const TreeParams& params);

// Everything but weights. weight_sum: of the rows, their number without weights.
ForestOptions tree_options(const TreeParams& params, std::int64_t n_rows, std::int64_t n_cols, double weight_sum, std::uint64_t job_seed);

// Columns looked at for a split: max_features_.
std::int64_t columns_per_split(const schema::Value& max_features, std::int64_t n_cols);

}  // namespace kedge::engine
