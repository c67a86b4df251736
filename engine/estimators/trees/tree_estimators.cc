// The estimators made of trees: weights, scores of rows left out, attributes.
#include "engine/estimators/trees/tree_estimators.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/trees/tree_trim.h"

namespace kedge::engine {
namespace {

// What trees depend on besides their data, number and depth.
std::string share_key(const ForestOptions& options, const TreeParams& params) {
  return fmt::format(" {} {} {} {} {} {} {} {} {} {} {} {}", params.criterion, params.splitter, options.max_features, options.min_samples_split,
                     options.min_samples_leaf, options.min_weight_fraction_leaf, options.max_leaf_nodes, options.min_impurity_decrease,
                     options.bootstrap ? options.n_draws : 0, options.seed, schema::to_string(params.class_weight), options.bootstrap);
}

double sum_of(const std::vector<double>& weights) { return std::accumulate(weights.begin(), weights.end(), 0.0); }

void require_weight(const char* owner, const std::vector<double>& weights) {
  require(weights.empty() || sum_of(weights) > 0, schema::ErrorCode::kBadData, "{}: the weights of the rows sum to 0, must be more", owner);
}

double weight_sum(const Target& y, std::int64_t n_rows) {
  return y.weights.empty() ? static_cast<double>(n_rows) : sum_of(y.weights);
}

void append_single(const Forest& forest, schema::ValueMap& map) {
  const schema::ValueMap tree = tree_arrays(forest);
  map.emplace_back("n_leaves_", *find_value(tree, "n_leaves"));
  map.emplace_back("depth_", *find_value(tree, "max_depth"));
  map.emplace_back("tree_", tree);
}

std::vector<std::string> attributes_of(bool classes, bool is_single) {
  std::vector<std::string> names{"n_outputs_", "feature_importances_"};
  if (classes) names.insert(names.end(), {"classes_", "n_classes_"});
  if (is_single) names.insert(names.end(), {"max_features_", "n_leaves_", "depth_", "tree_"});
  else names.insert(names.end(), {"oob_score_", classes ? "oob_decision_function_" : "oob_prediction_"});
  return names;
}

std::vector<std::string> deviations_of(bool is_single, bool classes) {
  std::vector<std::string> list;
  if (is_single) {
    list = {
        "With splitter random, a column with more than 256 distinct values is cut between 256 quantiles of all rows of the job's table.",
        "Columns are compared in the data set's dtype; scikit-learn rounds them to float32 and takes values within 1e-7 for equal.",
        "Equal cuts: the column drawn first, then the lower cut. Another of equal trees may be found, unless scikit-learn's random numbers are taken: see draws.",
        "n_leaves_ and depth_ are what get_n_leaves() and get_depth() return; tree_ is an object of arrays."};
  } else {
    list = {
        "A column with more than 256 distinct values is cut at 256 quantiles of all rows of the job's table; others are exact.",
        "Random numbers differ from numpy's, so single trees differ for the same random_state, unless scikit-learn's are taken: see draws.",
        "warm_start only false; oob_score is true or false; n_jobs and verbose are ignored; estimators_ is not among the attributes."};
  }
  if (!classes) list.push_back("friedman_mse chooses the same cuts as squared_error and is treated as such.");
  list.push_back("monotonic_cst only null; missing values are refused.");
  return list;
}

schema::EstimatorInfo describe(const char* name, bool classes, bool is_single, const char* doc, std::vector<schema::ParamInfo> params) {
  return {.name = name,
          .kind = classes ? "classifier" : "regressor",
          .family = is_single ? "tree" : "ensemble",
          .doc = doc,
          .params = std::move(params),
          .attributes = attributes_of(classes, is_single),
          .deviations = deviations_of(is_single, classes)};
}

}  // namespace

template <class T>
TreeClassifier<T>::TreeClassifier(const char* owner, TreeParams params, bool is_single)
    : owner_(owner), params_(std::move(params)), is_single_(is_single) {
  check_tree_params(owner, params_);
  model_.wants_out_of_bag = params_.oob_score;
}

// Weights of classes and rows: rows are drawn by them, or weigh as much. Counting classes is enough where only classes have weights.
template <class T>
void TreeClassifier<T>::weigh(const Target& y, ForestOptions& options, std::vector<double>& weights) const {
  const auto* rule = std::get_if<std::string>(&params_.class_weight.data);
  const bool by_sample = rule && *rule == "balanced_subsample";
  options.balance_each_tree = by_sample && params_.bootstrap;
  std::vector<double> by_class;
  if (!options.balance_each_tree) by_class = class_weights(owner_, by_sample ? schema::Value("balanced") : params_.class_weight, present_, y);
  if (by_class.empty()) {
    (params_.bootstrap ? options.draw_weights : weights) = y.weights;
  } else if (!params_.bootstrap && y.weights.empty()) {
    options.class_weight.assign(y.classes.size(), 1.0);
    for (std::size_t c = 0; c < by_class.size(); ++c) options.class_weight[present_.codes[c]] = by_class[c];
  } else {
    std::vector<double> rows = y.weights;
    rows.resize(y.codes.size(), 1.0);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] *= by_class[present_.positions[y.codes[i]]];
    (params_.bootstrap ? options.draw_weights : weights) = std::move(rows);
  }
  require_weight(owner_, options.draw_weights), require_weight(owner_, weights);
}

template <class T>
void TreeClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(owner_, X);
  ctx.check_stop();
  present_ = PresentClasses(y);
  TreeFit fit{.owner = owner_,
              .options = tree_options(params_, X.n_rows(), X.n_cols(), weight_sum(y, X.n_rows()), ctx.seed),
              .target = {},
              .y = y,
              .is_exact = is_single_ && params_.splitter == "best",
              .draws = params_.draws,
              .ccp_alpha = params_.ccp_alpha,
              .share_key = {}};
  std::vector<double> weights;
  weigh(y, fit.options, weights);
  fit.target = {.n_classes = y.n_classes(), .codes = {}, .values = {}, .weights = weights};
  fit.options.is_single = is_single_;
  fit.share_key = share_key(fit.options, params_);
  model_.fit(ctx, X, fit);
  if (params_.oob_score) set_oob_score(y);
}

// Rows that every tree drew have no votes and count as the first class, as in scikit-learn.
template <class T>
void TreeClassifier<T>::set_oob_score(const Target& y) {
  const std::vector<double>& votes = model_.out_of_bag().sums;
  const std::size_t k = y.classes.size();
  std::size_t right = 0;
  for (std::size_t i = 0; i < y.codes.size(); ++i) {
    const auto row = votes.begin() + static_cast<std::ptrdiff_t>(i * k);
    right += std::max_element(row, row + static_cast<std::ptrdiff_t>(k)) - row == y.codes[i];
  }
  oob_score_ = static_cast<double>(right) / static_cast<double>(y.codes.size());
}

template <class T>
void TreeClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  model_.predict(ctx, owner_, X, proba);
}

template <class T>
schema::ValueMap TreeClassifier<T>::attributes() const {
  const Forest& forest = model_.forest();
  schema::ValueMap map{{"classes_", present_.names_value()},
                       {"n_classes_", static_cast<std::int64_t>(present_.size())},
                       {"n_outputs_", std::int64_t{1}},
                       {"feature_importances_", feature_importances(forest)}};
  if (is_single_) {
    map.emplace_back("max_features_", columns_per_split(params_.max_features, forest.n_cols));
    append_single(forest, map);
  }
  if (!params_.oob_score) return map;
  std::vector<double> shares;
  const OutOfBag& oob = model_.out_of_bag();
  for (std::size_t i = 0; i < oob.n_trees.size(); ++i)
    for (const std::int32_t code : present_.codes)
      shares.push_back(oob.sums[i * present_.positions.size() + static_cast<std::size_t>(code)] / std::max(1, oob.n_trees[i]));
  map.emplace_back("oob_score_", oob_score_);
  map.emplace_back("oob_decision_function_", rows_value(shares, present_.size()));
  return map;
}

template <class T>
TreeRegressor<T>::TreeRegressor(const char* owner, TreeParams params, bool is_single)
    : owner_(owner), params_(std::move(params)), is_single_(is_single) {
  check_tree_params(owner, params_);
  model_.wants_out_of_bag = params_.oob_score;
}

template <class T>
void TreeRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(owner_, X);
  ctx.check_stop();
  require_weight(owner_, y.weights);
  if (params_.criterion == "poisson") {
    require(std::ranges::all_of(y.values, [](double v) { return v >= 0; }), schema::ErrorCode::kBadData,
            "{}: the target has negative values, criterion poisson needs at least 0", owner_);
    require(sum_of(y.values) > 0, schema::ErrorCode::kBadData, "{}: the target sums to 0, criterion poisson needs more", owner_);
  }
  TreeFit fit{.owner = owner_,
              .options = tree_options(params_, X.n_rows(), X.n_cols(), weight_sum(y, X.n_rows()), ctx.seed),
              .target = {},
              .y = y,
              .is_exact = is_single_ && params_.splitter == "best",
              .draws = params_.draws,
              .ccp_alpha = params_.ccp_alpha,
              .share_key = {}};
  fit.target.values = y.values;
  if (params_.bootstrap) fit.options.draw_weights = y.weights;
  else fit.target.weights = y.weights;
  fit.options.is_single = is_single_;
  fit.share_key = share_key(fit.options, params_);
  model_.fit(ctx, X, fit);
  if (params_.oob_score) set_oob_score(y);
}

// Rows that every tree drew are predicted as 0, as in scikit-learn. The score is R^2.
template <class T>
void TreeRegressor<T>::set_oob_score(const Target& y) {
  const OutOfBag& oob = model_.out_of_bag();
  oob_prediction_.resize(y.values.size());
  const double mean = sum_of(y.values) / static_cast<double>(y.values.size());
  double left = 0, all = 0;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    oob_prediction_[i] = oob.sums[i] / std::max(1, oob.n_trees[i]);
    left += (y.values[i] - oob_prediction_[i]) * (y.values[i] - oob_prediction_[i]), all += (y.values[i] - mean) * (y.values[i] - mean);
  }
  oob_score_ = all > 0 ? 1 - left / all : left == 0 ? 1 : 0;
}

template <class T>
std::vector<double> TreeRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  Matrix<double> out(ctx.memory(), X.n_rows(), 1);
  model_.predict(ctx, owner_, X, out.view());
  return out.to_host();
}

template <class T>
schema::ValueMap TreeRegressor<T>::attributes() const {
  const Forest& forest = model_.forest();
  schema::ValueMap map{{"n_outputs_", std::int64_t{1}}, {"feature_importances_", feature_importances(forest)}};
  if (is_single_) {
    map.emplace_back("max_features_", columns_per_split(params_.max_features, forest.n_cols));
    append_single(forest, map);
  }
  if (params_.oob_score) map.emplace_back("oob_score_", oob_score_), map.emplace_back("oob_prediction_", oob_prediction_);
  return map;
}

template <class T>
void TreeClassifier<T>::state(StateArchive& archive) {
  present_.state(archive);
  model_.state(archive, archive.n_classes());
  archive.field("oob_score", oob_score_);
}

template <class T>
void TreeRegressor<T>::state(StateArchive& archive) {
  model_.state(archive, 0);
  archive.field("oob_prediction", oob_prediction_, kAnySize);
  archive.field("oob_score", oob_score_);
}

#define KEDGE_TREE_ESTIMATOR(Name, Base, params_of, is_single, classes, doc)                                                   \
  template <class T>                                                                                                           \
  Name<T>::Name(const schema::ValueMap& params) : Base<T>(#Name, params_of().parse(params), is_single) {}                      \
  template <class T>                                                                                                           \
  schema::EstimatorInfo Name<T>::info() { return describe(#Name, classes, is_single, doc, params_of().infos()); }              \
  template class Name<float>;                                                                                                  \
  template class Name<double>

template class TreeClassifier<float>;
template class TreeClassifier<double>;
template class TreeRegressor<float>;
template class TreeRegressor<double>;
KEDGE_TREE_ESTIMATOR(RandomForestClassifier, TreeClassifier, random_forest_classifier_params, false, true,
                     "Random forest: the mean of trees grown on bootstrap samples with random columns at each split.");
KEDGE_TREE_ESTIMATOR(ExtraTreesClassifier, TreeClassifier, extra_trees_classifier_params, false, true,
                     "The mean of trees that cut random columns at random values.");
KEDGE_TREE_ESTIMATOR(DecisionTreeClassifier, TreeClassifier, decision_tree_classifier_params, true, true, "A decision tree.");
KEDGE_TREE_ESTIMATOR(RandomForestRegressor, TreeRegressor, random_forest_regressor_params, false, false,
                     "Random forest: the mean of regression trees grown on bootstrap samples.");
KEDGE_TREE_ESTIMATOR(ExtraTreesRegressor, TreeRegressor, extra_trees_regressor_params, false, false,
                     "The mean of regression trees that cut columns at random values.");
KEDGE_TREE_ESTIMATOR(DecisionTreeRegressor, TreeRegressor, decision_tree_regressor_params, true, false, "A regression tree.");
#undef KEDGE_TREE_ESTIMATOR

}  // namespace kedge::engine
