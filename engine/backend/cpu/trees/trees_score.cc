// Portable scoring of the cuts of a column.
#include "engine/backend/cpu/trees/trees_score.h"

#include <algorithm>
#include <array>

#include "engine/backend/host/sklearn_score.h"

namespace kedge::engine {
namespace {
constexpr int kBins = 256;
}  // namespace

ColumnScorer::ColumnScorer(std::int32_t n_classes, const ForestOptions& options, const TreeRules& rules)
    : n_classes_(n_classes),
      min_rows_(std::max<std::int64_t>(1, options.min_samples_leaf)),
      rules_(rules),
      exact_(!rules.entropy && rules.class_weight.empty()),
      as_sklearn_(options.draws == TreeDraws::kSklearn),
      histogram_(std::size_t{kBins} * n_classes),
      bin_rows_(kBins),
      left_(n_classes) {}

bool ColumnScorer::score(const NodeColumn& column, const NodeTotals& totals, BestCut& best) {
  if (column.n_uncommon == 0) return false;
  const bool from_record = !column.codes.bytes;
  const auto row_at = [&](std::uint32_t i) -> const TreeRow& { return column.rows[column.uncommon ? column.uncommon[i] : i]; };
  const auto code_of = [&](const TreeRow& row) { return from_record ? column.codes.from_record(row) : column.codes.from_bytes(row); };
  for (std::uint32_t i = 0; i < column.n_uncommon; ++i) {
    const TreeRow& row = row_at(i);
    const int code = code_of(row);
    histogram_[std::int64_t{code} * n_classes_ + row.cls] += row.weight;
    ++bin_rows_[code];
  }
  if (column.n_uncommon < column.n_rows) add_common(column.codes.common, column.n_rows - column.n_uncommon, totals);
  return score_counts(totals, best);
}

// Gives the common bin what the others leave of the node.
void ColumnScorer::add_common(std::int32_t common, std::uint32_t n_rows, const NodeTotals& totals) {
  std::copy_n(totals.counts, n_classes_, left_.data());
  for (int b = 0; b < kBins; ++b) {
    if (bin_rows_[b] == 0) continue;
    for (std::int32_t c = 0; c < n_classes_; ++c) left_[c] -= histogram_[std::int64_t{b} * n_classes_ + c];
  }
  std::copy_n(left_.data(), n_classes_, histogram_.data() + std::int64_t{common} * n_classes_);
  bin_rows_[common] = static_cast<std::int32_t>(n_rows);
}

// Scores the cuts between the counted bins and clears them.
bool ColumnScorer::score_counts(const NodeTotals& totals, BestCut& best) {
  std::array<std::int32_t, kBins> bins;
  int n = 0;
  for (int b = 0; b < kBins; ++b)
    if (bin_rows_[b] != 0) bins[n++] = b;
  if (n > 1) score_bins(totals, bins.data(), n, best);
  for (int i = 0; i < n; ++i) {
    std::fill_n(histogram_.data() + std::int64_t{bins[i]} * n_classes_, n_classes_, 0);
    bin_rows_[bins[i]] = 0;
  }
  return n > 1;
}

void ColumnScorer::score_bins(const NodeTotals& totals, const std::int32_t* bins, int n, BestCut& best) {
  std::fill(left_.begin(), left_.end(), 0);
  std::int64_t n_rows = 0, left_rows = 0;
  for (int i = 0; i < n; ++i) n_rows += bin_rows_[bins[i]];
  const CutRules rules = rules_.cut_rules();
  for (int i = 0; i + 1 < n; ++i) {
    const std::int32_t* bin = histogram_.data() + std::int64_t{bins[i]} * n_classes_;
    for (std::int32_t c = 0; c < n_classes_; ++c) left_[c] += bin[c];
    left_rows += bin_rows_[bins[i]];
    if (left_rows < min_rows_ || n_rows - left_rows < min_rows_) continue;
    const double score = as_sklearn_ ? sklearn_score(totals)
                                     : cut_score(rules, n_classes_, totals.counts, totals.drawn,
                                                 [this](std::int32_t c) { return left_[c]; });
    if (score > best.score) best = {score, best.feature, bins[i], bins[i + 1]};
  }
}

// Of the cut with left_ on the left.
double ColumnScorer::sklearn_score(const NodeTotals& totals) const {
  const auto left = [this](std::int32_t c) { return rules_.weight_of(c) * left_[c]; };
  const auto total = [&](std::int32_t c) { return rules_.weight_of(c) * totals.counts[c]; };
  double left_weight = 0, right_weight = 0;
  for (std::int32_t c = 0; c < n_classes_; ++c) left_weight += left(c), right_weight += total(c) - left(c);
  const double least = rules_.min_weight_leaf;
  if (!(left_weight > 0) || !(right_weight > 0) || left_weight < least || right_weight < least) return kRefusedCut;
  return sklearn_class_score(rules_.entropy, n_classes_, left_weight, right_weight, total, left);
}

}  // namespace kedge::engine
