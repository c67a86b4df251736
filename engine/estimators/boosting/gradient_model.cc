// Exact gradient boosting: each stage's trees follow the slopes of the loss, and their leaves take its best steps.
#include "engine/estimators/boosting/gradient_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "engine/backend/host/side_by_side.h"
#include "engine/backend/host/tree_draft.h"
#include "engine/core/require.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/part_states.h"
#include "engine/estimators/trees/tree_trim.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
constexpr std::uint64_t kLargestSeed = 0x7ffffffe;   // of a tree

// Exactly `wanted` of n rows.
std::vector<std::uint8_t> draw_mask(std::int64_t n, std::int64_t wanted, LegacyRandom& random) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(n), 0);
  std::int64_t drawn = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(random.uniform() * static_cast<double>(n - i) < static_cast<double>(wanted - drawn))) continue;
    mask[static_cast<std::size_t>(i)] = 1;
    ++drawn;
  }
  return mask;
}

// Rows of each leaf, of those that the stage has drawn.
std::vector<std::vector<std::uint32_t>> members_of(const Forest& tree, const std::vector<std::int32_t>& leaves,
                                                   std::span<const std::uint8_t> mask) {
  std::vector<std::vector<std::uint32_t>> members(static_cast<std::size_t>(tree.n_nodes()));
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (mask.empty() || mask[i]) members[static_cast<std::size_t>(leaves[i])].push_back(static_cast<std::uint32_t>(i));
  return members;
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
auto GradientModel<T>::rows_of(const std::vector<double>& values, const GradientTarget& target,
                               const std::vector<std::int32_t>& rows) const -> Rows {
  Rows part{.n = static_cast<std::int64_t>(rows.size())};
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
  const auto seed =
      static_cast<std::uint32_t>(params.random_state ? static_cast<std::uint64_t>(*params.random_state) : ctx.seed);
  RowParts parts;
  part_rows(target, X.n_rows(), seed, parts);
  Rows fitted, validated;
  {
    const std::vector<double> values = host_values(ctx, X);
    fitted = rows_of(values, target, parts.train), validated = rows_of(values, target, parts.test);
  }
  require(std::accumulate(fitted.weights.begin(), fitted.weights.end(), 0.0) > 0, ErrorCode::kBadData,
          "{}: the weights of the fitted rows sum to 0, must be more", target.owner);
  first_.assign(static_cast<std::size_t>(loss_.n_outputs), 0.0);
  if (!params.init) first_ = loss_.first_predictions(fitted.y, fitted.weights, !target.weights.empty());
  for (Rows* const rows : {&fitted, &validated})
    for (const double value : first_) rows->raw.insert(rows->raw.end(), static_cast<std::size_t>(rows->n), value);
  LegacyRandom random(seed);
  grow_stages(ctx, fitted, validated, random);
  set_importances();
  kept_shap_ = {};
  for (auto& trees : growing_) forests_.push_back(join_trees(std::move(trees), 0, n_features_));
  growing_.clear();
}

template <class T>
void GradientModel<T>::update(Rows& rows, std::int64_t k, const Forest& tree) const {
  const std::vector<std::int32_t> leaves = leaves_of(tree, rows.values);
  double* const raw = rows.raw.data() + k * rows.n;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    raw[i] += learning_rate_ * tree.mean[static_cast<std::size_t>(leaves[i])];
}

// Grows the trees of one stage on the slopes as they are before it.
template <class T>
void GradientModel<T>::stage(const Rows& at, std::span<const std::uint8_t> mask, StageGrower& grower,
                             LegacyRandom& random) {
  const std::vector<double> slopes = loss_.negative_gradient(at.y, at.raw);
  std::vector<double> weights = at.weights;
  for (std::size_t i = 0; i < mask.size(); ++i) weights[i] *= mask[i];
  const StageRules rules = params_.rules(at.n, n_features_, std::accumulate(weights.begin(), weights.end(), 0.0));
  const auto n = static_cast<std::size_t>(at.n);
  for (std::int64_t k = 0; k < loss_.n_outputs; ++k) {
    const std::span<const double> own(slopes.data() + static_cast<std::size_t>(k) * n, n);
    Forest tree = grower.grow(own, weights, rules, static_cast<std::uint32_t>(random.interval(kLargestSeed)));
    if (params_.ccp_alpha > 0) tree = pruned(tree, params_.ccp_alpha);
    if (loss_.kind != GradientLoss::kSquared) {
      const auto members = members_of(tree, leaves_of(tree, at.values), mask);
      for (std::size_t node = 0; node < members.size(); ++node)
        if (tree.feature[node] < 0 && !members[node].empty())
          tree.mean[node] = loss_.leaf_value(k, members[node], at.y, at.raw, slopes, weights);
    }
    growing_[static_cast<std::size_t>(k)].push_back(std::move(tree));
  }
}

template <class T>
void GradientModel<T>::add_stage(Rows& rows) const {
  if (rows.n == 0) return;
  for (std::int64_t k = 0; k < loss_.n_outputs; ++k) update(rows, k, growing_[static_cast<std::size_t>(k)].back());
}

template <class T>
void GradientModel<T>::grow_stages(const Context& ctx, Rows& fitted, Rows& validated, LegacyRandom& random) {
  const StageColumns columns(fitted.values, fitted.n, n_features_, host_threads());
  StageGrower grower(columns, host_threads());
  const bool draws = params_.subsample < 1;
  const std::int64_t drawn =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(params_.subsample * static_cast<double>(fitted.n)));
  std::vector<double> history(static_cast<std::size_t>(params_.n_iter_no_change.value_or(0)),
                              std::numeric_limits<double>::infinity());
  double before = 0;
  growing_.resize(static_cast<std::size_t>(loss_.n_outputs));
  for (bool is_last = false; n_stages_ < params_.n_estimators && !is_last; ++n_stages_) {
    ctx.check_stop();
    std::vector<std::uint8_t> mask;
    if (draws) mask = draw_mask(fitted.n, drawn, random);
    if (draws && n_stages_ == 0) before = loss_.mean(fitted.y, fitted.raw, fitted.weights, mask, false);
    loss_.set_delta(fitted.y, fitted.raw, fitted.weights);
    stage(fitted, mask, grower, random);
    add_stage(fitted);
    train_score_.push_back(loss_.mean(fitted.y, fitted.raw, fitted.weights, mask, true));
    if (draws) {
      oob_scores_.push_back(loss_.mean(fitted.y, fitted.raw, fitted.weights, mask, false));
      oob_improvement_.push_back(before - oob_scores_.back());
      before = oob_scores_.back();
    }
    ctx.progress("trees", n_stages_ + 1, params_.n_estimators, "stages");
    if (history.empty()) continue;
    add_stage(validated);
    const double own = loss_.mean(validated.y, validated.raw, validated.weights, {}, true);
    is_last = std::ranges::none_of(history, [&](double past) { return own + params_.tol < past; });
    if (!is_last) history[static_cast<std::size_t>(n_stages_) % history.size()] = own;
  }
}

template <class T>
void GradientModel<T>::set_importances() {
  importances_.assign(static_cast<std::size_t>(n_features_), 0.0);
  for (const auto& trees : growing_) {
    for (const Forest& tree : trees) {
      if (tree.n_nodes() == 1) continue;
      const std::vector<double> own = decreases(tree);
      std::ranges::transform(importances_, own, importances_.begin(), std::plus<>());
    }
  }
  const double sum = std::accumulate(importances_.begin(), importances_.end(), 0.0);
  if (sum > 0)
    for (double& importance : importances_) importance /= sum;
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
