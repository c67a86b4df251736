// Grows the trees of gradient boosting on lists of rows that every column keeps in order.
#include "engine/estimators/boosting/stage_grower.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kParallelCells = 1 << 16;   // of a node, from which its columns are worth several threads
constexpr std::size_t kRowsBetweenLooks = 64;
constexpr double kEps = std::numeric_limits<double>::epsilon();

}   // namespace

void put_leaves(const Forest& tree, std::span<const float> values, std::span<std::int32_t> leaves) {
  const std::size_t n = values.size() / static_cast<std::size_t>(tree.n_cols);
  for (std::size_t i = 0; i < n; ++i) {
    const float* const row = values.data() + i * static_cast<std::size_t>(tree.n_cols);
    std::size_t node = 0;
    while (tree.feature[node] >= 0)
      node = static_cast<std::size_t>(
          static_cast<double>(row[tree.feature[node]]) <= tree.threshold[node] ? tree.left[node] : tree.right[node]);
    leaves[i] = static_cast<std::int32_t>(node);
  }
}

std::uint32_t StageGrower::next_word() {
  if (word_ == 0) word_ = 1;
  word_ ^= word_ << 13, word_ ^= word_ >> 17, word_ ^= word_ << 5;
  return word_ % 0x80000000U;
}

StepTeam* StageGrower::team_for(std::int64_t cells) const {
  return cells >= kParallelCells ? team_ : nullptr;
}

void StageGrower::start(std::span<const double> y, std::span<const double> weights) {
  y_ = y, weights_ = weights;
  order_.clear();
  for (std::size_t i = 0; i < y.size(); ++i)
    if (weights[i] != 0) order_.push_back(static_cast<std::uint32_t>(i));
  n_rows_ = std::ssize(order_);
  if (columns_.n_coded > 0) rows_ = order_, moved_rows_.resize(rows_.size());
  weighted_.resize(y.size()), goes_left_.resize(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) weighted_[i] = weights[i] * y[i];
  const bool are_equal = std::ranges::all_of(order_, [&](std::uint32_t i) { return weights[i] == 1; });
  cuts_.start(weighted_, weights_, are_equal, n_rows_, rules_);
  lists_.resize(static_cast<std::size_t>(n_rows_ * columns_.n_listed));
  if (!lists_.empty()) moved_.resize(static_cast<std::size_t>(n_rows_ * (team_ ? team_->size() : 1)));
  const bool has_all = n_rows_ == columns_.n_rows;
  in_pieces(team_for(columns_.n_listed * n_rows_), columns_.n_listed, [&](std::int64_t list, int) {
    const StageColumns::Cell* const from = columns_.sorted.data() + list * columns_.n_rows;
    StageColumns::Cell* const to = lists_.data() + list * n_rows_;
    if (has_all) std::copy_n(from, n_rows_, to);
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
  const Range all{0, n_rows_};
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

// Of the columns that are not known to be constant.
void StageGrower::find_varying(Range range, std::int64_t n_constant) {
  if (columns_.n_coded == 0) return;
  const auto words = static_cast<std::size_t>(columns_.words);
  varies_.assign(words, 0);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(varies_.data());
  const std::size_t n_bytes = 8 * words;
  std::fill(bytes + columns_.n_coded, bytes + n_bytes, std::uint8_t{1});   // no columns
  for (std::int64_t i = 0; i < n_constant; ++i)
    if (const std::int32_t place = coded(constant_[static_cast<std::size_t>(i)]); place >= 0) bytes[place] = 1;
  const std::span<const std::uint32_t> rows = rows_of(range);
  const std::uint64_t* const first = columns_.codes.data() + rows[0] * words;
  for (std::size_t from = 0; from < rows.size() && std::memchr(bytes, 0, n_bytes); from += kRowsBetweenLooks)
    for (const std::uint32_t row : rows.subspan(from, std::min(kRowsBetweenLooks, rows.size() - from)))
      for (std::size_t w = 0; w < words; ++w) varies_[w] |= columns_.codes[row * words + w] ^ first[w];
}

bool StageGrower::varies(std::int32_t column, Range range) const {
  if (const std::int32_t place = coded(column); place >= 0)
    return reinterpret_cast<const std::uint8_t*>(varies_.data())[place] != 0;
  const StageColumns::Cell* const cells = cells_of(column, range);
  return cells[range.size() - 1].value > cells[0].value + kSameValue;
}

// Draws columns without replacement until there are max_features of them and one that varies. Those that are known not
// to vary in the node are drawn as well, but not looked at. Source: sklearn/tree/_splitter.pyx, node_split_best.
void StageGrower::draw_columns(Range range, std::int64_t& n_constant) {
  found_.clear();
  find_varying(range, n_constant);
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
    if (!varies(column, range)) {
      std::swap(at(features_, place), at(features_, known + found));
      ++found;
      continue;
    }
    std::swap(at(features_, --left), at(features_, place));
    found_.push_back({.feature = column});
  }
  std::copy_n(constant_.begin(), known, features_.begin());
  std::copy_n(features_.begin() + known, found, constant_.begin() + known);
  n_constant = known + found;
}

// The best cut of each column that was drawn.
void StageGrower::find_cuts(Range range, const StageCuts::Node& node) {
  const auto feature_of = [&](std::int32_t k) { return found_[static_cast<std::size_t>(k)].feature; };
  by_kind_.resize(found_.size());
  std::iota(by_kind_.begin(), by_kind_.end(), 0);
  const auto coded_ones = std::ranges::partition(by_kind_, [&](std::int32_t k) { return coded(feature_of(k)) < 0; });
  constexpr std::int64_t kTogether = StageCuts::kMostTogether;
  const std::int64_t n_coded = std::ssize(coded_ones), n_lists = std::ssize(found_) - n_coded;
  const std::int64_t n_calls = (n_coded + kTogether - 1) / kTogether;
  in_pieces(team_for(std::ssize(found_) * range.size()), n_lists + n_calls, [&](std::int64_t piece, int) {
    if (piece < n_lists) {
      StageCut& cut = found_[static_cast<std::size_t>(by_kind_[static_cast<std::size_t>(piece)])];
      cut = cuts_.of_list(cut.feature, {cells_of(cut.feature, range), static_cast<std::size_t>(range.size())}, node);
      return;
    }
    const std::int64_t first = (piece - n_lists) * kTogether;
    const std::span<const std::int32_t> places = std::span(by_kind_).subspan(
        static_cast<std::size_t>(n_lists + first), static_cast<std::size_t>(std::min(kTogether, n_coded - first)));
    cuts_.of_codes(places, rows_of(range), node, found_);
  });
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
  draw_columns(node.range, found.n_constant);
  find_cuts(node.range, {.sum = node.sum, .weight = node.weight});
  const auto best = std::ranges::max_element(found_, {}, &StageCut::score);   // the first of equal ones
  if (best == found_.end() || best->n_left == 0) return found;
  found.cut = *best, found.last_column = found_.back().feature;
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

void StageGrower::mark(Range range, const StageCut& cut) {
  if (const std::int32_t place = coded(cut.feature); place >= 0) {
    for (const std::uint32_t row : rows_of(range)) goes_left_[row] = columns_.codes_of(row)[place] <= cut.code;
    return;
  }
  const StageColumns::Cell* const cells = cells_of(cut.feature, range);
  for (std::int64_t i = 0; i < range.size(); ++i) goes_left_[cells[i].row] = i < cut.n_left;
}

// The order of the node's rows becomes that of a column, where they are ascending if their values are equal.
void StageGrower::sort_rows(Range range, std::int32_t column) {
  std::uint32_t* const to = order_.data() + range.begin;
  const std::int32_t place = coded(column);
  if (place < 0) {
    const StageColumns::Cell* const cells = cells_of(column, range);
    for (std::int64_t i = 0; i < range.size(); ++i) to[i] = cells[i].row;
    return;
  }
  std::array<std::int64_t, StageColumns::kMostCodes + 1> begins{};   // of the rows with a code
  for (const std::uint32_t row : rows_of(range)) ++begins[std::size_t{columns_.codes_of(row)[place]} + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  for (const std::uint32_t row : rows_of(range)) to[begins[columns_.codes_of(row)[place]]++] = row;
}

// The rows of the node in the order in which scikit-learn has them once it is cut: by the column that was looked at
// last, then the right ones changed for left ones from the end. Sums over a node's rows follow it.
void StageGrower::order_rows(Range range, const Split& split) {
  mark(range, split.cut);
  sort_rows(range, split.last_column);
  std::uint32_t* const rows = order_.data() + range.begin;
  for (std::int64_t left = 0, end = range.size(); left < end;) {
    if (goes_left_[rows[left]]) ++left;
    else std::swap(rows[left], rows[--end]);
  }
}

// Every list: the left rows first, both sides in their former order.
void StageGrower::part_lists(Range range, const StageCut& cut) {
  mark(range, cut);
  if (columns_.n_coded > 0) part_rows(range);
  const std::int64_t own = columns_.listed[static_cast<std::size_t>(cut.feature)];
  in_pieces(team_for(columns_.n_listed * range.size()), columns_.n_listed, [&](std::int64_t list, int worker) {
    if (list == own) return;   // in order already
    StageColumns::Cell *const cells = lists_.data() + list * n_rows_ + range.begin, *const moved = moved_.data() +
                                                                                                   worker * n_rows_;
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

void StageGrower::part_rows(Range range) {
  std::uint32_t* const rows = rows_.data() + range.begin;
  std::int64_t left = 0, right = 0;
  for (std::int64_t i = 0; i < range.size(); ++i) {
    const std::uint32_t row = rows[i];
    const bool is_left = goes_left_[row] != 0;
    rows[left] = row, moved_rows_[static_cast<std::size_t>(right)] = row;
    left += is_left, right += !is_left;
  }
  std::copy_n(moved_rows_.data(), right, rows + left);
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
