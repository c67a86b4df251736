// Exact gradient boosting: which rows are fitted, which stages a model takes, what it predicts and stores.
#include "engine/estimators/boosting/gradient_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "engine/backend/host/tree_draft.h"
#include "engine/core/require.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/part_states.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

// Names all that stages depend on but their number.
std::string work_key(const std::string& content, const char* owner, const GradientParams& p) {
  const auto text = [](const auto& optional) { return optional ? fmt::format("{}", *optional) : std::string("null"); };
  return fmt::format("{} | {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", content, owner, p.loss,
                     p.learning_rate, p.subsample, p.alpha, schema::to_string(p.min_samples_split),
                     schema::to_string(p.min_samples_leaf), schema::to_string(p.max_features),
                     p.min_weight_fraction_leaf, p.min_impurity_decrease, p.ccp_alpha, text(p.max_depth),
                     text(p.max_leaf_nodes), text(p.n_iter_no_change), text(p.random_state), text(p.init),
                     p.validation_fraction, p.tol);
}

template <class V>
std::vector<V> first_of(const std::vector<V>& values, std::int64_t n) {
  return {values.begin(), values.begin() + std::min<std::ptrdiff_t>(n, std::ssize(values))};
}

// Of the squared error that each column's cuts take away, unnormalised.
std::vector<double> decreases(const Forest& tree) {
  std::vector<double> by_column(static_cast<std::size_t>(tree.n_cols), 0.0);
  const auto of = [&](std::int32_t node) {
    return tree.weight[static_cast<std::size_t>(node)] * tree.impurity[static_cast<std::size_t>(node)];
  };
  for (std::size_t i = 0; i < tree.feature.size(); ++i)
    if (tree.feature[i] >= 0)
      by_column[static_cast<std::size_t>(tree.feature[i])] +=
          tree.weight[i] * tree.impurity[i] - of(tree.left[i]) - of(tree.right[i]);
  for (double& decrease : by_column) decrease /= tree.weight[0];
  return by_column;
}

}   // namespace

template <class T>
void GradientModel<T>::part_rows(const GradientTarget& target, std::int64_t n, std::uint32_t seed,
                                 RowParts& parts) const {
  if (!params_.n_iter_no_change) {
    parts.train.resize(static_cast<std::size_t>(n));
    std::iota(parts.train.begin(), parts.train.end(), 0);
    return;
  }
  const auto test = static_cast<std::int64_t>(std::ceil(params_.validation_fraction * static_cast<double>(n)));
  require(test < n, ErrorCode::kBadData, "{}: validation_fraction = {} sets all {} rows aside, must leave at least 1",
          target.owner, params_.validation_fraction, n);
  LegacyRandom random(seed);
  if (target.codes.empty()) {
    parts = draw_parts(n, n - test, test, random);
    return;
  }
  parts = draw_stratified_parts(class_members(target.codes, target.n_classes), n - test, test, random);
  std::set<std::int32_t> classes;
  for (const std::int32_t row : parts.train) classes.insert(target.codes[static_cast<std::size_t>(row)]);
  require(static_cast<std::int32_t>(classes.size()) == target.n_classes, ErrorCode::kBadData,
          "{}: the rows that are left to fit lack a class; lower validation_fraction", target.owner);
}

template <class T>
GradientRows GradientModel<T>::rows_of(const std::vector<double>& values, const GradientTarget& target,
                                       const std::vector<std::int32_t>& rows) const {
  GradientRows part{.n = static_cast<std::int64_t>(rows.size())};
  part.values.reserve(rows.size() * static_cast<std::size_t>(n_features_));
  for (const std::int32_t row : rows) {
    const auto at = static_cast<std::size_t>(row);
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(at) * n_features_;
    std::transform(first, first + n_features_, std::back_inserter(part.values),
                   [](double value) { return static_cast<float>(value); });
    part.y.push_back(target.y[at]);
    part.weights.push_back(target.weights.empty() ? 1.0 : target.weights[at]);
  }
  return part;
}

template <class T>
void GradientModel<T>::fit(const Context& ctx, const GradientParams& params, const Samples<T>& X,
                           const GradientTarget& target) {
  require_rows(target.owner, X);
  ctx.check_stop();
  *this = GradientModel();
  params_ = params, loss_ = target.loss, learning_rate_ = params.learning_rate;
  n_features_ = X.n_cols(), max_features_ = params.columns_per_split(n_features_);
  require(max_features_ <= n_features_, ErrorCode::kBadData, "{}: max_features is {}, the data have {} columns",
          target.owner, max_features_, n_features_);
  const std::string key = work_key(X.content, target.owner, params);
  const bool is_shared = ctx.work && !X.content.empty() && ctx.work->wanted(key).size() > 1;
  if (is_shared) {
    const auto most = std::max(params.n_estimators, static_cast<std::int64_t>(*ctx.work->wanted(key).rbegin()));
    take(*ctx.work->get<GradientStages>("boosting stages", key, [&] { return grown(ctx, X, target, most); }));
  } else {
    take(grown(ctx, X, target, params.n_estimators));
  }
}

template <class T>
void GradientModel<T>::announce(WorkCache& plan, const std::string& content, const char* owner,
                                const GradientParams& params) {
  plan.want(work_key(content, owner, params), static_cast<double>(params.n_estimators));
}

template <class T>
GradientStages GradientModel<T>::grown(const Context& ctx, const Samples<T>& X, const GradientTarget& target,
                                       std::int64_t n_stages) const {
  const auto seed =
      static_cast<std::uint32_t>(params_.random_state ? static_cast<std::uint64_t>(*params_.random_state) : ctx.seed);
  RowParts parts;
  part_rows(target, X.n_rows(), seed, parts);
  GradientRows fitted, validated;
  {
    const std::vector<double> values = host_values(ctx, X);
    fitted = rows_of(values, target, parts.train), validated = rows_of(values, target, parts.test);
  }
  require(std::accumulate(fitted.weights.begin(), fitted.weights.end(), 0.0) > 0, ErrorCode::kBadData,
          "{}: the weights of the fitted rows sum to 0, must be more", target.owner);
  GradientStages stages{.first = std::vector<double>(static_cast<std::size_t>(loss_.n_outputs), 0.0)};
  if (!params_.init) stages.first = loss_.first_predictions(fitted.y, fitted.weights, !target.weights.empty());
  for (GradientRows* const rows : {&fitted, &validated})
    for (const double value : stages.first) rows->raw.insert(rows->raw.end(), static_cast<std::size_t>(rows->n), value);
  grow_stages(ctx, params_, loss_, n_stages, seed, fitted, validated, stages);
  return stages;
}

// The first n_estimators of the stages.
template <class T>
void GradientModel<T>::take(const GradientStages& stages) {
  n_stages_ = std::min(params_.n_estimators, stages.size());
  first_ = stages.first, train_score_ = first_of(stages.train_score, n_stages_);
  oob_scores_ = first_of(stages.oob_scores, n_stages_), oob_improvement_ = first_of(stages.oob_improvement, n_stages_);
  importances_.assign(static_cast<std::size_t>(n_features_), 0.0);
  for (const std::vector<Forest>& of_output : stages.trees) {
    std::vector<Forest> trees = first_of(of_output, n_stages_);
    for (const Forest& tree : trees) {
      if (tree.n_nodes() == 1) continue;
      const std::vector<double> own = decreases(tree);
      std::ranges::transform(importances_, own, importances_.begin(), std::plus<>());
    }
    forests_.push_back(join_trees(std::move(trees), 0, n_features_));
  }
  const double sum = std::accumulate(importances_.begin(), importances_.end(), 0.0);
  if (sum > 0)
    for (double& importance : importances_) importance /= sum;
}

template <class T>
void GradientModel<T>::require_finite(const char* owner) const {
  for (std::size_t i = 0; i < train_score_.size(); ++i)
    require(std::isfinite(train_score_[i]), ErrorCode::kBadData,
            "{}: the loss is {} after stage {}; lower learning_rate, or scale the target", owner, train_score_[i],
            i + 1);
}

template <class T>
std::vector<double> GradientModel<T>::raw(const Context& ctx, const char* owner, const Samples<T>& X) const {
  require_fitted_columns(owner, X, static_cast<std::size_t>(n_features_));
  std::vector<double> all;
  if (X.n_rows() == 0) return all;
  Matrix<T> scratch;
  const MatrixView<const T> values = X.values(ctx, scratch);
  Matrix<double> mean(ctx.memory(), X.n_rows(), 1);
  if (ready_.on != &ctx.device || ready_.forests.empty()) {
    ready_ = {};
    for (const Forest& forest : forests_) ready_.forests.push_back(ctx.device.trees().prepare(forest));
    ready_.on = &ctx.device;
  }
  for (std::size_t k = 0; k < forests_.size(); ++k) {
    ctx.check_stop();
    ready_.forests[k]->predict(values, mean.view());
    std::vector<double> own = mean.to_host();
    for (double& value : own) value = first_[k] + learning_rate_ * static_cast<double>(n_stages_) * value;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

template <class T>
Contributions GradientModel<T>::contributions(const Context& ctx, const char* owner, const Samples<T>& X,
                                              const Division<T>& division) const {
  require_fitted_columns(owner, X, static_cast<std::size_t>(n_features_));
  const auto trees = [&] {
    ShapTrees all{.n_cols = n_features_,
                  .n_outputs = static_cast<std::int32_t>(forests_.size()),
                  .scale = learning_rate_,
                  .base = first_};
    for (std::size_t k = 0; k < forests_.size(); ++k) append_shap_trees(forests_[k], static_cast<std::int32_t>(k), all);
    return all;
  };
  return {.n_outputs = std::ssize(forests_), .values = contributions_of(ctx, X, division, kept_shap_, trees)};
}

template <class T>
schema::ValueMap GradientModel<T>::attributes() const {
  schema::ValueMap map{{"feature_importances_", importances_},
                       {"max_features_", max_features_},
                       {"n_estimators_", n_stages_},
                       {"n_trees_per_iteration_", loss_.n_outputs},
                       {"train_score_", train_score_}};
  if (oob_scores_.empty()) return map;
  map.emplace_back("oob_improvement_", oob_improvement_);
  map.emplace_back("oob_scores_", oob_scores_);
  map.emplace_back("oob_score_", oob_scores_.back());
  return map;
}

template <class T>
void GradientModel<T>::state(StateArchive& archive, const StageLoss& loss, const GradientParams& params) {
  archive.features(n_features_);
  if (archive.is_loading()) {
    loss_ = loss, learning_rate_ = params.learning_rate;
    ready_ = {}, kept_shap_ = {};
    forests_.assign(static_cast<std::size_t>(loss.n_outputs), {});
  }
  archive.number("n_stages", n_stages_, 1, kMaxSize);
  archive.number("max_features", max_features_, 1, archive.n_features());
  archive.field("first", first_, loss.n_outputs);
  archive.field("importances", importances_, archive.n_features());
  archive.field("train_score", train_score_, n_stages_);
  archive.field("oob_scores", oob_scores_, kAnySize);
  archive.field("oob_improvement", oob_improvement_, static_cast<std::int64_t>(oob_scores_.size()));
  for (Forest& forest : forests_) {
    forest_state(archive, forest, 0);
    archive.expect(forest.n_trees() == n_stages_, "tree_offset", "is not a tree for each stage");
  }
}

template class GradientModel<float>;
template class GradientModel<double>;

}   // namespace kedge::engine
