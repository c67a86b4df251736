// Regression trees of gradient boosting: every cut of every column, columns drawn as scikit-learn draws them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// The rows of a fit by column, sorted once for all trees. Values are float32, as scikit-learn's trees read them. n <
// 2^31.
struct StageColumns {
  struct Cell {
    float value;
    std::uint32_t row;
  };
  std::int64_t n_rows = 0, n_cols = 0;
  std::vector<Cell> sorted;    // n_cols x n_rows, each column ascending
  std::vector<float> values;   // n_rows x n_cols

  // values: n_rows x n_cols. O(n_cols * n_rows * log(n_rows)).
  StageColumns(std::vector<float> values, std::int64_t n_rows, std::int64_t n_cols, int n_threads);
};

struct StageRules {
  std::int64_t max_depth = 3, min_samples_split = 2, min_samples_leaf = 1, max_features = 1;
  std::int64_t max_leaf_nodes = 0;   // 0: no limit; otherwise grown best first
  double min_weight_leaf = 0, min_impurity_decrease = 0;
};

// Node of the leaf that each of these rows (n_cols values each) reaches in the only tree of a forest.
std::vector<std::int32_t> leaves_of(const Forest& tree, std::span<const float> values);

// One tree after another on the same rows, by squared errors. The tree is scikit-learn's for the same seed: columns are
// drawn as there, and sums are taken in the same order, so that rounding decides between equal cuts as it does there
// (unless rows have equal values). Not thread safe; takes n_threads for the columns of large nodes.
class StageGrower {
 public:
  StageGrower(const StageColumns& columns, int n_threads) : columns_(columns), n_threads_(n_threads) {}

  // y and weights: one for each row; rows of weight 0 are left out. min_weight_leaf is a weight.
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
  struct Cut {
    double score, threshold = 0;
    std::int32_t feature = -1;
    std::int64_t n_left = 0;
  };
  struct Split {   // of a node, as far as it is found
    bool is_leaf = true;
    double improvement = 0, left_impurity = 0, right_impurity = 0;
    Cut cut;
    std::int64_t n_constant = 0;
    std::int32_t last_column = -1;   // that was looked at
  };

  void start(std::span<const double> y, std::span<const double> weights);
  void grow_depth_first();
  void grow_best_first();
  std::int32_t add_node(Range range, std::int64_t depth, std::int64_t n_constant, double impurity);
  Split split(std::int32_t node);
  void make_children(std::int32_t node, const Split& split);
  std::vector<std::int32_t> draw_columns(Range range, std::int64_t& n_constant);
  Cut best_cut(std::int32_t column, Range range, double sum, double weight) const;
  void mark(Range range, const Cut& cut);   // sets goes_left_
  void order_rows(Range range, const Split& split);
  void judge(const Node& node, Split& found) const;
  void part_lists(Range range, const Cut& cut);
  Forest finish() const;
  StageColumns::Cell* list(std::int64_t column) { return lists_.data() + column * n_listed_; }
  const StageColumns::Cell* list(std::int64_t column) const { return lists_.data() + column * n_listed_; }
  std::uint32_t next_word();

  const StageColumns& columns_;
  int n_threads_;
  StageRules rules_;
  std::span<const double> y_, weights_;
  bool are_equal_ = false;   // the weights of all listed rows are 1
  std::uint32_t word_ = 0;
  double total_weight_ = 0;
  std::int64_t n_listed_ = 0;
  std::vector<StageColumns::Cell> lists_, moved_;   // rows of weight above 0, by column and node
  std::vector<std::uint32_t> order_;                // the same by node
  std::vector<std::uint8_t> goes_left_;
  std::vector<std::int32_t> features_, constant_;
  std::vector<double> weighted_, reciprocal_;   // w y by row; 1 / i
  std::vector<Node> nodes_;
};

}   // namespace kedge::engine
