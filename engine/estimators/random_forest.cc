// RandomForestClassifier: turns scikit-learn's parameters into the options of TreeOps, and its forest into attributes.
#include "engine/estimators/random_forest.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using P = RandomForestClassifierParams;
constexpr const char* kName = "RandomForestClassifier";
constexpr auto kProgressEvery = std::chrono::milliseconds(100);

std::vector<schema::ParamForm> forest_weight_forms() {
  return {string_form({"balanced", "balanced_subsample"}), object_form(), null_form()};
}

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_estimators", &P::n_estimators, between(1, 1e6), "Number of trees.")
          .add("criterion", &P::criterion, {"gini", "entropy", "log_loss"}, "Impurity that a split decreases most.")
          .add("max_depth", &P::max_depth, at_least(1), "Deepest a tree may get; null for no limit.")
          .any("min_samples_split", &P::min_samples_split, {integer_form(at_least(2)), number_form(above_up_to(0, 1))},
               "Fewest rows of a node that is split, as a number or a share of all.")
          .any("min_samples_leaf", &P::min_samples_leaf, {integer_form(at_least(1)), number_form(inside(0, 1))},
               "Fewest rows of a leaf, as a number or a share of all.")
          .add("min_weight_fraction_leaf", &P::min_weight_fraction_leaf, between(0, 0.5), "Least share of the weight in a leaf.")
          .any("max_features", &P::max_features,
               {string_form({"sqrt", "log2"}), integer_form(at_least(1)), number_form(above_up_to(0, 1)), null_form()},
               "Columns looked at for a split; null for all.")
          .add("max_leaf_nodes", &P::max_leaf_nodes, at_least(2), "Most leaves of a tree, grown best first; null for no limit.")
          .add("min_impurity_decrease", &P::min_impurity_decrease, at_least(0), "Least decrease of impurity by a split.")
          .add("bootstrap", &P::bootstrap, "Draw the rows of each tree with replacement; false takes all.")
          .add("oob_score", &P::oob_score, "Estimate the accuracy from the rows that trees did not draw.")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .random_state(&P::random_state)
          .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
          .add("warm_start", &P::warm_start, "Only false: every fit starts anew.")
          .any("class_weight", &P::class_weight, forest_weight_forms(),
               "Weight of each class: an object by class name, balanced, balanced_subsample, or null for 1 each.")
          .add("ccp_alpha", &P::ccp_alpha, at_least(0), "Only 0: trees are not pruned.")
          .any("max_samples", &P::max_samples, {integer_form(at_least(1)), number_form(above(0)), null_form()},
               "Rows drawn for each tree, as a number or a share of all; null for as many as there are.")
          .any("monotonic_cst", &P::monotonic_cst, {array_form(), null_form()}, "Only null: no column is constrained.");
  return set;
}

// A count given as such, or as a share of n that is rounded by `round`; n where it is null.
template <class Round>
std::int64_t count_of(const schema::Value& value, std::int64_t n, const Round& round) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return *integer;
  if (const auto* share = std::get_if<double>(&value.data)) return static_cast<std::int64_t>(round(*share * static_cast<double>(n)));
  return n;
}
double down(double x) { return std::floor(x); }
double up(double x) { return std::ceil(x); }

std::int64_t columns_per_split(const schema::Value& max_features, std::int64_t n_cols) {
  const auto* rule = std::get_if<std::string>(&max_features.data);
  const auto d = static_cast<double>(n_cols);
  const std::int64_t count =
      rule ? static_cast<std::int64_t>(*rule == "sqrt" ? std::sqrt(d) : std::log2(d)) : count_of(max_features, n_cols, down);
  return std::clamp<std::int64_t>(count, 1, n_cols);
}

// Mean over the trees of each column's share in the decrease of impurity.
std::vector<double> importances_of(const Forest& forest) {
  std::vector<double> mean(static_cast<std::size_t>(forest.n_cols)), tree(mean.size());
  for (std::size_t t = 0; t + 1 < forest.tree_offset.size(); ++t) {
    std::fill(tree.begin(), tree.end(), 0.0);
    const auto weighted = [&](std::int64_t i) { return forest.weight[i] * forest.impurity[i]; };
    for (std::int64_t i = forest.tree_offset[t]; i < forest.tree_offset[t + 1]; ++i)
      if (forest.feature[i] >= 0) tree[forest.feature[i]] += weighted(i) - weighted(forest.left[i]) - weighted(forest.right[i]);
    const double sum = std::accumulate(tree.begin(), tree.end(), 0.0);
    if (!(sum > 0)) continue;
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += tree[j] / sum;
  }
  const double total = std::accumulate(mean.begin(), mean.end(), 0.0);
  for (double& value : mean) value = total > 0 ? value / total : 0;
  return mean;
}

template <class T>
double mapped(const Samples<T>& X, std::int64_t col, double value) {
  return static_cast<double>(static_cast<T>((value - X.shift[col]) * X.scale[col]));
}

// Whether the affine map keeps the bins of every column apart and in order.
template <class T>
bool map_keeps_bins(const Samples<T>& X, const BinEdges& edges) {
  if (!X.is_affine()) return true;
  for (std::int64_t col = 0; col < X.n_cols(); ++col) {
    if (!(X.scale[col] > 0) || !std::isfinite(X.scale[col]) || !std::isfinite(X.shift[col])) return false;
    for (std::int32_t b = edges.offset[col]; b + 1 < edges.offset[col + 1]; ++b)
      if (!(mapped(X, col, edges.high[b]) < mapped(X, col, edges.low[b + 1]))) return false;
  }
  return true;
}

// Takes the thresholds through the affine map; each stays between the bins that it parts.
template <class T>
void map_thresholds(const Samples<T>& X, const BinEdges& edges, Forest& forest) {
  if (!X.is_affine()) return;
  for (std::size_t i = 0; i < forest.feature.size(); ++i) {
    const std::int32_t f = forest.feature[i];
    if (f < 0) continue;
    const std::int32_t b = edges.offset[f] + forest.bin[i];
    const double low = mapped(X, f, edges.high[b]), high = mapped(X, f, edges.low[b + 1]);
    const double middle = (forest.threshold[i] - X.shift[f]) * X.scale[f];
    forest.threshold[i] = middle >= low && middle < high ? middle : low;
  }
}

}  // namespace

template <class T>
RandomForestClassifier<T>::RandomForestClassifier(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_class_weight(kName, params_.class_weight);
  if (params_.warm_start) refuse_param(kName, "warm_start", true, "must be false: a fit cannot continue another");
  if (params_.ccp_alpha != 0) refuse_param(kName, "ccp_alpha", params_.ccp_alpha, "must be 0: pruning is not implemented");
  if (!params_.monotonic_cst.is_null())
    refuse_param(kName, "monotonic_cst", params_.monotonic_cst, "must be null: constraints are not implemented");
  if (!params_.bootstrap && params_.oob_score) refuse_param(kName, "oob_score", true, "needs bootstrap = true");
  if (!params_.bootstrap && !params_.max_samples.is_null())
    refuse_param(kName, "max_samples", params_.max_samples, "needs bootstrap = true");
}

template <class T>
schema::EstimatorInfo RandomForestClassifier<T>::info() {
  return {.name = kName,
          .kind = "classifier",
          .family = "ensemble",
          .doc = "Random forest: the mean of trees grown on bootstrap samples with random columns at each split.",
          .params = param_set().infos(),
          .attributes = {"classes_", "n_classes_", "n_features_in_", "feature_importances_", "oob_score_"},
          .deviations = {
              "A column with more than 256 distinct values is cut at 256 quantiles of all rows of the job's table; others are exact.",
              "Random numbers differ from numpy's, so single trees differ for the same random_state.",
              "class_weight multiplies the weights of the drawn rows; scikit-learn 1.9 draws rows by it instead.",
              "ccp_alpha, warm_start and monotonic_cst only at their defaults; n_jobs and verbose are ignored.",
              "oob_score is true or false; oob_decision_function_ and estimators_ are not among the attributes."}};
}

template <class T>
ForestOptions RandomForestClassifier<T>::options_for(const Context& ctx, const Samples<T>& X, const Target& y) const {
  const std::int64_t n = X.n_rows();
  ForestOptions o;
  o.n_trees = params_.n_estimators;
  o.criterion = params_.criterion == "gini" ? Criterion::kGini : Criterion::kEntropy;
  o.max_features = static_cast<std::int32_t>(columns_per_split(params_.max_features, X.n_cols()));
  if (params_.max_depth) o.max_depth = static_cast<std::int32_t>(std::min<std::int64_t>(*params_.max_depth, o.max_depth));
  o.min_samples_leaf = std::max<std::int64_t>(1, count_of(params_.min_samples_leaf, n, up));
  o.min_samples_split = std::max<std::int64_t>({2, count_of(params_.min_samples_split, n, up), 2 * o.min_samples_leaf});
  o.min_weight_fraction_leaf = params_.min_weight_fraction_leaf;
  o.max_leaf_nodes = params_.max_leaf_nodes.value_or(0);
  o.min_impurity_decrease = params_.min_impurity_decrease;
  o.bootstrap = params_.bootstrap;
  o.n_draws = std::max<std::int64_t>(1, count_of(params_.max_samples, n, down));
  o.seed = params_.random_state ? static_cast<std::uint64_t>(*params_.random_state) : ctx.seed;
  const auto* rule = std::get_if<std::string>(&params_.class_weight.data);
  o.balance_each_tree = rule && *rule == "balanced_subsample";
  if (o.balance_each_tree) return o;
  const std::vector<double> weights = class_weights(kName, params_.class_weight, present_, y);
  if (weights.empty()) return o;
  o.class_weight.assign(y.classes.size(), 1.0);
  for (std::size_t c = 0; c < weights.size(); ++c) o.class_weight[present_.codes[c]] = weights[c];
  return o;
}

template <class T>
void RandomForestClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  ctx.check_stop();
  present_ = PresentClasses(y);
  const ForestOptions options = options_for(ctx, X, y);
  const BinnedTable& table = binned_table(ctx, *X.table);
  fitted_table_.reset();
  if (map_keeps_bins(X, table.edges)) {
    fit_bins(ctx, table, X.row_view(), y.table_codes->view(), y, options);
    map_thresholds(X, table.edges, forest_);
    fitted_table_ = X.table, shift_ = X.shift, scale_ = X.scale;
  } else {   // the map merges or reorders values: bin what it gives
    Matrix<T> scratch;
    const BinnedTable own = ctx.device.trees().bin(X.values(ctx, scratch));
    const Array<std::int32_t> codes(ctx.memory(), std::span<const std::int32_t>(y.codes));
    fit_bins(ctx, own, {}, codes.view(), y, options);
  }
  importances_ = importances_of(forest_);
}

template <class T>
void RandomForestClassifier<T>::fit_bins(const Context& ctx, const BinnedTable& table, VectorView<const std::int32_t> rows,
                                         VectorView<const std::int32_t> codes, const Target& y, const ForestOptions& options) {
  auto last = std::chrono::steady_clock::now();
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (done < total && now - last < kProgressEvery) return;
    last = now;
    ctx.progress("trees", done, total, "trees");
  };
  std::vector<double> votes;
  forest_ = ctx.device.trees().grow(table, rows, codes, y.n_classes(), options, ctx.stop, progress,
                                    params_.oob_score ? &votes : nullptr);
  if (params_.oob_score) set_oob_score(votes, y);
}

// Rows that every tree drew have no votes and count as the first class, as in scikit-learn.
template <class T>
void RandomForestClassifier<T>::set_oob_score(const std::vector<double>& votes, const Target& y) {
  const std::size_t k = y.classes.size();
  std::size_t right = 0;
  for (std::size_t i = 0; i < y.codes.size(); ++i) {
    const auto row = votes.begin() + static_cast<std::ptrdiff_t>(i * k);
    right += std::max_element(row, row + static_cast<std::ptrdiff_t>(k)) - row == y.codes[i];
  }
  oob_score_ = static_cast<double>(right) / static_cast<double>(y.codes.size());
}

template <class T>
bool RandomForestClassifier<T>::has_fitted_codes(const Samples<T>& X) const {
  return X.table == fitted_table_.lock() && X.table->binned && X.shift == shift_ && X.scale == scale_;
}

template <class T>
void RandomForestClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(forest_.n_cols));
  ctx.check_stop();
  if (X.n_rows() == 0) return;
  if (has_fitted_codes(X)) return ctx.device.trees().predict(forest_, *X.table->binned, X.row_view(), proba);
  Matrix<T> scratch;
  ctx.device.trees().predict(forest_, X.values(ctx, scratch), proba);
}

template <class T>
schema::ValueMap RandomForestClassifier<T>::attributes() const {
  schema::ValueMap map{{"classes_", present_.names_value()},
                       {"n_classes_", static_cast<std::int64_t>(present_.size())},
                       {"n_features_in_", forest_.n_cols},
                       {"feature_importances_", importances_}};
  if (params_.oob_score) map.emplace_back("oob_score_", oob_score_);
  return map;
}

template class RandomForestClassifier<float>;
template class RandomForestClassifier<double>;

}  // namespace kedge::engine
