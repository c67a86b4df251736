// Regression trees of gradient boosting: every cut of every column, columns drawn as scikit-learn draws them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/ops/trees.h"
#include "engine/estimators/boosting/stage_columns.h"
#include "engine/estimators/boosting/stage_cuts.h"

namespace kedge::engine {

// leaves: of each of these rows (n_cols values each) the node of the leaf that it reaches in the only tree of a forest.
void put_leaves(const Forest& tree, std::span<const float> values, std::span<std::int32_t> leaves);

// One tree after another on the same rows, by squared errors. The tree is scikit-learn's for the same seed: columns are
// drawn as there, and sums are taken in the same order, so that rounding decides between equal cuts as it does there
// (unless rows have equal values). Not thread safe; growers on the same columns may run at the same time.
class StageGrower {
 public:
  // team: for the columns of large nodes; null: one thread.
  StageGrower(const StageColumns& columns, StepTeam* team) : columns_(columns), team_(team), cuts_(columns) {}

  // y and weights: one for each row; rows of weight 0 are left out. min_weight_leaf is a weight. The same bits with any
  // team.
  Forest grow(std::span<const double> y, std::span<const double> weights, const StageRules& rules, std::uint32_t seed);

 private:
  struct Range {
    std::int64_t begin = 0, end = 0;
    std::int64_t size() const { return end - begin; }
  };
  struct Node {
    std::int32_t feature = -1, left = -1, right = -1;
    std::int64_t depth = 0;
    double threshold = -2, sum = 0, squares = 0, impurity = 0, weight = 0;
    Range range;
    std::int64_t n_constant = 0;   // columns known not to vary, from its parent
  };
  struct Split {   // of a node, as far as it is found
    bool is_leaf = true;
    double improvement = 0, left_impurity = 0, right_impurity = 0;
    StageCut cut;
    std::int64_t n_constant = 0;
    std::int32_t last_column = -1;   // that was looked at
  };

  void start(std::span<const double> y, std::span<const double> weights);
  void grow_depth_first();
  void grow_best_first();
  std::int32_t add_node(Range range, std::int64_t depth, std::int64_t n_constant, double impurity);
  Split split(std::int32_t node);
  void make_children(std::int32_t node, const Split& split);
  void find_varying(Range range, std::int64_t n_constant);
  bool varies(std::int32_t column, Range range) const;
  void draw_columns(Range range, std::int64_t& n_constant);
  void find_cuts(Range range, const StageCuts::Node& node);
  void mark(Range range, const StageCut& cut);   // sets goes_left_
  void sort_rows(Range range, std::int32_t column);
  void order_rows(Range range, const Split& split);
  void judge(const Node& node, Split& found) const;
  void part_lists(Range range, const StageCut& cut);
  void part_rows(Range range);
  Forest finish() const;
  StepTeam* team_for(std::int64_t cells) const;   // null where they are too few
  std::int32_t coded(std::int32_t column) const { return columns_.coded[static_cast<std::size_t>(column)]; }
  std::span<const std::uint32_t> rows_of(Range range) const {
    return std::span(rows_).subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
  }
  // Of a listed column, from the first row of the node.
  const StageColumns::Cell* cells_of(std::int32_t column, Range range) const {
    return lists_.data() + columns_.listed[static_cast<std::size_t>(column)] * n_rows_ + range.begin;
  }
  std::uint32_t next_word();

  const StageColumns& columns_;
  StepTeam* team_;
  StageCuts cuts_;
  StageRules rules_;
  std::span<const double> y_, weights_;
  std::uint32_t word_ = 0;
  double total_weight_ = 0;
  std::int64_t n_rows_ = 0;                         // of weight above 0
  std::vector<StageColumns::Cell> lists_, moved_;   // those rows by listed column and node; scratch of each worker
  std::vector<std::uint32_t> rows_, moved_rows_;    // by node, ascending, where there are coded columns; scratch
  std::vector<std::uint32_t> order_;                // by node, as scikit-learn has them
  std::vector<std::uint64_t> varies_;   // of the node that is split: bytes by coded column, 0: its rows agree
  std::vector<std::uint8_t> goes_left_;
  std::vector<std::int32_t> features_, constant_;
  std::vector<double> weighted_;        // w y by row
  std::vector<StageCut> found_;         // by column that the node has drawn
  std::vector<std::int32_t> by_kind_;   // places in found_, those of listed columns first
  std::vector<Node> nodes_;
};

}   // namespace kedge::engine
