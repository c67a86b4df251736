// The best cut of a column in one node of a tree of gradient boosting.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/estimators/boosting/stage_columns.h"

namespace kedge::engine {

struct StageRules {
  std::int64_t max_depth = 3, min_samples_split = 2, min_samples_leaf = 1, max_features = 1;
  std::int64_t max_leaf_nodes = 0;   // 0: no limit; otherwise grown best first
  double min_weight_leaf = 0, min_impurity_decrease = 0;
};

struct StageCut {
  double score = -std::numeric_limits<double>::infinity(), threshold = 0;
  std::int32_t feature = -1;
  std::int64_t n_left = 0;   // 0: there is none
  std::int32_t code = -1;    // of a coded column: the last one on the left
};

// Searches by squared errors. Of equal cuts of a column the first counts.
class StageCuts {
 public:
  static constexpr std::int64_t kMostTogether = 16;   // coded columns of a call

  struct Node {
    double sum, weight;   // of w y, and of w
  };

  explicit StageCuts(const StageColumns& columns)
      : columns_(columns), sums_(columns.values.size()), weights_of_codes_(columns.values.size()) {}

  // For the rows that the calls after it name: their w y and w, which it borrows. are_equal: every w is 1.
  void start(std::span<const double> weighted, std::span<const double> weights, bool are_equal, std::int64_t n_rows,
             const StageRules& rules);
  // Of a listed column; cells: the node's.
  StageCut of_list(std::int32_t column, std::span<const StageColumns::Cell> cells, const Node& node) const;
  // Of coded columns, cuts[k].feature for each k in `places`, into cuts[k]. rows: the node's. Calls for different
  // columns may run at the same time. O(rows) a column.
  void of_codes(std::span<const std::int32_t> places, std::span<const std::uint32_t> rows, const Node& node,
                std::span<StageCut> cuts);

 private:
  using Sum = double __attribute__((vector_size(16)));   // of w y, and the number of rows

  bool improves(double left, double left_weight, std::int64_t n_left, std::int64_t n, const Node& node,
                double& best) const;
  void sum_up(std::span<const std::int32_t> columns, std::span<const std::uint32_t> rows);
  StageCut of_sums(std::int32_t column, std::int64_t n, const Node& node) const;
  StageCut of_few(std::int32_t column, std::span<const std::uint32_t> rows, const Node& node) const;

  const StageColumns& columns_;
  std::span<const double> weighted_, weights_;
  bool are_equal_ = false;
  StageRules rules_;
  std::vector<double> reciprocal_;         // 1 / i
  std::vector<Sum> sums_;                  // by code of each coded column
  std::vector<double> weights_of_codes_;   // the same of w, where they are not equal
};

}   // namespace kedge::engine
