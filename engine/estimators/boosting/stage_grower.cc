// Grows the trees of gradient boosting on lists of rows that every column keeps in order.
#include "engine/estimators/boosting/stage_grower.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/backend/host/parallel_tasks.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr float kSameValue = 1e-7F;                // values that differ by no more are not cut apart
constexpr std::int64_t kParallelCells = 1 << 16;   // of a node, from which its columns are worth several threads
constexpr double kNearly = 1 - 1e-12;              // of a score: its rounding is less
constexpr double kEps = std::numeric_limits<double>::epsilon();

}   // namespace

StageColumns::StageColumns(std::vector<float> of_rows, std::int64_t rows, std::int64_t cols, int n_threads)
    : n_rows(rows), n_cols(cols), sorted(static_cast<std::size_t>(rows * cols)), values(std::move(of_rows)) {
  parallel_tasks(n_threads, n_cols, [&](std::int64_t col, int) {
    Cell* const cells = sorted.data() + col * n_rows;
    for (std::int64_t i = 0; i < n_rows; ++i)
      cells[i] = {values[static_cast<std::size_t>(i * n_cols + col)], static_cast<std::uint32_t>(i)};
    std::sort(cells, cells + n_rows,
              [](const Cell& a, const Cell& b) { return a.value != b.value ? a.value < b.value : a.row < b.row; });
  });
}

std::vector<std::int32_t> leaves_of(const Forest& tree, std::span<const float> values) {
  std::vector<std::int32_t> leaves(values.size() / static_cast<std::size_t>(tree.n_cols));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const float* const row = values.data() + i * static_cast<std::size_t>(tree.n_cols);
    std::size_t node = 0;
    while (tree.feature[node] >= 0)
      node = static_cast<std::size_t>(
          static_cast<double>(row[tree.feature[node]]) <= tree.threshold[node] ? tree.left[node] : tree.right[node]);
    leaves[i] = static_cast<std::int32_t>(node);
  }
  return leaves;
}

std::uint32_t StageGrower::next_word() {
  if (word_ == 0) word_ = 1;
  word_ ^= word_ << 13, word_ ^= word_ >> 17, word_ ^= word_ << 5;
  return word_ % 0x80000000U;
}

void StageGrower::start(std::span<const double> y, std::span<const double> weights) {
  y_ = y, weights_ = weights;
  order_.clear();
  for (std::size_t i = 0; i < y.size(); ++i)
    if (weights[i] != 0) order_.push_back(static_cast<std::uint32_t>(i));
  n_listed_ = static_cast<std::int64_t>(order_.size());
  are_equal_ = std::ranges::all_of(order_, [&](std::uint32_t i) { return weights[i] == 1; });
  weighted_.resize(y.size()), goes_left_.resize(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) weighted_[i] = weights[i] * y[i];
  lists_.resize(static_cast<std::size_t>(n_listed_ * columns_.n_cols));
  moved_.resize(static_cast<std::size_t>(n_listed_ * n_threads_));
  if (reciprocal_.size() < order_.size() + 1) {
    reciprocal_.resize(order_.size() + 1);
    for (std::size_t i = 1; i < reciprocal_.size(); ++i) reciprocal_[i] = 1 / static_cast<double>(i);
  }
  const bool has_all = n_listed_ == columns_.n_rows;
  parallel_tasks(columns_.n_cols * n_listed_ >= kParallelCells ? n_threads_ : 1, columns_.n_cols,
                 [&](std::int64_t col, int) {
                   const StageColumns::Cell* const from = columns_.sorted.data() + col * columns_.n_rows;
                   StageColumns::Cell* const to = list(col);
                   if (has_all) std::copy_n(from, n_listed_, to);
                   else
                     std::copy_if(from, from + columns_.n_rows, to,
                                  [&](const StageColumns::Cell& cell) { return weights[cell.row] != 0; });
                 });
  features_.resize(static_cast<std::size_t>(columns_.n_cols)), constant_.assign(features_.size(), 0);
  std::iota(features_.begin(), features_.end(), 0);
  nodes_.clear();
}

Forest StageGrower::grow(std::span<const double> y, std::span<const double> weights, const StageRules& rules,
                         std::uint32_t seed) {
  rules_ = rules, word_ = seed;
  start(y, weights);
  const Range all{0, n_listed_};
  total_weight_ = 0;
  for (const std::uint32_t i : order_) total_weight_ += weights[i];
  add_node(all, 0, 0, std::numeric_limits<double>::quiet_NaN());
  rules.max_leaf_nodes > 0 ? grow_best_first() : grow_depth_first();
  return finish();
}

// Its impurity is known from its parent's split; NaN: it is the root.
std::int32_t StageGrower::add_node(Range range, std::int64_t depth, std::int64_t n_constant, double impurity) {
  double sum = 0, squares = 0, weight = 0;
  for (std::int64_t p = range.begin; p < range.end; ++p) {
    const std::uint32_t i = order_[static_cast<std::size_t>(p)];
    sum += weighted_[i], squares += weighted_[i] * y_[i], weight += weights_[i];
  }
  Node node{.depth = depth,
            .sum = sum,
            .squares = squares,
            .impurity = impurity,
            .weight = weight,
            .range = range,
            .n_constant = n_constant};
  if (impurity != impurity) node.impurity = squares / weight - (sum / weight) * (sum / weight);
  nodes_.push_back(node);
  return static_cast<std::int32_t>(nodes_.size()) - 1;
}

// Draws columns without replacement until there are max_features of them and one that varies. Those that are known not
// to vary in the node are drawn as well, but not looked at. Source: sklearn/tree/_splitter.pyx, node_split_best.
std::vector<std::int32_t> StageGrower::draw_columns(Range range, std::int64_t& n_constant) {
  std::vector<std::int32_t> drawn;
  const std::int64_t known = n_constant;
  std::int64_t visited = 0, found = 0, drawn_known = 0, left = columns_.n_cols;
  const auto at = [](std::vector<std::int32_t>& v, std::int64_t i) -> std::int32_t& {
    return v[static_cast<std::size_t>(i)];
  };
  while (left > known + found && (visited < rules_.max_features || visited <= found + drawn_known)) {
    ++visited;
    std::int64_t place = drawn_known + next_word() % static_cast<std::uint32_t>(left - found - drawn_known);
    if (place < known) {
      std::swap(at(features_, drawn_known++), at(features_, place));
      continue;
    }
    place += found;
    const std::int32_t column = at(features_, place);
    const StageColumns::Cell* const cells = list(column);
    if (cells[range.end - 1].value <= cells[range.begin].value + kSameValue) {
      std::swap(at(features_, place), at(features_, known + found));
      ++found;
      continue;
    }
    std::swap(at(features_, --left), at(features_, place));
    drawn.push_back(column);
  }
  std::copy_n(constant_.begin(), known, features_.begin());
  std::copy_n(features_.begin() + known, found, constant_.begin() + known);
  n_constant = known + found;
  return drawn;
}

// The first of the best cuts of a column.
StageGrower::Cut StageGrower::best_cut(std::int32_t column, Range range, double sum, double weight) const {
  const StageColumns::Cell* const cells = list(column) + range.begin;
  const std::int64_t n = range.size(), least = std::max<std::int64_t>(rules_.min_samples_leaf, 1);
  Cut best{.score = -std::numeric_limits<double>::infinity(), .feature = column};
  double left = 0, left_weight = 0;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n - least; ++i) {
    left += weighted_[cells[i].row];
    if (!are_equal_) left_weight += weights_[cells[i].row];
    if (i + 1 < least || cells[i + 1].value <= cells[i].value + kSameValue) continue;
    const double right = sum - left;
    const std::int64_t n_left = i + 1;
    if (are_equal_) {
      left_weight = static_cast<double>(n_left);
      const double about = left * left * reciprocal_[static_cast<std::size_t>(n_left)] +
                           right * right * reciprocal_[static_cast<std::size_t>(n - n_left)];
      if (about < best.score * kNearly) continue;   // divisions take longer
    }
    const double right_weight = weight - left_weight;
    if (left_weight < rules_.min_weight_leaf || right_weight < rules_.min_weight_leaf) continue;
    const double score = left * left / left_weight + right * right / right_weight;
    if (score > best.score) best.score = score, at = n_left;
  }
  if (at == 0) return best;
  best.n_left = at;
  best.threshold = static_cast<double>(cells[at - 1].value) / 2 + static_cast<double>(cells[at].value) / 2;
  return best;
}

StageGrower::Split StageGrower::split(std::int32_t index) {
  check_job_stop();
  const Node node = nodes_[static_cast<std::size_t>(index)];
  const std::int64_t n = node.range.size();
  Split found;
  found.n_constant = node.n_constant;
  if (node.depth >= rules_.max_depth || n < rules_.min_samples_split || n < 2 * rules_.min_samples_leaf ||
      node.weight < 2 * rules_.min_weight_leaf || node.impurity <= kEps)
    return found;
  const std::vector<std::int32_t> columns = draw_columns(node.range, found.n_constant);
  std::vector<Cut> cuts(columns.size());
  const double sum = node.sum;
  const bool is_large = static_cast<std::int64_t>(columns.size()) * n >= kParallelCells;
  parallel_tasks(is_large ? n_threads_ : 1, static_cast<std::int64_t>(columns.size()), [&](std::int64_t k, int) {
    const auto place = static_cast<std::size_t>(k);
    cuts[place] = best_cut(columns[place], node.range, sum, node.weight);
  });
  const auto best = std::ranges::max_element(cuts, {}, &Cut::score);   // the first of equal ones
  if (best == cuts.end() || best->n_left == 0) return found;
  found.cut = *best, found.last_column = columns.back();
  order_rows(node.range, found);
  judge(node, found);
  return found;
}

// What the cut makes of the node's squared error: sums over the side with fewer rows, from its end of the node, as
// scikit-learn takes them, for the roundings decide whether a side counts as pure.
void StageGrower::judge(const Node& node, Split& found) const {
  const std::uint32_t* const rows = order_.data() + node.range.begin;
  const std::int64_t n = node.range.size(), n_left = found.cut.n_left;
  double left = 0, left_weight = 0, left_squares = 0;
  for (std::int64_t i = 0; i < n_left; ++i) left_squares += weighted_[rows[i]] * y_[rows[i]];
  if (n_left <= n - n_left) {
    for (std::int64_t i = 0; i < n_left; ++i) left += weighted_[rows[i]], left_weight += weights_[rows[i]];
  } else {
    left = node.sum, left_weight = node.weight;
    for (std::int64_t i = n - 1; i >= n_left; --i) left -= weighted_[rows[i]], left_weight -= weights_[rows[i]];
  }
  const double right = node.sum - left, right_weight = node.weight - left_weight;
  found.left_impurity = left_squares / left_weight - (left / left_weight) * (left / left_weight);
  found.right_impurity = (node.squares - left_squares) / right_weight - (right / right_weight) * (right / right_weight);
  found.improvement = node.weight / total_weight_ *
                      (node.impurity - right_weight / node.weight * found.right_impurity -
                       left_weight / node.weight * found.left_impurity);
  found.is_leaf = found.improvement + kEps < rules_.min_impurity_decrease;
}

void StageGrower::mark(Range range, const Cut& cut) {
  const StageColumns::Cell* const cells = list(cut.feature) + range.begin;
  for (std::int64_t i = 0; i < range.size(); ++i) goes_left_[cells[i].row] = i < cut.n_left;
}

// The rows of the node in the order in which scikit-learn has them once it is cut: by the column that was looked at
// last, then the right ones changed for left ones from the end. Sums over a node's rows follow it.
void StageGrower::order_rows(Range range, const Split& split) {
  mark(range, split.cut);
  const StageColumns::Cell* const last = list(split.last_column) + range.begin;
  std::uint32_t* const rows = order_.data() + range.begin;
  for (std::int64_t i = 0; i < range.size(); ++i) rows[i] = last[i].row;
  for (std::int64_t left = 0, end = range.size(); left < end;) {
    if (goes_left_[rows[left]]) ++left;
    else std::swap(rows[left], rows[--end]);
  }
}

// Every column's list: the left rows first, both sides in their former order.
void StageGrower::part_lists(Range range, const Cut& cut) {
  mark(range, cut);
  const bool is_large = columns_.n_cols * range.size() >= kParallelCells;
  parallel_tasks(is_large ? n_threads_ : 1, columns_.n_cols, [&](std::int64_t col, int worker) {
    if (col == cut.feature) return;   // in order already
    StageColumns::Cell *const cells = list(col) + range.begin, *const moved = moved_.data() + worker * n_listed_;
    std::int64_t left = 0, right = 0;
    for (std::int64_t i = 0; i < range.size(); ++i) {
      const StageColumns::Cell cell = cells[i];
      const bool is_left = goes_left_[cell.row] != 0;
      cells[left] = cell, moved[right] = cell;
      left += is_left, right += !is_left;
    }
    std::copy_n(moved, right, cells + left);
  });
}

void StageGrower::make_children(std::int32_t index, const Split& split) {
  const Node node = nodes_[static_cast<std::size_t>(index)];
  if (node.depth + 1 < rules_.max_depth) part_lists(node.range, split.cut);
  Node& parent = nodes_[static_cast<std::size_t>(index)];
  parent.feature = split.cut.feature, parent.threshold = split.cut.threshold;
}

// Left before right: nodes are numbered, and columns drawn, in that order.
void StageGrower::grow_depth_first() {
  struct Open {
    std::int32_t parent;
    bool is_left;
    Range range;
    std::int64_t n_constant;
    double impurity;
  };
  std::vector<Open> stack;
  const auto open = [&](std::int32_t index) {
    const Split found = split(index);
    if (found.is_leaf) return;
    const Range range = nodes_[static_cast<std::size_t>(index)].range;
    const std::int64_t middle = range.begin + found.cut.n_left;
    make_children(index, found);
    stack.push_back({index, false, {middle, range.end}, found.n_constant, found.right_impurity});
    stack.push_back({index, true, {range.begin, middle}, found.n_constant, found.left_impurity});
  };
  open(0);
  while (!stack.empty()) {
    const Open at = stack.back();
    stack.pop_back();
    const std::int64_t depth = nodes_[static_cast<std::size_t>(at.parent)].depth + 1;
    const std::int32_t own = add_node(at.range, depth, at.n_constant, at.impurity);
    Node& parent = nodes_[static_cast<std::size_t>(at.parent)];
    (at.is_left ? parent.left : parent.right) = own;
    open(own);
  }
}

void StageGrower::grow_best_first() {
  struct Open {
    std::int32_t node;
    Split split;
  };
  std::vector<Open> frontier;
  const auto is_worse = [](const Open& a, const Open& b) { return a.split.improvement < b.split.improvement; };
  const auto push = [&](Open open) {
    if (open.split.is_leaf) open.split.improvement = 0;
    frontier.push_back(open);
    std::ranges::push_heap(frontier, is_worse);
  };
  push({0, split(0)});
  for (std::int64_t left = rules_.max_leaf_nodes - 1; !frontier.empty() && left > 0;) {
    std::ranges::pop_heap(frontier, is_worse);
    const Open at = frontier.back();
    frontier.pop_back();
    if (at.split.is_leaf) continue;
    --left;
    const Node node = nodes_[static_cast<std::size_t>(at.node)];
    const std::int64_t middle = node.range.begin + at.split.cut.n_left;
    make_children(at.node, at.split);
    const std::int32_t a = add_node({node.range.begin, middle}, node.depth + 1, 0, at.split.left_impurity);
    const Open first{a, split(a)};
    const std::int32_t b = add_node({middle, node.range.end}, node.depth + 1, 0, at.split.right_impurity);
    const Open second{b, split(b)};
    nodes_[static_cast<std::size_t>(at.node)].left = a, nodes_[static_cast<std::size_t>(at.node)].right = b;
    push(first), push(second);
  }
}

// Each node before its left side, and that before the right one, as forests are stored.
Forest StageGrower::finish() const {
  std::vector<std::int32_t> places(nodes_.size()), in_order, stack{0};
  while (!stack.empty()) {
    const std::int32_t node = stack.back();
    stack.pop_back();
    places[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(in_order.size());
    in_order.push_back(node);
    const Node& at = nodes_[static_cast<std::size_t>(node)];
    if (at.left >= 0) stack.push_back(at.right), stack.push_back(at.left);
  }
  Forest tree{.n_cols = columns_.n_cols, .tree_offset = {0, static_cast<std::int64_t>(nodes_.size())}};
  const auto place_of = [&](std::int32_t child) { return child < 0 ? -1 : places[static_cast<std::size_t>(child)]; };
  for (const std::int32_t index : in_order) {
    const Node& node = nodes_[static_cast<std::size_t>(index)];
    const bool is_leaf = node.left < 0;
    tree.feature.push_back(is_leaf ? -1 : node.feature);
    tree.bin.push_back(0);
    tree.threshold.push_back(is_leaf ? 0 : node.threshold);
    tree.left.push_back(place_of(node.left)), tree.right.push_back(place_of(node.right));
    tree.mean.push_back(node.sum / node.weight), tree.impurity.push_back(node.impurity),
        tree.weight.push_back(node.weight);
    tree.n_rows.push_back(static_cast<std::int32_t>(node.range.size()));
  }
  return tree;
}

}   // namespace kedge::engine
