// Scoring the cuts of one column in one node: the portable code, and the AVX-512 code that gives the same integers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/backend/cpu/trees_rows.h"
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

// A row off the common bin, of at most 16 classes: 16 x code + class in the upper half, how often it was drawn in the lower.
using CodedRow = std::uint32_t;

// One column of one node, its rows off the common bin already read.
struct CodedColumn {
  const CodedRow* coded;
  std::uint32_t n_coded, n_rows;
  std::int32_t common;
};

// What is the same for all columns of a node.
struct NodeTotals {
  const std::int32_t* counts;   // by class
  std::int32_t n_classes;
  std::int64_t drawn;           // sum of counts
  std::int64_t squares;         // sum of their squares
  bool wide = false;            // the AVX-512 code applies: ColumnScorer::is_wide()
};

// The best cut so far: rows with code <= left_bin on one side, right_bin is the next bin that the node has.
struct BestCut {
  double score = -1e300;
  std::int32_t feature = -1;
  int left_bin = 0, right_bin = 0;
};

// --- AVX-512; call only where wide_kernels_available() ---
bool wide_kernels_available();

// For each of n_features <= 64 columns the rows that are not at its common bin, in order: lists[k * list_stride + i], i < list_size[k].
// table.record_words <= 16, at most 16 classes, list_stride >= n.
void wide_code_rows(const BinnedTable& table, const TreeRow* rows, std::uint32_t n, const std::uint32_t* features, int n_features,
                    CodedRow* lists, std::int64_t list_stride, std::uint32_t* list_size);

// As part_rows().
std::uint32_t wide_part_rows(const ColumnCodes& codes, int left_bin, TreeRow* rows, std::uint32_t n, TreeRow* right,
                             std::int32_t* left_counts);

// Exact gini with at most 16 classes, totals.drawn < 65536 and each class below 32768; any number of rows left and right.
struct WideScratch;
class WideScorer {
 public:
  WideScorer();
  ~WideScorer();
  WideScorer(WideScorer&&) noexcept;
  bool score(const CodedColumn& column, const NodeTotals& totals, BestCut& best);   // as ColumnScorer::score

  // For large nodes: counts the rows in kSweep columns (codes by row number) at once; each is then scored.
  static constexpr int kSweep = 4;
  void sweep(const TreeRow* rows, std::uint32_t n, const std::uint8_t* const* codes);
  bool score_swept(int column, const NodeTotals& totals, BestCut& best);

 private:
  std::unique_ptr<WideScratch> scratch_;
};

// Takes the column's best cut if it beats `best` (the lowest of equal cuts); returns whether the column has two values in the node.
class ColumnScorer {
 public:
  ColumnScorer(std::int32_t n_classes, const ForestOptions& options, const TreeRules& rules);
  bool score(const NodeColumn& column, const NodeTotals& totals, BestCut& best);
  bool score(const CodedColumn& column, const NodeTotals& totals, BestCut& best);
  // The AVX-512 code applies to this node.
  bool is_wide(const NodeTotals& totals) const {
    return wide_ && totals.drawn < 65536 && *std::max_element(totals.counts, totals.counts + totals.n_classes) < 32768;
  }
  WideScorer& wide() { return wide_scorer_; }
  // Every cut has the same score or a lower one.
  bool is_perfect(const NodeTotals& totals, const BestCut& best) const {
    return exact_ && best.score >= static_cast<double>(totals.drawn);
  }

 private:
  void add_common(std::int32_t common, std::uint32_t n_rows, const NodeTotals& totals);
  bool score_counts(const NodeTotals& totals, BestCut& best);
  void score_bins(const NodeTotals& totals, const std::int32_t* bins, int n, BestCut& best);

  std::int32_t n_classes_;
  std::int64_t min_rows_;
  const TreeRules& rules_;
  bool exact_;   // gini without class weights: integers
  bool wide_;    // the AVX-512 code applies
  std::vector<std::int32_t> histogram_;   // 256 x n_classes_
  std::vector<std::int32_t> bin_rows_;    // 256
  std::vector<std::int32_t> left_;        // by class
  WideScorer wide_scorer_;
  std::vector<CodedRow> coded_;
};

}  // namespace kedge::engine
