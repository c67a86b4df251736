// Scoring the cuts of one column in one node: the portable code.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/cpu/trees/trees_rows.h"
#include "engine/backend/host/tree_draft.h"

namespace kedge::engine {

// One column of one node. `uncommon` names the rows (by position in `rows`) whose code is not the common bin; null means all of them.
struct NodeColumn {
  const TreeRow* rows;
  std::uint32_t n_rows;
  const std::uint32_t* uncommon;
  std::uint32_t n_uncommon;
  ColumnCodes codes;
};

// What is the same for all columns of a node.
struct NodeTotals {
  const std::int32_t* counts;   // by class
  std::int32_t n_classes;
  std::int64_t drawn;           // sum of counts
  std::int64_t squares;         // sum of their squares
};

// The best cut so far: rows with code <= left_bin on one side, right_bin is the next bin that the node has.
struct BestCut {
  double score = -1e300;
  std::int32_t feature = -1;
  int left_bin = 0, right_bin = 0;
};

// Takes the column's best cut if it beats `best` (the lowest of equal cuts); returns whether the column has two values in the node.
class ColumnScorer {
 public:
  ColumnScorer(std::int32_t n_classes, const ForestOptions& options, const TreeRules& rules);
  bool score(const NodeColumn& column, const NodeTotals& totals, BestCut& best);
  // Gini without weights or limits, as gini_score() has it.
  bool is_plain() const { return exact_ && !as_sklearn_ && min_rows_ == 1 && !(rules_.min_weight_leaf > 0); }
  // Every cut has the same score or a lower one.
  bool is_perfect(const NodeTotals& totals, const BestCut& best) const {
    return as_sklearn_ ? best.score >= 0 : exact_ && best.score >= static_cast<double>(totals.drawn);
  }

 private:
  void add_common(std::int32_t common, std::uint32_t n_rows, const NodeTotals& totals);
  bool score_counts(const NodeTotals& totals, BestCut& best);
  void score_bins(const NodeTotals& totals, const std::int32_t* bins, int n, BestCut& best);
  double sklearn_score(const NodeTotals& totals) const;

  std::int32_t n_classes_;
  std::int64_t min_rows_;
  const TreeRules& rules_;
  bool exact_;   // gini without class weights: integers
  bool as_sklearn_;
  std::vector<std::int32_t> histogram_;   // 256 x n_classes_
  std::vector<std::int32_t> bin_rows_;    // 256
  std::vector<std::int32_t> left_;        // by class
};

}  // namespace kedge::engine
