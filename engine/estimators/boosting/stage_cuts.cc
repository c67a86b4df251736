// Searches cuts: along a list of rows in order, or along the sums of the rows of each code.
#include "engine/estimators/boosting/stage_cuts.h"

#include <algorithm>
#include <array>

namespace kedge::engine {
namespace {

using Cell = StageColumns::Cell;

constexpr double kNearly = 1 - 1e-12;   // of a score: its rounding is less

double middle_of(float low, float high) {
  return static_cast<double>(low) / 2 + static_cast<double>(high) / 2;
}

}   // namespace

void StageCuts::start(std::span<const double> weighted, std::span<const double> weights, bool are_equal,
                      std::int64_t n_rows, const StageRules& rules) {
  weighted_ = weighted, weights_ = weights, are_equal_ = are_equal, rules_ = rules;
  rules_.min_samples_leaf = std::max<std::int64_t>(rules.min_samples_leaf, 1);
  if (std::ssize(reciprocal_) > n_rows) return;
  reciprocal_.resize(static_cast<std::size_t>(n_rows) + 1);
  for (std::size_t i = 1; i < reciprocal_.size(); ++i) reciprocal_[i] = 1 / static_cast<double>(i);
}

// Whether the cut of n rows behind these first n_left is better than `best`, which then becomes its score.
inline bool StageCuts::improves(double left, double left_weight, std::int64_t n_left, std::int64_t n, const Node& node,
                                double& best) const {
  const double right = node.sum - left;
  if (are_equal_) {
    left_weight = static_cast<double>(n_left);
    const double about = left * left * reciprocal_[static_cast<std::size_t>(n_left)] +
                         right * right * reciprocal_[static_cast<std::size_t>(n - n_left)];
    if (about < best * kNearly) return false;   // divisions take longer
  }
  const double right_weight = node.weight - left_weight;
  if (left_weight < rules_.min_weight_leaf || right_weight < rules_.min_weight_leaf) return false;
  const double score = left * left / left_weight + right * right / right_weight;
  if (!(score > best)) return false;
  best = score;
  return true;
}

StageCut StageCuts::of_list(std::int32_t column, std::span<const Cell> of_node, const Node& node) const {
  const Cell* const cells = of_node.data();
  const std::int64_t n = std::ssize(of_node), least = rules_.min_samples_leaf;
  StageCut best{.feature = column};
  double left = 0, left_weight = 0, score = best.score;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n - least; ++i) {
    left += weighted_[cells[i].row];
    if (!are_equal_) left_weight += weights_[cells[i].row];
    if (i + 1 < least || cells[i + 1].value <= cells[i].value + kSameValue) continue;
    if (improves(left, left_weight, i + 1, n, node, score)) at = i + 1;
  }
  if (at == 0) return best;
  best.score = score, best.n_left = at, best.threshold = middle_of(cells[at - 1].value, cells[at].value);
  return best;
}

void StageCuts::of_codes(std::span<const std::int32_t> places, std::span<const std::uint32_t> rows, const Node& node,
                         std::span<StageCut> cuts) {
  std::array<std::int32_t, kMostTogether> with_sums;
  std::size_t n_sums = 0;
  const auto coded_of = [&](std::int32_t column) { return columns_.coded[static_cast<std::size_t>(column)]; };
  const auto has_sums = [&](std::int32_t column) { return std::ssize(rows) >= columns_.n_codes(coded_of(column)); };
  for (const std::int32_t k : places) {
    const std::int32_t column = cuts[static_cast<std::size_t>(k)].feature;
    if (has_sums(column)) with_sums[n_sums++] = coded_of(column);
  }
  sum_up(std::span(with_sums).first(n_sums), rows);
  for (const std::int32_t k : places) {
    StageCut& cut = cuts[static_cast<std::size_t>(k)];
    cut = has_sums(cut.feature) ? of_sums(cut.feature, std::ssize(rows), node) : of_few(cut.feature, rows, node);
  }
}

// Row by row, so that the sums of columns, which do not wait for each other, are in flight together.
void StageCuts::sum_up(std::span<const std::int32_t> coded, std::span<const std::uint32_t> rows) {
  std::array<Sum*, kMostTogether> sums;
  std::array<double*, kMostTogether> weights;
  const std::size_t n = coded.size();
  for (std::size_t k = 0; k < n; ++k) {
    const std::int64_t first = columns_.first[static_cast<std::size_t>(coded[k])], size = columns_.n_codes(coded[k]);
    sums[k] = sums_.data() + first, weights[k] = weights_of_codes_.data() + first;
    std::fill_n(sums[k], size, Sum{});
    if (!are_equal_) std::fill_n(weights[k], size, 0.0);
  }
  for (const std::uint32_t row : rows) {
    const std::uint8_t* const codes = columns_.codes_of(row);
    const Sum own = {weighted_[row], 1};
    for (std::size_t k = 0; k < n; ++k) sums[k][codes[coded[k]]] += own;
  }
  if (are_equal_) return;
  for (const std::uint32_t row : rows) {
    const std::uint8_t* const codes = columns_.codes_of(row);
    for (std::size_t k = 0; k < n; ++k) weights[k][codes[coded[k]]] += weights_[row];
  }
}

StageCut StageCuts::of_sums(std::int32_t column, std::int64_t n, const Node& node) const {
  const std::int32_t place = columns_.coded[static_cast<std::size_t>(column)];
  const std::int64_t first = columns_.first[static_cast<std::size_t>(place)], least = rules_.min_samples_leaf;
  const Sum* const sums = sums_.data() + first;
  const double* const weights = weights_of_codes_.data() + first;
  StageCut best{.feature = column};
  double left = 0, left_weight = 0;
  std::int64_t n_left = 0, before = 0;   // the last code that the node has
  for (std::int64_t code = 0; n - n_left >= least; ++code) {
    const auto own = static_cast<std::int64_t>(sums[code][1]);
    if (own == 0) continue;
    if (n_left >= least && improves(left, left_weight, n_left, n, node, best.score)) {
      best.n_left = n_left, best.code = static_cast<std::int32_t>(before);
      best.threshold = middle_of(columns_.value_of(place, before), columns_.value_of(place, code));
    }
    left += sums[code][0], n_left += own, before = code;
    if (!are_equal_) left_weight += weights[code];
  }
  return best;
}

// Of fewer rows than the column has codes: in order, as a list.
StageCut StageCuts::of_few(std::int32_t column, std::span<const std::uint32_t> rows, const Node& node) const {
  const std::int32_t place = columns_.coded[static_cast<std::size_t>(column)];
  std::array<Cell, StageColumns::kMostCodes> cells;
  const auto n = static_cast<std::ptrdiff_t>(rows.size());
  std::ranges::transform(rows, cells.begin(), [&](std::uint32_t row) {
    return Cell{columns_.value_of(place, columns_.codes_of(row)[place]), row};
  });
  std::sort(cells.begin(), cells.begin() + n,
            [](const Cell& a, const Cell& b) { return a.value != b.value ? a.value < b.value : a.row < b.row; });
  StageCut best = of_list(column, std::span(cells).first(rows.size()), node);
  if (best.n_left > 0) best.code = columns_.codes_of(cells[static_cast<std::size_t>(best.n_left - 1)].row)[place];
  return best;
}

}   // namespace kedge::engine
