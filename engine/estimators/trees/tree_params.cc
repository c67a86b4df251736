// Declares the parameters of trees and forests, once for all of them.
#include "engine/estimators/trees/tree_params.h"

#include <algorithm>
#include <cmath>

#include "engine/estimators/classes.h"

namespace kedge::engine {
namespace {

using schema::Value;

template <class P>
constexpr Value P::*member(Value TreeParams::*base) { return base; }

template <class P>
void add_growth(ParamSet<P>& set) {
  set.add("max_depth", &P::max_depth, at_least(1), "Deepest a tree may get; null for no limit.")
      .any("min_samples_split", member<P>(&P::min_samples_split), {integer_form(at_least(2)), number_form(above_up_to(0, 1))},
           "Fewest rows of a node that is split, as a number or a share of all.")
      .any("min_samples_leaf", member<P>(&P::min_samples_leaf), {integer_form(at_least(1)), number_form(inside(0, 1))},
           "Fewest rows of a leaf, as a number or a share of all.")
      .add("min_weight_fraction_leaf", &P::min_weight_fraction_leaf, between(0, 0.5), "Least share of the weight in a leaf.")
      .any("max_features", member<P>(&P::max_features),
           {string_form({"sqrt", "log2"}), integer_form(at_least(1)), number_form(above_up_to(0, 1)), null_form()},
           "Columns looked at for a split; null for all.")
      .add("max_leaf_nodes", &P::max_leaf_nodes, at_least(2), "Most leaves of a tree, grown best first; null for no limit.")
      .add("min_impurity_decrease", &P::min_impurity_decrease, at_least(0), "Least decrease of impurity by a split.");
}

template <class P>
void add_draws(ParamSet<P>& set) {
  set.random_state(&P::random_state)
      .add(
          "draws", &P::draws, {"kedge", "sklearn", "auto"},
          "Whose random numbers: kedge's; scikit-learn's, which give its trees where columns have at most 256 values, and grow on the "
          "host; auto takes scikit-learn's there on a CPU, else kedge's.");
}

template <class P>
void add_pruning(ParamSet<P>& set) {
  set.add("ccp_alpha", &P::ccp_alpha, at_least(0), "What a leaf costs when trees are pruned by cost and complexity; 0 for no pruning.")
      .any("monotonic_cst", member<P>(&P::monotonic_cst), {array_form(), null_form()}, "Only null: no column is constrained.");
}

template <class P>
ParamSet<P> forest_set(const char* owner, bool classes) {
  ParamSet<P> set(owner);
  set.add("n_estimators", &P::n_estimators, between(1, 1e6), "Number of trees.");
  if (classes) set.add("criterion", &P::criterion, {"gini", "entropy", "log_loss"}, "Impurity that a split decreases most.");
  else set.add("criterion", &P::criterion, {"squared_error", "absolute_error", "friedman_mse", "poisson"},
               "Impurity that a split decreases most; friedman_mse is squared_error.");
  add_growth(set);
  set.add("bootstrap", &P::bootstrap, "Draw the rows of each tree with replacement; false takes all.")
      .add("oob_score", &P::oob_score, "Estimate the score from the rows that trees did not draw.")
      .ignore("n_jobs", nullptr, {integer_form(), null_form()});
  add_draws(set);
  set.ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
      .add("warm_start", &P::warm_start, "Only false: every fit starts anew.");
  if (classes)
    set.any("class_weight", member<P>(&P::class_weight), {string_form({"balanced", "balanced_subsample"}), object_form(), null_form()},
            "Weight of each class: an object by class name, balanced, balanced_subsample, or null for 1 each.");
  set.any("max_samples", member<P>(&P::max_samples), {integer_form(at_least(1)), number_form(above(0)), null_form()},
          "Rows drawn for each tree, as a number or a share of all; null for as many as there are.");
  add_pruning(set);
  return set;
}

template <class P>
ParamSet<P> tree_set(const char* owner, bool classes) {
  ParamSet<P> set(owner);
  if (classes) set.add("criterion", &P::criterion, {"gini", "entropy", "log_loss"}, "Impurity that a split decreases most.");
  else set.add("criterion", &P::criterion, {"squared_error", "absolute_error", "friedman_mse", "poisson"},
               "Impurity that a split decreases most; friedman_mse is squared_error.");
  set.add("splitter", &P::splitter, {"best", "random"}, "The best cut of a column, or one at a random value.");
  add_growth(set);
  add_draws(set);
  if (classes)
    set.any("class_weight", member<P>(&P::class_weight), class_weight_forms(),
            "Weight of each class: an object by class name, balanced, or null for 1 each.");
  add_pruning(set);
  return set;
}

Criterion criterion_of(const std::string& name) {
  if (name == "gini") return Criterion::kGini;
  if (name == "entropy" || name == "log_loss") return Criterion::kEntropy;
  if (name == "absolute_error") return Criterion::kAbsoluteError;
  return name == "poisson" ? Criterion::kPoisson : Criterion::kSquaredError;
}

// A count given as such, or as a share of n that is rounded by `round`; `otherwise` where it is null.
template <class Round>
std::int64_t count_of(const Value& value, double n, std::int64_t otherwise, const Round& round) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return *integer;
  if (const auto* share = std::get_if<double>(&value.data)) return static_cast<std::int64_t>(round(*share * n));
  return otherwise;
}
double down(double x) { return std::floor(x); }
double up(double x) { return std::ceil(x); }

}  // namespace

const ParamSet<RandomForestClassifierParams>& random_forest_classifier_params() {
  static const auto set = forest_set<RandomForestClassifierParams>("RandomForestClassifier", true);
  return set;
}
const ParamSet<ExtraTreesClassifierParams>& extra_trees_classifier_params() {
  static const auto set = forest_set<ExtraTreesClassifierParams>("ExtraTreesClassifier", true);
  return set;
}
const ParamSet<RandomForestRegressorParams>& random_forest_regressor_params() {
  static const auto set = forest_set<RandomForestRegressorParams>("RandomForestRegressor", false);
  return set;
}
const ParamSet<ExtraTreesRegressorParams>& extra_trees_regressor_params() {
  static const auto set = forest_set<ExtraTreesRegressorParams>("ExtraTreesRegressor", false);
  return set;
}
const ParamSet<DecisionTreeClassifierParams>& decision_tree_classifier_params() {
  static const auto set = tree_set<DecisionTreeClassifierParams>("DecisionTreeClassifier", true);
  return set;
}
const ParamSet<DecisionTreeRegressorParams>& decision_tree_regressor_params() {
  static const auto set = tree_set<DecisionTreeRegressorParams>("DecisionTreeRegressor", false);
  return set;
}

void check_tree_params(const char* owner, const TreeParams& params) {
  check_class_weight(owner, params.class_weight);
  if (params.warm_start) refuse_param(owner, "warm_start", true, "must be false: a fit cannot continue another");
  if (!params.monotonic_cst.is_null())
    refuse_param(owner, "monotonic_cst", params.monotonic_cst, "must be null: constraints are not implemented");
  if (!params.bootstrap && params.oob_score) refuse_param(owner, "oob_score", true, "needs bootstrap = true");
  if (!params.bootstrap && !params.max_samples.is_null())
    refuse_param(owner, "max_samples", params.max_samples, "needs bootstrap = true");
}

ForestOptions tree_options(const TreeParams& params, std::int64_t n_rows, std::int64_t n_cols, double weight_sum, std::uint64_t job_seed) {
  const auto n = static_cast<double>(n_rows);
  ForestOptions o;
  o.n_trees = params.n_estimators;
  o.criterion = criterion_of(params.criterion);
  o.splitter = params.splitter == "random" ? Splitter::kRandom : Splitter::kBest;
  o.max_features = static_cast<std::int32_t>(columns_per_split(params.max_features, n_cols));
  if (params.max_depth) o.max_depth = static_cast<std::int32_t>(std::min<std::int64_t>(*params.max_depth, o.max_depth));
  o.min_samples_leaf = std::max<std::int64_t>(1, count_of(params.min_samples_leaf, n, 1, up));
  o.min_samples_split = std::max<std::int64_t>({2, count_of(params.min_samples_split, n, 2, up), 2 * o.min_samples_leaf});
  o.min_weight_fraction_leaf = params.min_weight_fraction_leaf;
  o.max_leaf_nodes = params.max_leaf_nodes.value_or(0);
  o.min_impurity_decrease = params.min_impurity_decrease;
  o.bootstrap = params.bootstrap;
  o.n_draws = std::max<std::int64_t>(1, count_of(params.max_samples, weight_sum, n_rows, down));
  o.seed = params.random_state ? static_cast<std::uint64_t>(*params.random_state) : job_seed;
  return o;
}

std::int64_t columns_per_split(const Value& max_features, std::int64_t n_cols) {
  const auto* rule = std::get_if<std::string>(&max_features.data);
  const auto d = static_cast<double>(n_cols);
  const std::int64_t count =
      rule ? static_cast<std::int64_t>(*rule == "sqrt" ? std::sqrt(d) : std::log2(d)) : count_of(max_features, d, n_cols, down);
  return std::clamp<std::int64_t>(count, 1, n_cols);
}

}  // namespace kedge::engine
