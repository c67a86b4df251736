// Fits histogram gradient boosting: rows left out, bins, iterations, early stopping; and its stored state.
#include "engine/estimators/boosting/hist_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/core/host_view.h"
#include "engine/core/legacy_random.h"
#include "engine/core/row_parts.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/boosting/hist_run.h"
#include "engine/estimators/boosting/hist_walk.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr std::int64_t kRowsOfEdges = 200'000;   // as many at most make the bins
constexpr std::int64_t kManyRows = 10'000;       // above which "auto" stops early

std::uint32_t next_seed(LegacyRandom& random) {
  return static_cast<std::uint32_t>(random.interval(0xfffffffeU));
}

template <class V>
std::vector<V> chosen(const std::vector<V>& values, std::span<const std::int32_t> rows) {
  if (rows.empty() || values.empty()) return values;
  std::vector<V> result;
  result.reserve(rows.size());
  for (const std::int32_t row : rows) result.push_back(values[static_cast<std::size_t>(row)]);
  return result;
}

// Positions of rows, drawn with replacement in proportion to their weights; none where all rows are taken.
std::vector<std::int32_t> rows_of_edges(std::int64_t n, std::span<const double> weights, std::uint32_t seed) {
  std::vector<std::int32_t> drawn;
  if (n <= kRowsOfEdges) return drawn;
  LegacyRandom random(seed);
  drawn.reserve(kRowsOfEdges);
  if (weights.empty()) {
    for (std::int64_t i = 0; i < kRowsOfEdges; ++i)
      drawn.push_back(static_cast<std::int32_t>(random.interval(static_cast<std::uint64_t>(n - 1))));
    return drawn;
  }
  const CumulatedWeights shares(weights);
  for (std::int64_t i = 0; i < kRowsOfEdges; ++i)
    drawn.push_back(static_cast<std::int32_t>(shares.at(random.uniform())));
  return drawn;
}

BoostRules rules_of(const HistBoostingParams& params, const HistCategories& categories) {
  BoostRules rules;
  rules.max_leaves = params.max_leaf_nodes.value_or(0), rules.max_depth = params.max_depth.value_or(0);
  rules.min_samples_leaf = params.min_samples_leaf, rules.l2 = params.l2_regularization;
  rules.learning_rate = params.learning_rate, rules.max_features = params.max_features;
  for (const bool are_categories : {true, false})   // scikit-learn puts categories before numbers
    for (std::size_t j = 0; j < categories.is_category.size(); ++j)
      if ((categories.is_category[j] != 0) == are_categories) rules.order.push_back(static_cast<std::int32_t>(j));
  return rules;
}

BoostTarget view_of(const HistTarget& target, const std::vector<double>& y, const std::vector<double>& weights) {
  return {.loss = target.loss, .quantile = target.quantile, .n_outputs = target.n_outputs, .y = y, .weights = weights};
}

// Names all that iterations depend on but their number.
std::string work_key(const std::string& content, const char* owner, const HistBoostingParams& p) {
  const auto text = [](const auto& optional) { return optional ? fmt::format("{}", *optional) : std::string("null"); };
  std::string key =
      fmt::format("{} | {} {} {} {} {} {} {} {} {} {} {} {} {} {}", content, owner, p.loss, text(p.quantile),
                  p.learning_rate, text(p.max_leaf_nodes), text(p.max_depth), p.min_samples_leaf, p.l2_regularization,
                  p.max_features, p.max_bins, p.scoring, p.n_iter_no_change, p.tol, text(p.random_state));
  for (const schema::Value* const value : {&p.categorical_features, &p.monotonic_cst, &p.interaction_cst,
                                           &p.early_stopping, &p.validation_fraction, &p.class_weight})
    key += " " + schema::to_string(*value);
  return key;
}

template <class V>
std::vector<V> first_of(const std::vector<V>& values, std::int64_t n) {
  return {values.begin(), values.begin() + std::min<std::ptrdiff_t>(n, std::ssize(values))};
}

BoostForest first_trees(const BoostForest& all, std::int64_t n_trees) {
  if (n_trees >= all.n_trees()) return all;
  const std::int64_t n = all.tree_offset[static_cast<std::size_t>(n_trees)];
  BoostForest first{.n_cols = all.n_cols,
                    .n_outputs = all.n_outputs,
                    .tree_offset = first_of(all.tree_offset, n_trees + 1),
                    .feature = first_of(all.feature, n),
                    .threshold = first_of(all.threshold, n),
                    .left = first_of(all.left, n),
                    .missing_left = first_of(all.missing_left, n),
                    .set = first_of(all.set, n),
                    .value = first_of(all.value, n),
                    .gain = first_of(all.gain, n),
                    .n_rows = first_of(all.n_rows, n),
                    .category_offset = all.category_offset,
                    .categories = all.categories};
  const auto last = std::ranges::max_element(first.set);   // sets lie in the order of their nodes
  first.sets = first_of(all.sets, 32 * (std::int64_t{last == first.set.end() ? -1 : *last} + 1));
  return first;
}

// Announces iterations at most ten times a second.
class Progress {
 public:
  explicit Progress(const Context& ctx, std::int64_t total) : ctx_(ctx), total_(total) {}
  void at(std::int64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (done < total_ && now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    ctx_.progress("iterations", done, total_, "iterations");
  }

 private:
  const Context& ctx_;
  std::int64_t total_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Children lie behind their parent in the same tree, so that every walk ends; what they index is there.
void state_of(StateArchive& archive, BoostForest& f, std::int32_t max_outputs) {
  archive.features(f.n_cols);
  archive.number("n_outputs", f.n_outputs, 1, max_outputs);
  std::int64_t n_nodes = f.n_nodes(), n_sets = static_cast<std::int64_t>(f.sets.size()) / 32;
  archive.number("n_nodes", n_nodes, 1, kMaxSize);
  archive.number("n_sets", n_sets, 0, n_nodes);
  archive.indices("tree_offset", f.tree_offset, kAnySize, 0, n_nodes);
  archive.indices("feature", f.feature, n_nodes, -1, f.n_cols - 1);
  archive.field("threshold", f.threshold, n_nodes);
  archive.indices("left", f.left, n_nodes, 0, n_nodes - 1);
  archive.field("missing_left", f.missing_left, n_nodes);
  archive.indices("set", f.set, n_nodes, -1, n_sets - 1);
  archive.field("value", f.value, n_nodes);
  archive.expect_finite("value", f.value);
  archive.field("gain", f.gain, n_nodes);
  archive.field("n_rows", f.n_rows, n_nodes);
  archive.field("sets", f.sets, n_sets * 32);
  archive.field("categories", f.categories, kAnySize);
  archive.expect_finite("categories", f.categories);
  const auto n_categories = static_cast<std::int64_t>(f.categories.size());
  archive.indices("category_offset", f.category_offset, f.n_cols + 1, 0, n_categories);
  const std::vector<std::int32_t>& of = f.category_offset;
  archive.expect(of.front() == 0 && of.back() == n_categories && std::ranges::is_sorted(of), "category_offset",
                 "does not cover the categories");
  for (std::size_t j = 0; j + 1 < of.size(); ++j) archive.expect_in("category_offset", of[j + 1] - of[j], 0, 255);
  const std::vector<std::int64_t>& offset = f.tree_offset;
  const bool covers = offset.size() >= 2 && offset.front() == 0 && offset.back() == n_nodes;
  archive.expect(covers && (offset.size() - 1) % static_cast<std::size_t>(f.n_outputs) == 0, "tree_offset",
                 "does not cover the nodes");
  for (std::size_t t = 0; archive.is_loading() && t + 1 < offset.size(); ++t) {
    archive.expect(offset[t] < offset[t + 1], "tree_offset", "has a tree without nodes");
    for (std::int64_t i = offset[t]; i < offset[t + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (f.feature[at] >= 0) archive.expect_in("left", f.left[at], i + 1, offset[t + 1] - 2);
    }
  }
}

}   // namespace

template <class T>
struct HistModel<T>::Rows {
  std::vector<std::int32_t> train, validation;   // both empty: all rows are fitted
};

template <class T>
struct HistModel<T>::Iterations {
  BoostForest forest;
  std::vector<double> baseline, train_score, validation_score;
};

// Which rows validate: scikit-learn's train_test_split, with the classes in equal shares where there are classes.
template <class T>
typename HistModel<T>::Rows HistModel<T>::part_rows(const char* owner, const HistBoostingParams& params,
                                                    const HistTarget& target, std::uint32_t seed) const {
  if (!stops_early_ || params.validation_fraction.is_null()) return {};
  const auto n = static_cast<std::int64_t>(target.y.size());
  const auto* count = std::get_if<std::int64_t>(&params.validation_fraction.data);
  const std::int64_t test = count ? *count
                                  : static_cast<std::int64_t>(std::ceil(
                                        std::get<double>(params.validation_fraction.data) * static_cast<double>(n)));
  require(test < n, ErrorCode::kBadData, "{}: validation_fraction leaves {} of {} rows out, nothing is left to fit",
          owner, test, n);
  LegacyRandom random(seed);
  RowParts parts = target.codes.empty()
                       ? draw_parts(n, n - test, test, random)
                       : draw_stratified_parts(class_members(target.codes, target.n_classes), n - test, test, random);
  return {std::move(parts.train), std::move(parts.test)};
}

template <class T>
void HistModel<T>::fit(const Context& ctx, const char* owner, const HistBoostingParams& params, const Samples<T>& X,
                       const HistTarget& target) {
  require_rows(owner, X);
  constexpr std::int64_t kMostRows = std::int64_t{1} << 27;
  require(X.n_rows() < kMostRows, ErrorCode::kBadData, "{}: got {} rows, fewer than {} are possible", owner, X.n_rows(),
          kMostRows);
  ctx.check_stop();
  *this = HistModel();
  HistRows<T> rows(ctx, owner, X, category_mask(owner, params.categorical_features, X), params.max_bins, categories_);
  monotonic_ = monotonic_signs(owner, params.monotonic_cst, X, categories_);
  interactions_ = interaction_sets(owner, params.interaction_cst, X.n_cols());
  if (!monotonic_.empty() && target.n_outputs > 1)
    refuse_param(owner, "monotonic_cst", params.monotonic_cst, "must be null with more than two classes");
  LegacyRandom random(
      static_cast<std::uint32_t>(params.random_state ? static_cast<std::uint64_t>(*params.random_state) : ctx.seed));
  const std::uint32_t seed = next_seed(random), column_seed = next_seed(random);
  const auto* flag = std::get_if<bool>(&params.early_stopping.data);
  stops_early_ = flag ? *flag : X.n_rows() > kManyRows;
  const Rows parts = part_rows(owner, params, target, seed);
  const auto make = [&](std::int64_t n_iter) { iterate(ctx, params, n_iter, rows, target, parts, seed, column_seed); };
  const std::string key = work_key(X.content, owner, params);
  if (!ctx.work || X.content.empty() || ctx.work->wanted(key).size() < 2) return make(params.max_iter);
  const auto most = std::max(params.max_iter, static_cast<std::int64_t>(*ctx.work->wanted(key).rbegin()));
  take(*ctx.work->get<Iterations>("boosting iterations", key,
                                  [&] {
                                    make(most);
                                    return Iterations{std::move(forest_), baseline_, train_score_, validation_score_};
                                  }),
       params.max_iter);
}

template <class T>
void HistModel<T>::announce(WorkCache& plan, const std::string& content, const char* owner,
                            const HistBoostingParams& params) {
  plan.want(work_key(content, owner, params), static_cast<double>(params.max_iter));
}

// The first of them; scores begin before the first one.
template <class T>
void HistModel<T>::take(const Iterations& made, std::int64_t n_iter) {
  forest_ = first_trees(made.forest, n_iter * made.forest.n_outputs), baseline_ = made.baseline;
  train_score_ = first_of(made.train_score, n_iter + 1);
  validation_score_ = first_of(made.validation_score, n_iter + 1);
}

template <class T>
void HistModel<T>::iterate(const Context& ctx, const HistBoostingParams& params, std::int64_t n_iter, HistRows<T>& X,
                           const HistTarget& target, const Rows& rows, std::uint32_t seed, std::uint64_t column_seed) {
  const std::vector<double> y = chosen(target.y, rows.train), weights = chosen(target.weights, rows.train);
  const std::vector<double> left_y = chosen(target.y, rows.validation),
                            left_weights = chosen(target.weights, rows.validation);
  const std::vector<std::int32_t> drawn = rows_of_edges(static_cast<std::int64_t>(y.size()), weights, seed);
  BoostRules rules = rules_of(params, categories_);
  rules.seed = column_seed, rules.monotonic = monotonic_, rules.interactions = interactions_;
  forest_.n_cols = X.values().cols, forest_.n_outputs = target.n_outputs;
  forest_.category_offset = {0};
  for (const std::vector<double>& numbers : categories_.numbers) {
    forest_.categories.insert(forest_.categories.end(), numbers.begin(), numbers.end());
    forest_.category_offset.push_back(static_cast<std::int32_t>(forest_.categories.size()));
  }
  const HistFit<T> fit{.X = &X,
                       .rows = rows.train,
                       .validation = rows.validation,
                       .binning = {.max_bins = static_cast<int>(params.max_bins),
                                   .is_category = categories_.is_category,
                                   .drawn = drawn,
                                   .weights = weights},
                       .categories = &categories_.numbers,
                       .target = view_of(target, y, weights),
                       .validation_target = view_of(target, left_y, left_weights)};
  baseline_ = boost_baseline(fit.target);
  const std::unique_ptr<BoostRun> run = start_run(ctx, fit, rules, baseline_);
  const auto is_enough = [&] { return stops_early_ && score(run->losses(), !rows.validation.empty(), params); };
  is_enough();
  Progress progress(ctx, n_iter);
  for (std::int64_t i = 1; i <= n_iter; ++i) {
    ctx.check_stop();
    run->step(forest_);
    progress.at(i);
    if (is_enough()) break;
  }
  run->finish(forest_);
}

// Keeps the scores, which are negative losses, and says whether none of the last ones is better than the one before
// them.
template <class T>
bool HistModel<T>::score(const BoostLosses& losses, bool validates, const HistBoostingParams& params) {
  train_score_.push_back(-losses.fitted);
  if (validates) validation_score_.push_back(-losses.validation);
  const std::vector<double>& scores = validates ? validation_score_ : train_score_;
  const auto n = static_cast<std::int64_t>(scores.size());
  if (n < params.n_iter_no_change + 1) return false;
  const auto reference = scores.end() - (params.n_iter_no_change + 1);
  return std::none_of(reference + 1, scores.end(), [&](double score) { return score > *reference + params.tol; });
}

template <class T>
std::vector<double> HistModel<T>::raw(const Context& ctx, const char* owner, const Samples<T>& X) const {
  require_fitted_columns(owner, X, static_cast<std::size_t>(forest_.n_cols));
  ctx.check_stop();
  if (TreeWalkOps* const ops = tree_walk_ops(ctx.device.trees()); ops && X.n_rows() > 0) {
    require_nominal(owner, X, categories_);
    return raw_of_device(ctx, *ops, X);
  }
  HistRows<T> rows(ctx, owner, X, categories_);
  std::vector<double> result;
  for (const double base : baseline_) result.insert(result.end(), static_cast<std::size_t>(X.n_rows()), base);
  if (X.n_rows() == 0) return result;
  if (!std::exchange(is_coded_, true)) coded_ = coded_trees(forest_);
  if (coded_) add_coded(*coded_, forest_, rows.host(), std::span<double>(result));
  else add_boosted(forest_, 0, rows.host(), {}, std::span<double>(result));
  return result;
}

template <class T>
std::vector<double> HistModel<T>::raw_of_device(const Context& ctx, TreeWalkOps& ops, const Samples<T>& X) const {
  if (ready_on_ != &ctx.device) {
    ready_ =
        ready_walk(ops, forest_, baseline_, sizeof(T) == sizeof(float) ? WalkCells::kFloat32 : WalkCells::kFloat64);
    ready_on_ = &ctx.device;
  }
  Matrix<T> scratch;
  Matrix<double> sums(ctx.memory(), forest_.n_outputs, X.n_rows());
  ready_->sums(X.values(ctx, scratch), category_keys(X, categories_, forest_), sums.view());
  return sums.to_host();
}

// With categories by their codes.
template <class T>
std::vector<double> HistModel<T>::cells_of(const Context& ctx, const char* owner, const Samples<T>& X) const {
  require_nominal(owner, X, categories_);
  std::vector<double> cells = host_values(ctx, X);
  read_codes(category_keys(X, categories_, forest_), forest_.n_cols, cells);
  return cells;
}

template <class T>
Contributions HistModel<T>::contributions(const Context& ctx, const char* owner, const Samples<T>& X,
                                          const Division<T>& division) const {
  require_fitted_columns(owner, X, static_cast<std::size_t>(forest_.n_cols));
  const auto trees = [&] { return shap_trees(forest_, baseline_); };
  Contributions found{.n_outputs = forest_.n_outputs};
  const auto keys = [&] {
    require_nominal(owner, X, categories_);
    return category_keys(X, categories_, forest_);
  };
  if (auto of_device = device_contributions(ctx, X, division, kept_shap_, trees, keys)) {
    found.values = *std::move(of_device);
    return found;
  }
  AskedCells asked{.n_rows = X.n_rows(), .rows = cells_of(ctx, owner, X), .among_pairs = division.among_pairs};
  if (const Samples<T>* background = division.background)
    asked.n_background = background->n_rows(), asked.background = cells_of(ctx, owner, *background);
  found.values = tree_contributions(trees(), asked);
  return found;
}

template <class T>
void HistModel<T>::append_attributes(schema::ValueMap& map) const {
  map.emplace_back("n_iter_", forest_.n_trees() / forest_.n_outputs);
  map.emplace_back("n_trees_per_iteration_", std::int64_t{forest_.n_outputs});
  map.emplace_back("do_early_stopping_", stops_early_);
  map.emplace_back("train_score_", train_score_);
  map.emplace_back("validation_score_", validation_score_);
  schema::ValueList flags;
  for (const std::uint8_t flag : categories_.is_category) flags.emplace_back(flag != 0);
  const bool has_categories = std::ranges::count(categories_.is_category, 1) > 0;
  map.emplace_back("is_categorical_", has_categories ? schema::Value(std::move(flags)) : schema::Value());
}

template <class T>
void HistModel<T>::state(StateArchive& archive, std::int32_t max_outputs) {
  state_of(archive, forest_, max_outputs);
  if (archive.is_loading()) coded_.reset(), is_coded_ = false, ready_.reset(), ready_on_ = nullptr, kept_shap_ = {};
  archive.field("baseline", baseline_, forest_.n_outputs);
  archive.expect_finite("baseline", baseline_);
  archive.field("is_category", categories_.is_category, forest_.n_cols);
  categories_.names.resize(static_cast<std::size_t>(forest_.n_cols));
  for (std::size_t j = 0; j < categories_.names.size(); ++j) {
    std::vector<std::string>& names = categories_.names[j];
    archive.field("names", names);
    const std::int64_t n_categories = forest_.category_offset[j + 1] - forest_.category_offset[j];
    archive.expect(names.empty() || std::ssize(names) == n_categories, "names", "are not those of the categories");
    archive.expect(std::ranges::is_sorted(names), "names", "are not in order");
  }
  archive.field("train_score", train_score_, kAnySize);
  archive.field("validation_score", validation_score_, kAnySize);
  archive.field("stops_early", stops_early_);
}

template class HistModel<float>;
template class HistModel<double>;

}   // namespace kedge::engine
