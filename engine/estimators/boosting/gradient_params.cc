// Declares the parameters of exact gradient boosting.
#include "engine/estimators/boosting/gradient_params.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/estimators/trees/tree_params.h"

namespace kedge::engine {
namespace {

template <class P, class M>
constexpr M P::* member(M GradientParams::* base) {
  return base;
}

template <class P>
ParamSet<P> param_set(const char* owner, std::vector<std::string> losses) {
  ParamSet<P> set(owner);
  set.add("loss", &P::loss, std::move(losses), "What the trees lower.")
      .add("learning_rate", &P::learning_rate, at_least(0), "Share of each tree's prediction that is added.")
      .add("n_estimators", &P::n_estimators, between(1, 1e6),
           "Stages; each has a tree, or one for each of many classes.")
      .add("subsample", &P::subsample, above_up_to(0, 1), "Share of the rows that each stage draws.")
      .ignore("criterion", "deprecated", {string_form({"squared_error", "friedman_mse", "deprecated"})})
      .any("min_samples_split", member<P>(&P::min_samples_split),
           {integer_form(at_least(2)), number_form(above_up_to(0, 1))},
           "Fewest rows of a node that is split, as a number or a share of all.")
      .any("min_samples_leaf", member<P>(&P::min_samples_leaf), {integer_form(at_least(1)), number_form(inside(0, 1))},
           "Fewest rows of a leaf, as a number or a share of all.")
      .add("min_weight_fraction_leaf", &P::min_weight_fraction_leaf, between(0, 0.5),
           "Least share of the weight in a leaf.")
      .add("max_depth", &P::max_depth, at_least(1), "Deepest a tree may get; null for no limit.")
      .add("min_impurity_decrease", &P::min_impurity_decrease, at_least(0), "Least decrease of impurity by a split.")
      .any("init", member<P>(&P::init), {string_form({"zero"}), null_form()},
           "What comes before the trees: zero, or null for the best constant.")
      .random_state(&P::random_state)
      .any("max_features", member<P>(&P::max_features),
           {string_form({"sqrt", "log2"}), integer_form(at_least(1)), number_form(above_up_to(0, 1)), null_form()},
           "Columns looked at for a split; null for all.")
      .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
      .add("max_leaf_nodes", &P::max_leaf_nodes, at_least(2),
           "Most leaves of a tree, grown best first; null for no limit.")
      .ignore("warm_start", false, {boolean_form()})
      .add("validation_fraction", &P::validation_fraction, inside(0, 1),
           "Share of the rows that n_iter_no_change sets aside.")
      .add("n_iter_no_change", &P::n_iter_no_change, at_least(1),
           "Stages without improvement on the rows set aside before the end; null for no such end.")
      .add("tol", &P::tol, at_least(0), "Least improvement that counts.")
      .add("ccp_alpha", &P::ccp_alpha, at_least(0), "What a leaf costs when trees are pruned; 0 for no pruning.");
  return set;
}

std::int64_t count_of(const schema::Value& value, double n) {
  if (const auto* count = std::get_if<std::int64_t>(&value.data)) return *count;
  return static_cast<std::int64_t>(std::ceil(std::get<double>(value.data) * n));
}

}   // namespace

const ParamSet<GradientParams>& gradient_regressor_params() {
  static const ParamSet<GradientParams> set =
      param_set<GradientParams>("GradientBoostingRegressor", {"squared_error", "absolute_error", "huber", "quantile"})
          .add("alpha", &GradientParams::alpha, inside(0, 1),
               "The quantile of loss quantile, and that of huber's errors.");
  return set;
}

const ParamSet<GradientClassifierParams>& gradient_classifier_params() {
  static const auto set =
      param_set<GradientClassifierParams>("GradientBoostingClassifier", {"log_loss", "exponential"});
  return set;
}

std::int64_t GradientParams::columns_per_split(std::int64_t n_cols) const {
  return engine::columns_per_split(max_features, n_cols);
}

StageRules GradientParams::rules(std::int64_t n_rows, std::int64_t n_cols, double weight) const {
  const auto n = static_cast<double>(n_rows);
  StageRules rules{.max_depth = max_depth.value_or(std::numeric_limits<std::int32_t>::max()),
                   .min_samples_leaf = count_of(min_samples_leaf, n),
                   .max_features = columns_per_split(n_cols),
                   .max_leaf_nodes = max_leaf_nodes.value_or(0),
                   .min_weight_leaf = min_weight_fraction_leaf * weight,
                   .min_impurity_decrease = min_impurity_decrease};
  rules.min_samples_split = std::max({std::int64_t{2}, count_of(min_samples_split, n), 2 * rules.min_samples_leaf});
  return rules;
}

}   // namespace kedge::engine
