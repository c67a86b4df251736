// Nodes of boosted trees: see boost_node.h.
#include "engine/backend/host/boost_node.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/require.h"
#include "engine/core/rng.h"

namespace kedge::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Monotonic cuts bound what lies below them by the middle of the two values.
void bound(const BoostRules& rules, const BoostNode& parent, BoostNode& left, BoostNode& right) {
  left.cuts.low = right.cuts.low = parent.cuts.low, left.cuts.high = right.cuts.high = parent.cuts.high;
  const int sign = rules.monotonic.empty() ? 0 : rules.monotonic[static_cast<std::size_t>(parent.cut.column)];
  if (sign == 0) return;
  const double middle = (left.cuts.value + right.cuts.value) / 2;
  (sign > 0 ? left.cuts.high : left.cuts.low) = middle;
  (sign > 0 ? right.cuts.low : right.cuts.high) = middle;
}

}   // namespace

void require_finite_gradients(bool are_finite, std::uint64_t number) {
  require(are_finite, schema::ErrorCode::kBadData,
          "boosting: the gradients of tree {} are not finite: lower learning_rate, or scale the target", number + 1);
}

BoostNode boost_root(const BoostRules& rules, std::int64_t n_rows, BoostSum sum) {
  BoostNode node;
  node.cuts = {.sum = sum, .value = 0, .low = -kInfinity, .high = kInfinity};
  node.value_low = -kInfinity, node.value_high = kInfinity;
  node.end = n_rows;
  for (std::size_t i = 0; i < rules.interactions.size(); ++i) node.sets.push_back(static_cast<std::int32_t>(i));
  return node;
}

bool may_cut(const BoostRules& rules, const BoostNode& node) {
  const bool is_deep = rules.max_depth > 0 && node.depth == rules.max_depth;
  return !is_deep && node.size() >= 2 * rules.min_samples_leaf;
}

std::pair<BoostNode, BoostNode> boost_children(const CutJudge& judge, const BoostRules& rules, const BoostNode& parent,
                                               std::int64_t n_left) {
  const BoostCut& cut = parent.cut;
  std::pair<BoostNode, BoostNode> children;
  auto& [left, right] = children;
  left.begin = parent.begin, left.end = right.begin = parent.begin + n_left, right.end = parent.end;
  left.cuts.sum = cut.left_sum, right.cuts.sum = parent.cuts.sum - cut.left_sum;
  for (BoostNode* child : {&left, &right}) {
    child->depth = parent.depth + 1, child->value_low = parent.cuts.low, child->value_high = parent.cuts.high;
    child->cuts.value = boost_value(judge.gradient(child->cuts.sum), judge.hessian(child->cuts.sum), judge.l2,
                                    parent.cuts.low, parent.cuts.high);
    for (const std::int32_t set : parent.sets) {
      const std::vector<std::int32_t>& columns = rules.interactions[static_cast<std::size_t>(set)];
      if (std::ranges::find(columns, cut.column) != columns.end()) child->sets.push_back(set);
    }
  }
  bound(rules, parent, left, right);
  return children;
}

std::vector<std::uint8_t> allowed_columns(const BoostRules& rules, std::int64_t n_cols, std::uint64_t number,
                                          const BoostNode& node) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(n_cols), rules.interactions.empty() ? 1 : 0);
  for (const std::int32_t set : node.sets)
    for (const std::int32_t column : rules.interactions[static_cast<std::size_t>(set)])
      mask[static_cast<std::size_t>(column)] = 1;
  if (rules.max_features >= 1) return mask;
  std::vector<std::int32_t> columns;
  for (std::size_t j = 0; j < mask.size(); ++j)
    if (mask[j]) columns.push_back(static_cast<std::int32_t>(j));
  const auto n = static_cast<std::int64_t>(columns.size());
  const auto kept =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(rules.max_features * static_cast<double>(n))));
  PhiloxStream random(rules.seed, number << 24 | static_cast<std::uint64_t>(node.id));
  for (std::int64_t i = 0; i < n; ++i) {
    std::swap(columns[static_cast<std::size_t>(i)],
              columns[static_cast<std::size_t>(i + random.below(static_cast<std::uint32_t>(n - i)))]);
    if (i >= kept) mask[static_cast<std::size_t>(columns[static_cast<std::size_t>(i)])] = 0;
  }
  return mask;
}

std::array<std::uint8_t, 256> left_codes(const BoostCut& cut, const BoostColumn& column) {
  std::array<std::uint8_t, 256> goes_left{};
  for (int code = 0; code <= column.n_bins() && code < 256; ++code)
    goes_left[static_cast<std::size_t>(code)] = cut.is_category           ? cut.left.has(code)
                                                : code == column.n_bins() ? cut.missing_left
                                                                          : code <= cut.bin;
  return goes_left;
}

void append_node(BoostForest& forest, std::int64_t root, BoostNode& node) {
  BoostForest& f = forest;
  node.id = static_cast<std::int32_t>(f.n_nodes() - root);
  f.feature.push_back(-1), f.threshold.push_back(0), f.left.push_back(0), f.missing_left.push_back(0),
      f.set.push_back(-1);
  f.value.push_back(0), f.gain.push_back(0), f.n_rows.push_back(static_cast<std::int32_t>(node.size()));
}

void put_cut(BoostForest& forest, std::int64_t root, std::span<const BoostColumn> columns, const BoostNode& node,
             std::int32_t left, std::int64_t n_left) {
  BoostForest& f = forest;
  const auto at = static_cast<std::size_t>(root + node.id);
  const BoostColumn& column = columns[static_cast<std::size_t>(node.cut.column)];
  f.feature[at] = node.cut.column, f.left[at] = static_cast<std::int32_t>(root) + left;
  f.missing_left[at] = column.has_missing ? node.cut.missing_left : n_left > node.size() - n_left;
  f.gain[at] = node.cut.gain;
  if (!node.cut.is_category) {
    const bool is_last = node.cut.bin == column.n_bins() - 1;   // missing values alone go right
    f.threshold[at] = is_last ? kInfinity : column.edges[static_cast<std::size_t>(node.cut.bin)];
    return;
  }
  f.set[at] = static_cast<std::int32_t>(f.sets.size() / 32);
  for (int byte = 0; byte < 32; ++byte)
    f.sets.push_back(
        static_cast<std::uint8_t>(node.cut.left.words[static_cast<std::size_t>(byte / 8)] >> (byte % 8 * 8)));
}

}   // namespace kedge::engine
