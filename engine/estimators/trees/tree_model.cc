// Grows forests, on bytes where the samples allow it, and shares them.
#include "engine/estimators/trees/tree_model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "engine/backend/host/tree_draft.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/part_states.h"
#include "engine/estimators/trees/dealt_trees.h"
#include "engine/estimators/trees/tree_trim.h"

namespace kedge::engine {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(100);

// What the candidates of a search leave to each other.
struct SharedForest {
  std::shared_ptr<const Forest> forest;
  std::int32_t max_depth = 0;   // with which it was grown
};

// x' = (x - shift) * scale by column, as Samples has it.
template <class T>
struct AffineMap {
  const std::vector<double>&shift, &scale;
  double operator()(std::int64_t col, double value) const {
    return static_cast<double>(static_cast<T>((value - shift[col]) * scale[col]));
  }
};

// Whether the affine map keeps the bins of every column apart and in order.
template <class T>
bool map_keeps_bins(const Samples<T>& X, const BinEdges& edges) {
  if (!X.is_affine()) return true;
  const AffineMap<T> mapped{X.shift, X.scale};
  for (std::int64_t col = 0; col < X.n_cols(); ++col) {
    if (!(X.scale[col] > 0) || !std::isfinite(X.scale[col]) || !std::isfinite(X.shift[col])) return false;
    for (std::int32_t b = edges.offset[col]; b + 1 < edges.offset[col + 1]; ++b)
      if (!(mapped(col, edges.high[b]) < mapped(col, edges.low[b + 1]))) return false;
  }
  return true;
}

// Takes the thresholds through the affine map; each stays between the bins that it parts.
template <class T>
void map_thresholds(const AffineMap<T>& mapped, const BinEdges& edges, Forest& forest) {
  if (mapped.shift.empty()) return;
  for (std::size_t i = 0; i < forest.feature.size(); ++i) {
    const std::int32_t f = forest.feature[i];
    if (f < 0) continue;
    const std::int32_t b = edges.offset[f] + forest.bin[i];
    const double low = mapped(f, edges.high[b]), high = mapped(f, edges.low[b + 1]);
    const double middle = (forest.threshold[i] - mapped.shift[f]) * mapped.scale[f];
    forest.threshold[i] = middle >= low && middle < high ? middle : low;
  }
}

bool all_bins_exact(const BinEdges& edges) { return edges.low == edges.high; }

TreeProgress progress_of(const Context& ctx) {
  return [&ctx, last = std::chrono::steady_clock::now()](std::int64_t done, std::int64_t total) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (done < total && now - last < kProgressEvery) return;
    last = now;
    ctx.progress("trees", done, total, "trees");
  };
}

}  // namespace

template <class T>
struct TreeModel<T>::Growth {
  const TreeFit& fit;
  const BinnedTable* table = nullptr;           // null: exact values
  MatrixView<const T> values = {};
  VectorView<const std::int32_t> rows = {};     // of the table
  VectorView<const std::int32_t> codes = {};    // classes by row of the table, or of the values
  const Samples<T>* map = nullptr;              // the affine map that thresholds go through
};

template <class T>
Forest TreeModel<T>::grow(const Context& ctx, const Growth& growth, std::int64_t first, std::int64_t n_trees, std::int32_t max_depth) const {
  ForestOptions options = growth.fit.options;
  options.first_tree = first, options.n_trees = n_trees, options.max_depth = max_depth;
  TreeTarget target = growth.fit.target;
  target.codes = growth.codes;
  TreeOps& trees = ctx.device.trees();
  if (!growth.table) return trees.grow_exact(growth.values, target, options, ctx.stop);
  const auto grow_some = [&](std::int64_t from, std::int64_t n) {
    options.first_tree = from, options.n_trees = n;
    return trees.grow(*growth.table, growth.rows, target, options, ctx.stop, progress_of(ctx));
  };
  Ranks* const ranks = n_trees > 1 ? ranks_of_job() : nullptr;
  Forest forest = ranks ? grow_on_ranks(*ranks, first, n_trees, target.n_classes, growth.table->n_cols, grow_some)
                        : grow_some(first, n_trees);
  if (growth.map) map_thresholds(AffineMap<T>{growth.map->shift, growth.map->scale}, growth.table->edges, forest);
  return forest;
}

template <class T>
std::shared_ptr<const Forest> TreeModel<T>::grown(const Context& ctx, const Samples<T>& X, const Growth& growth) const {
  const ForestOptions& options = growth.fit.options;
  const std::int64_t n = options.n_trees;
  if (!ctx.work || X.content.empty()) return std::make_shared<const Forest>(grow(ctx, growth, 0, n, options.max_depth));
  const bool by_level =
      options.max_leaf_nodes == 0 && options.draws == TreeDraws::kByNode;   // else another depth is another tree
  std::string key = X.content + " | " + growth.fit.owner + growth.fit.share_key;
  if (options.draws == TreeDraws::kSklearn) key += " sklearn";
  if (!by_level) key += " depth " + std::to_string(options.max_depth);
  SharedForest& shared = *ctx.work->get<SharedForest>("trees", key, [] { return SharedForest{}; });
  if (!shared.forest || shared.max_depth < options.max_depth) {
    const std::int64_t wanted = std::max(n, shared.forest ? shared.forest->n_trees() : 0);
    shared = {std::make_shared<const Forest>(grow(ctx, growth, 0, wanted, options.max_depth)), options.max_depth};
  } else if (shared.forest->n_trees() < n) {
    const std::int64_t have = shared.forest->n_trees();
    Forest more = grow(ctx, growth, have, n - have, shared.max_depth);
    shared.forest = std::make_shared<const Forest>(join_trees({*shared.forest, std::move(more)}, growth.fit.target.n_classes, X.n_cols()));
  }
  if (shared.forest->n_trees() == n && shared.max_depth == options.max_depth) return shared.forest;
  return std::make_shared<const Forest>(first_trees(*shared.forest, n, options.max_depth));
}

// Grows the forest so that it stays on the device, unless the host reads its nodes soon, or the device keeps none.
template <class T>
bool TreeModel<T>::stays_there(const Context& ctx, const Samples<T>& X, const Growth& growth) {
  const bool is_shared = ctx.work && !X.content.empty(), is_one = growth.fit.options.n_trees < 2;
  GrownForestOps* const ops = grown_forest_ops(ctx.device.trees());
  if (!ops || !growth.table || is_shared || is_one || ranks_of_job() || growth.fit.ccp_alpha > 0 || wants_out_of_bag)
    return false;
  TreeTarget target = growth.fit.target;
  target.codes = growth.codes;
  there_.forest = ops->grow_there(*growth.table, growth.rows, target, growth.fit.options, ctx.stop, progress_of(ctx));
  if (!there_.forest) return false;
  there_.on = &ctx.device;
  if (growth.map && growth.map->is_affine())
    there_.shift = growth.map->shift, there_.scale = growth.map->scale, there_.edges = growth.table->edges;
  if (!there_.forest->has_room()) static_cast<void>(forest());
  return true;
}

template <class T>
const Forest& TreeModel<T>::forest() const {
  if (!forest_) {
    Forest brought = there_.forest->bring();
    map_thresholds(AffineMap<T>{there_.shift, there_.scale}, there_.edges, brought);
    forest_ = std::make_shared<const Forest>(std::move(brought));
    ready_ = {}, there_ = {};
  }
  return *forest_;
}

template <class T>
void TreeModel<T>::fit_bins(const Context& ctx, const Samples<T>& X, const Growth& growth) {
  ready_ = {}, kept_shap_ = {}, there_ = {}, forest_ = nullptr;
  if (stays_there(ctx, X, growth)) return;
  forest_ = grown(ctx, X, growth);
  if (growth.fit.ccp_alpha > 0) forest_ = std::make_shared<const Forest>(pruned(*forest_, growth.fit.ccp_alpha));
  if (wants_out_of_bag && growth.table) out_of_bag_ = ctx.device.trees().out_of_bag(*forest_, *growth.table, growth.rows, growth.fit.options);
}

// Classes by row of the samples' table, which the job's target says by row of the samples; rows that are not selected
// get any.
template <class T>
Array<std::int32_t> codes_by_table_row(const Context& ctx, const Samples<T>& X,
                                       const std::vector<std::int32_t>& codes) {
  if (!X.rows) return Array<std::int32_t>(ctx.memory(), std::span<const std::int32_t>(codes));
  const std::vector<std::int32_t> rows = X.rows->to_host();
  std::vector<std::int32_t> by_row(static_cast<std::size_t>(X.table->n_rows()));
  for (std::size_t i = 0; i < rows.size(); ++i) by_row[static_cast<std::size_t>(rows[i])] = codes[i];
  return Array<std::int32_t>(ctx.memory(), std::span<const std::int32_t>(by_row));
}

template <class T>
void TreeModel<T>::fit(const Context& ctx, const Samples<T>& X, TreeFit fit) {
  const BinnedTable& table = binned_table(ctx, *X.table);
  const bool can_be_equal = (fit.is_exact || all_bins_exact(table.edges)) && ctx.device.traits().uses_host_memory;
  const bool by_sklearn = fit.draws == "sklearn" || (fit.draws == "auto" && can_be_equal);
  fit.options.draws = by_sklearn ? TreeDraws::kSklearn : TreeDraws::kByNode;
  fitted_table_.reset();
  const bool is_exact = fit.is_exact && !all_bins_exact(table.edges);
  if (!is_exact && map_keeps_bins(X, table.edges)) {
    Array<std::int32_t> codes;
    if (fit.target.n_classes > 0) codes = codes_by_table_row(ctx, X, fit.y.codes);
    fit_bins(ctx, X, {.fit = fit, .table = &table, .rows = X.row_view(), .codes = codes.view(), .map = &X});
    fitted_table_ = X.table, shift_ = X.shift, scale_ = X.scale;
    return;
  }
  Matrix<T> scratch;
  const MatrixView<const T> values = X.values(ctx, scratch);
  const Array<std::int32_t> codes(ctx.memory(), std::span<const std::int32_t>(fit.y.codes));
  if (is_exact) return fit_bins(ctx, X, {.fit = fit, .values = values, .codes = codes.view()});
  const BinnedTable own = ctx.device.trees().bin(values);   // the map merges or reorders values: bin what it gives
  fit_bins(ctx, X, {.fit = fit, .table = &own, .codes = codes.view()});
}

template <class T>
bool TreeModel<T>::has_fitted_codes(const Samples<T>& X) const {
  return X.table == fitted_table_.lock() && X.table->binned && X.shift == shift_ && X.scale == scale_;
}

template <class T>
void TreeModel<T>::predict(const Context& ctx, const char* owner, const Samples<T>& X, MatrixView<double> out) const {
  require_fitted_columns(owner, X, static_cast<std::size_t>((forest_ ? *forest_ : there_.forest->head()).n_cols));
  ctx.check_stop();
  if (X.n_rows() == 0) return;
  if (has_fitted_codes(X))
    if (const ReadyForest* const there = ready_there(ctx)) return there->predict(*X.table->binned, X.row_view(), out);
  if (ready_.of != &forest() || ready_.on != &ctx.device)
    ready_ = {ctx.device.trees().prepare(*forest_), forest_.get(), &ctx.device};
  if (has_fitted_codes(X)) return ready_.forest->predict(*X.table->binned, X.row_view(), out);
  Matrix<T> scratch;
  ready_.forest->predict(X.values(ctx, scratch), out);
}

template <class T>
const ReadyForest* TreeModel<T>::ready_there(const Context& ctx) const {
  if (forest_ || there_.on != &ctx.device) return nullptr;
  if (ready_.of != there_.forest.get()) ready_ = {there_.forest->prepare(), there_.forest.get(), &ctx.device};
  return ready_.forest.get();
}

template <class T>
Contributions TreeModel<T>::contributions(const Context& ctx, const char* owner, const Samples<T>& X,
                                          const Division<T>& division) const {
  require_fitted_columns(owner, X, static_cast<std::size_t>(forest().n_cols));
  std::vector<double> values = contributions_of(ctx, X, division, kept_shap_, [&] { return shap_trees(*forest_); });
  if (forest_->n_classes == 2 && X.n_rows() > 0) return of_both_classes(values, std::ssize(values) / X.n_rows());
  return {.n_outputs = forest_->n_classes > 2 ? forest_->n_classes : 1, .values = std::move(values)};
}

template <class T>
void TreeModel<T>::state(StateArchive& archive, std::int32_t n_classes) {
  Forest forest;
  if (!archive.is_loading()) forest = this->forest();
  forest_state(archive, forest, n_classes);
  if (!archive.is_loading()) return;
  ready_ = {}, kept_shap_ = {}, there_ = {};
  forest_ = std::make_shared<const Forest>(std::move(forest));
  fitted_table_.reset();
}

template class TreeModel<float>;
template class TreeModel<double>;

}  // namespace kedge::engine
