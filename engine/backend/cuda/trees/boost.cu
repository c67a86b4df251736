// Boosting on the device: rows, derivatives and histograms lie there, and the trees are those of host/booster.cc bit
// for bit. The host chooses what is cut, round by round (host/boost_rounds.h), and waits once a round.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/backend/cuda/trees/boost_cuts.cuh"
#include "engine/backend/cuda/trees/boost_rows.cuh"
#include "engine/backend/cuda/trees/ready_boost.h"
#include "engine/backend/host/boost_rounds.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kLeastAdded = 512;                         // rows that a block adds up
constexpr std::int64_t kHistogramBytes = std::int64_t{4} << 30;   // that a tree may have at most

std::int64_t histogram_size(std::int64_t n_cols) {
  return n_cols * kBoostCodes;
}

// Device memory that is made anew only where more is needed.
template <class T>
void put(CudaRuntime& runtime, Array<T>& array, const std::vector<T>& host) {
  const auto n = static_cast<std::int64_t>(host.size());
  if (array.size() < n) array = {}, array = Array<T>(runtime, n + n / 2);
  if (n > 0) runtime.to_device(array.data(), host.data(), host.size() * sizeof(T));
}
template <class T>
T* at_least(CudaRuntime& runtime, Array<T>& array, std::int64_t n) {
  if (array.size() < n) array = {}, array = Array<T>(runtime, n + n / 2);
  return raw(array);
}

// Codes of rows, column by column, with what the rows are fitted to and their raw predictions.
class BoostRows {
 public:
  BoostRows(CudaRuntime& runtime, BoostCodes table, const BoostTarget& target, std::span<const double> baseline)
      : loss_(target.loss),
        quantile_(target.quantile),
        n_outputs_(target.n_outputs),
        n_(table.n_rows),
        codes_(std::move(table.codes)),
        y_(runtime, target.y),
        weights_(runtime, target.weights),
        raw_(runtime, n_ * n_outputs_),
        loss_sums_(runtime, (n_ + kBoostLossRows - 1) / kBoostLossRows),
        total_(target.weights.empty() ? static_cast<double>(n_)
                                      : std::accumulate(target.weights.begin(), target.weights.end(), 0.0)) {
    std::vector<double> first;
    for (const double base : baseline) first.insert(first.end(), static_cast<std::size_t>(n_), base);
    runtime.to_device(raw_.data(), first.data(), first.size() * sizeof(double));
  }

  std::int64_t n() const { return n_; }
  const std::uint8_t* codes() const { return raw(codes_); }
  double* raw_of(std::int32_t output) { return raw(raw_) + output * n_; }
  BoostRowsView view() {
    return {.loss = loss_,
            .n_outputs = n_outputs_,
            .n = n_,
            .y = raw(y_),
            .weights = weights_.size() > 0 ? raw(weights_) : nullptr,
            .raw = raw(raw_),
            .gradients = nullptr,
            .hessians = nullptr,
            .peaks = nullptr};
  }
  // As boost_loss().
  double mean_loss(CudaRuntime& runtime) {
    KEDGE_LAUNCH(runtime, sum_boost_losses, static_cast<unsigned>(loss_sums_.size()), kBoostThreads, 0, view(),
                 quantile_, loss_sums_.data());
    const std::vector<double> sums = loss_sums_.to_host();
    return std::accumulate(sums.begin(), sums.end(), 0.0) / total_;
  }

 private:
  BoostLoss loss_;
  double quantile_;
  std::int32_t n_outputs_;
  std::int64_t n_;
  Array<std::uint8_t> codes_;
  Array<double> y_, weights_, raw_, loss_sums_;
  double total_;
};

std::vector<DeviceBoostColumn> device_columns(const std::vector<BoostColumn>& columns, const BoostRules& rules) {
  std::vector<DeviceBoostColumn> result;
  for (std::size_t j = 0; j < columns.size(); ++j)
    result.push_back({.n_bins = columns[j].n_bins(),
                      .is_category = static_cast<std::int8_t>(columns[j].is_category),
                      .has_missing = static_cast<std::int8_t>(columns[j].has_missing),
                      .monotonic = rules.monotonic.empty() ? std::int8_t{0} : rules.monotonic[j]});
  return result;
}

BoostSum sum_of(BoostBin bin) {
  return BoostSum{bin.gradients, bin.rest};
}

BoostCut host_cut(const DeviceBoostCut& from) {
  BoostCut cut;
  if (from.gain <= 0) return cut;
  cut.gain = from.gain, cut.column = from.column, cut.bin = from.bin;
  cut.is_category = from.is_category != 0, cut.missing_left = from.missing_left != 0;
  cut.left_sum = sum_of(from.left);
  for (std::size_t w = 0; w < 8; ++w) cut.left.words[w / 2] |= std::uint64_t{from.set[w]} << (32 * (w % 2));
  return cut;
}

void put_codes(const BoostCut& cut, const BoostColumn& column, std::uint32_t (&bits)[8]) {
  const std::array<std::uint8_t, 256> goes_left = left_codes(cut, column);
  for (std::size_t code = 0; code < goes_left.size(); ++code)
    bits[code / 32] |= std::uint32_t{goes_left[code]} << (code % 32);
}

class CudaBoost final : public BoostRun {
 public:
  CudaBoost(CudaRuntime& runtime, BoostFit fit)
      : runtime_(runtime),
        columns_(fit.table.columns),
        n_cols_(std::ssize(columns_)),
        rules_(*fit.rules),
        target_(fit.target),
        rows_(runtime, std::move(fit.table), fit.target, fit.baseline),
        records_(runtime, (n_cols_ + kBoostWidth - 1) / kBoostWidth * rows_.n()),
        device_columns_(runtime, std::span<const DeviceBoostColumn>(device_columns(columns_, rules_))),
        order_(runtime, std::span<const std::int32_t>(rules_.order)),
        gradients_(runtime, rows_.n() * target_.n_outputs),
        packed_(runtime, rows_.n()),
        lists_{Array<std::uint32_t>(runtime, rows_.n()), Array<std::uint32_t>(runtime, rows_.n())},
        peaks_(runtime, 2 * target_.n_outputs),
        units_(runtime, 1),
        rounds_(columns_, rules_) {
    if (!target_.has_unit_hessians()) hessians_ = Array<double>(runtime, gradients_.size());
    if (fit.validation.n_rows > 0)
      validation_.emplace(runtime, std::move(fit.validation), fit.validation_target, fit.baseline);
    KEDGE_LAUNCH(runtime_, record_boost_codes, grid_of_groups(blocks_for(rows_.n(), kBoostThreads)), kBoostThreads, 0,
                 rows_.codes(), rows_.n(), n_cols_, records_.data());
  }

  void step(BoostForest& forest) override {
    BoostRowsView rows = rows_.view();
    rows.gradients = raw(gradients_), rows.hessians = hessians_.size() > 0 ? raw(hessians_) : nullptr;
    rows.peaks = raw(peaks_);
    peaks_.zero();
    const unsigned most = static_cast<unsigned>(8 * runtime_.multiprocessors()),
                   blocks = std::min(blocks_for(rows.n, kBoostThreads), most);
    if (rows.loss == BoostLoss::kMultinomial)
      KEDGE_LAUNCH(runtime_, derive_class_rows, tall_grid(runtime_, blocks, static_cast<unsigned>(rows.n_outputs)),
                   kBoostThreads, 0, rows);
    else KEDGE_LAUNCH(runtime_, derive_boost_rows, blocks, kBoostThreads, 0, rows);
    for (std::int32_t k = 0; k < rows.n_outputs; ++k) {
      check_job_stop();
      grow(rows, k, forest);
      value_leaves(rows, k, forest);
      ++n_trees_;
    }
  }

  BoostLosses losses() override {
    BoostLosses losses{.fitted = rows_.mean_loss(runtime_)};
    if (validation_) losses.validation = validation_->mean_loss(runtime_);
    return losses;
  }

  void finish(BoostForest& forest) override {
    if (open_.empty()) return;
    std::vector<double> values(open_.size());
    runtime_.to_host(values.data(), values_.data(), values.size() * sizeof(double));
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (open_[i] < forest.n_nodes()) forest.value[static_cast<std::size_t>(open_[i])] = values[i];
    open_.clear();
  }

 private:
  dim3 grid_of_groups(unsigned blocks) const {
    return tall_grid(runtime_, blocks, static_cast<unsigned>((n_cols_ + kBoostWidth - 1) / kBoostWidth));
  }

  void grow(const BoostRowsView& rows, std::int32_t k, BoostForest& forest) {
    KEDGE_LAUNCH(runtime_, pack_boost_rows, blocks_for(rows.n, kBoostThreads), kBoostThreads, 0, rows, k, n_trees_,
                 units_.data(), packed_.data(), lists_[0].data());
    free_.clear();
    for (std::size_t i = 0; i < pool_.size(); ++i) free_.push_back(static_cast<std::int32_t>(i));
    rounds_.begin(n_trees_, rows.n);
    search_root(rows, k);
    for (;;) {
      const std::span<const RoundPart> parts = rounds_.next();
      if (parts.empty()) break;
      check_job_stop();
      part(parts);
    }
    rounds_.finish(forest);
  }

  void search_root(const BoostRowsView& rows, std::int32_t k) {
    RoundNode& root = rounds_.nodes()[0];
    root.histogram = take_histogram();
    BoostTask task{.n = rows.n, .n_left = rows.n, .list = 1, .is_left_small = 1, .small = raw(pool_[root.histogram])};
    task.children[0] = child_of(root);
    tasks_ = {task}, masks_.clear();
    mask(tasks_[0], root, nullptr);
    pool_[root.histogram].zero();
    put(runtime_, device_tasks_, tasks_), put(runtime_, device_masks_, masks_);
    rows_of_block_ = added_by_block(rows.n);
    const std::vector<DeviceBoostCut> cuts = search(1, (rows.n + rows_of_block_ - 1) / rows_of_block_, 1);
    double peaks[2];
    runtime_.to_host(peaks, raw(peaks_) + 2 * k, sizeof peaks);
    require_finite_gradients(std::isfinite(peaks[0]) && std::isfinite(peaks[1]), n_trees_);
    const bool has_hessians = hessians_.size() > 0;
    const BoostUnits units = boost_units(peaks[0], has_hessians ? peaks[1] : 1, has_hessians, rows.n);
    rounds_.set_root({.gradient_unit = units.gradient_unit,
                      .hessian_unit = units.hessian_unit,
                      .l2 = rules_.l2,
                      .count_bits = units.count_bits,
                      .least_rows = rules_.min_samples_leaf},
                     sum_of(cuts[0].total), host_cut(cuts[0]));
  }

  // Parts the nodes, and sets the cuts of the children that want one. Tasks with cuts come first.
  void part(std::span<const RoundPart> parts) {
    std::vector<std::int32_t> parted;
    tasks_.clear(), masks_.clear();
    std::int64_t n_parts = 0, n_searched = 0;
    for (int pass = 0; pass < 2; ++pass)
      for (const RoundPart& p : parts) {
        if (p.is_searched != (pass == 0)) continue;
        tasks_.push_back(task_of(p)), parted.push_back(p.node), n_searched += pass == 0;
        tasks_.back().first_part = n_parts;
        n_parts += (tasks_.back().n + kBoostPartRows - 1) / kBoostPartRows;
      }
    const std::int64_t n_added = set_added_rows(static_cast<std::size_t>(n_searched));
    put(runtime_, device_tasks_, tasks_), put(runtime_, device_masks_, masks_);
    KEDGE_LAUNCH(runtime_, part_boost_rows, static_cast<unsigned>(n_parts), kBoostThreads, 0, device_tasks_.data(),
                 static_cast<std::int32_t>(tasks_.size()), rows_.codes(), rows_.n(), lists_[0].data(), lists_[1].data(),
                 histogram_size(n_cols_));
    if (n_searched == 0) return;
    const std::vector<DeviceBoostCut> cuts = search(n_searched, n_added, 2 * n_searched);
    for (std::int64_t t = 0; t < n_searched; ++t) set_cuts(parted[t], tasks_[t], &cuts[2 * t]);
  }

  BoostTask task_of(const RoundPart& p) {
    std::vector<RoundNode>& nodes = rounds_.nodes();
    RoundNode& node = nodes[p.node];
    RoundNode &left = nodes[node.left], &right = nodes[node.left + 1];
    BoostTask task{.begin = node.begin,
                   .n = node.size(),
                   .n_left = left.size(),
                   .column = node.cut.column,
                   .list = node.list,
                   .is_left_small = left.size() < right.size()};
    put_codes(node.cut, columns_[node.cut.column], task.goes_left);
    if (!p.is_searched) {
      give_back(node);
      return task;
    }
    RoundNode &small = task.is_left_small ? left : right, &large = task.is_left_small ? right : left;
    small.histogram = take_histogram(), large.histogram = std::exchange(node.histogram, -1);
    task.small = raw(pool_[small.histogram]), task.large = raw(pool_[large.histogram]);
    task.children[0] = child_of(small), task.children[1] = child_of(large);
    mask(task, small, &large);
    return task;
  }

  // Divides the rows that are added up among blocks: as many as keep the device busy, and at most kBoostBlock each.
  std::int64_t set_added_rows(std::size_t n_searched) {
    std::int64_t n_rows = 0, n_blocks = 0;
    const auto rows_of = [](const BoostTask& task) { return std::min(task.n_left, task.n - task.n_left); };
    for (std::size_t t = 0; t < n_searched; ++t) n_rows += rows_of(tasks_[t]);
    rows_of_block_ = added_by_block(n_rows);
    for (std::size_t t = 0; t < n_searched; ++t) {
      tasks_[t].first_add = n_blocks;
      n_blocks += (rows_of(tasks_[t]) + rows_of_block_ - 1) / rows_of_block_;
    }
    return n_blocks;
  }
  std::int64_t added_by_block(std::int64_t n_rows) const {
    const std::int64_t n_groups = (n_cols_ + kBoostWidth - 1) / kBoostWidth,
                       wanted = std::max<std::int64_t>(1, 4 * runtime_.multiprocessors() / n_groups);
    return std::clamp((n_rows + wanted - 1) / wanted, kLeastAdded, kBoostBlock);
  }

  BoostTask::Child child_of(const RoundNode& node) const {
    return {node.cuts.value, node.cuts.low, node.cuts.high, may_cut(rules_, node)};
  }

  void mask(BoostTask& task, const RoundNode& first, const RoundNode* second) {
    if (rules_.interactions.empty() && rules_.max_features >= 1) return;
    task.masks = static_cast<std::int32_t>(std::ssize(masks_) / n_cols_);
    add_mask(first);
    if (second) add_mask(*second);
  }

  void add_mask(const RoundNode& node) {
    const std::vector<std::uint8_t> allowed = rounds_.allowed(node);
    masks_.insert(masks_.end(), allowed.begin(), allowed.end());
  }

  // Adds up the smaller children of the first n tasks, by so many blocks, and returns the best cuts of n_children.
  std::vector<DeviceBoostCut> search(std::int64_t n, std::int64_t n_blocks, std::int64_t n_children) {
    const auto n_tasks = static_cast<std::int32_t>(n);
    KEDGE_LAUNCH(runtime_, add_boost_rows, grid_of_groups(static_cast<unsigned>(n_blocks)), kBoostThreads, 0,
                 device_tasks_.data(), n_tasks, rows_of_block_, records_.data(), rows_.n(), n_cols_, packed_.data(),
                 lists_[0].data(), lists_[1].data(), units_.data());
    const CutSearch search{.columns = raw(device_columns_),
                           .n_cols = n_cols_,
                           .units = raw(units_),
                           .masks = raw(device_masks_),
                           .l2 = rules_.l2,
                           .least_hessian = CutJudge().least_hessian,
                           .least_rows = rules_.min_samples_leaf};
    DeviceBoostCut* const of_columns = at_least(runtime_, cuts_, n_children * n_cols_);
    DeviceBoostCut* const best = at_least(runtime_, best_, n_children);
    KEDGE_LAUNCH(runtime_, search_boost_columns,
                 tall_grid(runtime_, blocks_for(n_cols_, kCutWarps), static_cast<unsigned>(n)), kCutWarps * 32, 0,
                 search, device_tasks_.data(), n_tasks, of_columns);
    KEDGE_LAUNCH(runtime_, choose_boost_cuts, static_cast<unsigned>(n_children), 32, 0, of_columns, order_.data(),
                 n_cols_, best);
    std::vector<DeviceBoostCut> found(static_cast<std::size_t>(n_children));
    runtime_.to_host(found.data(), best, found.size() * sizeof(DeviceBoostCut));
    return found;
  }

  void set_cuts(std::int32_t at, const BoostTask& task, const DeviceBoostCut* cuts) {
    std::vector<RoundNode>& nodes = rounds_.nodes();
    const std::int32_t left = nodes[at].left, small = task.is_left_small ? left : left + 1,
                       large = task.is_left_small ? left + 1 : left;
    for (int child = 0; child < 2; ++child) {
      RoundNode& node = nodes[child == 0 ? small : large];
      if (may_cut(rules_, node)) node.cut = host_cut(cuts[child]);
      if (node.cut.gain <= 0) give_back(node);
    }
  }

  std::int32_t take_histogram() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::int32_t>(pool_.size()));
      pool_.emplace_back(runtime_, histogram_size(n_cols_));
    }
    const std::int32_t taken = free_.back();
    free_.pop_back();
    return taken;
  }
  void give_back(RoundNode& node) {
    if (node.histogram >= 0) free_.push_back(std::exchange(node.histogram, -1));
  }

  // Values the leaves of the last tree, adds them to the raw predictions, and notes where the values belong.
  void value_leaves(const BoostRowsView& rows, std::int32_t k, BoostForest& forest) {
    const std::int64_t root = forest.tree_offset[forest.tree_offset.size() - 2];
    std::vector<DeviceBoostLeaf> leaves;
    for (const RoundLeaf& leaf : rounds_.leaves()) leaves.push_back({leaf.n_rows, leaf.low, leaf.high});
    std::vector<BoostLeafRows> records;
    std::int64_t n_blocks = 0;
    for (const RoundRows& of : rounds_.rows()) {
      const bool is_first = records.empty() || records.back().leaf != of.leaf;
      records.push_back({of.begin, of.n, n_blocks, of.leaf, of.list, is_first});
      n_blocks += (of.n + kBoostPartRows - 1) / kBoostPartRows;
    }
    put(runtime_, leaf_rows_, records), put(runtime_, leaves_, leaves);
    const auto n = std::ssize(leaves);
    BoostBin* const sums = at_least(runtime_, leaf_sums_, n);
    runtime_.zero(sums, static_cast<std::size_t>(n) * sizeof(BoostBin));
    double* const values = values_for(n);
    const BoostLeavesView view{.rows = raw(leaf_rows_),
                               .leaves = raw(leaves_),
                               .n_records = static_cast<std::int32_t>(records.size()),
                               .n_leaves = static_cast<std::int32_t>(n),
                               .list_0 = raw(lists_[0]),
                               .list_1 = raw(lists_[1]),
                               .sums = sums,
                               .values = values,
                               .l2 = rules_.l2,
                               .learning_rate = rules_.learning_rate};
    const double* const hessians = rows.hessians ? rows.hessians + k * rows.n : nullptr;
    KEDGE_LAUNCH(runtime_, sum_boost_leaves, static_cast<unsigned>(n_blocks), kBoostThreads, 0, view,
                 rows.gradients + k * rows.n, hessians, units_.data());
    KEDGE_LAUNCH(runtime_, add_boost_leaves, static_cast<unsigned>(n_blocks), kBoostThreads, 0, view,
                 hessians != nullptr, units_.data(), rows_.raw_of(k));
    if (validation_) add_to_validation(forest, root, k, values);
    for (const RoundLeaf& leaf : rounds_.leaves()) open_.push_back(root + leaf.node);
  }

  // Room for n values more behind those of open_.
  double* values_for(std::int64_t n) {
    const auto used = std::ssize(open_);
    if (values_.size() < used + n) {
      Array<double> more(runtime_, 2 * (used + n));
      if (used > 0) runtime_.copy(more.data(), values_.data(), static_cast<std::size_t>(used) * sizeof(double));
      values_ = std::move(more);
    }
    return raw(values_) + used;
  }

  void add_to_validation(const BoostForest& forest, std::int64_t root, std::int32_t k, const double* values) {
    std::vector<BoostWalkNode> nodes(static_cast<std::size_t>(forest.n_nodes() - root));
    for (std::size_t l = 0; l < rounds_.leaves().size(); ++l)
      nodes[static_cast<std::size_t>(rounds_.leaves()[l].node)].left = static_cast<std::int32_t>(l);
    for (const std::int32_t at : rounds_.cut_nodes()) {
      const RoundNode& node = rounds_.nodes()[at];
      const std::int64_t place = root + node.id;
      const BoostColumn& column = columns_[node.cut.column];
      BoostWalkNode& to = nodes[static_cast<std::size_t>(node.id)];
      put_codes(node.cut, column, to.goes_left);
      const auto missing = static_cast<std::uint32_t>(column.n_bins());
      to.goes_left[missing / 32] &= ~(1U << (missing % 32));
      to.goes_left[missing / 32] |= std::uint32_t{forest.missing_left[place]} << (missing % 32);
      to.column = node.cut.column, to.left = static_cast<std::int32_t>(forest.left[place] - root);
    }
    put(runtime_, walk_, nodes);
    KEDGE_LAUNCH(runtime_, walk_boost_tree, blocks_for(validation_->n(), kBoostThreads), kBoostThreads, 0, walk_.data(),
                 values, validation_->codes(), validation_->n(), validation_->raw_of(k));
  }

  CudaRuntime& runtime_;
  const std::vector<BoostColumn> columns_;
  const std::int64_t n_cols_;
  const BoostRules& rules_;
  const BoostTarget target_;   // its shape alone: what it views may be gone
  BoostRows rows_;
  std::optional<BoostRows> validation_;
  Array<BoostRecord> records_;
  Array<DeviceBoostColumn> device_columns_;
  Array<std::int32_t> order_;
  Array<double> gradients_, hessians_;
  Array<std::uint64_t> packed_;
  Array<std::uint32_t> lists_[2];
  Array<BoostWord> peaks_;
  Array<BoostUnits> units_;
  BoostRounds rounds_;
  std::vector<Array<BoostBin>> pool_;   // histograms
  std::vector<std::int32_t> free_;      // of them
  std::vector<BoostTask> tasks_;
  std::vector<std::uint8_t> masks_;
  Array<BoostTask> device_tasks_;
  Array<std::uint8_t> device_masks_;
  Array<DeviceBoostCut> cuts_, best_;
  Array<BoostLeafRows> leaf_rows_;
  Array<DeviceBoostLeaf> leaves_;
  Array<BoostBin> leaf_sums_;
  Array<BoostWalkNode> walk_;
  Array<double> values_;             // of the leaves that open_ names
  std::vector<std::int64_t> open_;   // nodes of the forest
  std::int64_t rows_of_block_ = kBoostBlock;
  std::uint64_t n_trees_ = 0;
};

}   // namespace

bool takes_boosting(const CudaRuntime&, BoostLoss loss, std::int64_t n_rows, std::int64_t n_cols,
                    const BoostRules& rules) {
  if (n_rows <= kFewBoostRows || loss == BoostLoss::kAbsolute || loss == BoostLoss::kQuantile) return false;
  const std::int64_t most = n_rows / rules.min_samples_leaf + 1,
                     leaves = rules.max_leaves > 0 ? std::min(rules.max_leaves, most) : most;
  return leaves * histogram_size(n_cols) <= kHistogramBytes / static_cast<std::int64_t>(sizeof(BoostBin));
}

std::unique_ptr<BoostRun> start_boosting(CudaRuntime& runtime, BoostFit fit) {
  return std::make_unique<CudaBoost>(runtime, std::move(fit));
}

}   // namespace kedge::engine
