// What each column contributes to the answer of trees: Shapley values, path-dependent and interventional.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/backend/ops/tree_shap.h"

namespace kedge::engine {

// Rows go through a tree side by side, so many at once.
inline constexpr std::int64_t kShapLanes = 32;

// Cells of rows (n_rows x n_cols, row-major), in blocks of kShapLanes rows, within a block column after column; the
// last block is filled with zeros.
class ShapCells {
 public:
  ShapCells(const std::vector<double>& rows, std::int64_t n_rows, std::int64_t n_cols);
  std::int64_t n_rows() const { return n_rows_; }
  // kShapLanes cells: those of a column in a block.
  const double* column(std::int64_t block, std::int64_t column) const {
    return cells_.data() + (block * n_cols_ + column) * kShapLanes;
  }

 private:
  std::int64_t n_rows_, n_cols_;
  std::vector<double> cells_;
};

// For each cut among the nodes [begin, end) and each row of the block: goes_left[(node - begin) * kShapLanes + lane]
// becomes 1 where the row goes left, otherwise 0. Called on several threads.
using ShapDirections =
    std::function<void(std::int64_t block, std::int64_t begin, std::int64_t end, std::uint8_t* goes_left)>;

// Of these cells by the cuts of the trees. Borrows both.
ShapDirections shap_directions(const ShapTrees& trees, const ShapCells& cells);

// n_rows x n_outputs x (n_cols + 1), the last of each the expected answer; their sum is the answer to the row. A row of
// which a column is unknown goes both ways, by the share of the cover. Exact to rounding where a path has at most 64
// different columns. O(rows * nodes * columns on a path / 2), on all threads; the same bits on any number of them.
// Errors: kCancelled. Sources: Lundberg, Erion, Lee, "Consistent individualized feature attribution for tree
// ensembles", 2018; Yu, Bifet, Read, Xu, "Linear TreeShap", NeurIPS 2022.
std::vector<double> tree_contributions(const ShapTrees& trees, std::int64_t n_rows, const ShapDirections& directions);

// Numbers of interactions that are answered at once, because they grow with the square of the columns: 61 MiB.
inline constexpr std::int64_t kMostInteractions = 8'000'000;
// Errors: kInvalidValue, at "rows", with the numbers.
void require_few_interactions(std::int64_t n_rows, double numbers_a_row);

// The same, divided among pairs of columns: n_rows x n_outputs x (n_cols x n_cols + 1), the last of each the expected
// answer. The matrix is symmetric. Off its diagonal is half of the pair's Shapley interaction index, on it what is left
// of the column's contribution, so that a row of it adds up to that. Exact as above.
// O(rows * nodes * depth * columns on a path / 2). Errors: kInvalidValue for more than kMostInteractions; as above.
// Source: Lundberg, Erion, Lee, as above.
std::vector<double> tree_interactions(const ShapTrees& trees, std::int64_t n_rows, const ShapDirections& directions);

// Rows that contributions are counted against. At least one.
struct ShapBackground {
  std::int64_t n_rows = 0;
  ShapDirections directions;   // of its rows
};

// The same, interventional: a column that is not known has the cell of a background row, and the contributions are the
// mean over these rows; the expected answer is the mean answer to them. Exact to rounding. The time grows with the
// rows, and at most with the background's as much; the same bits on any number of threads, and whichever rows are
// beside a row. Errors: kInvalidValue for a path with more than 64 different columns, or a tree of more than 1,024
// levels; kCancelled. Source: Lundberg and others, "From local explanations to global understanding with explainable AI
// for trees", 2020.
std::vector<double> tree_contributions(const ShapTrees& trees, std::int64_t n_rows, const ShapDirections& directions,
                                       const ShapBackground& background);

// Rows whose contributions are asked for, row-major on the host, and those that they are counted against.
struct AskedCells {
  std::int64_t n_rows = 0;
  std::vector<double> rows;
  std::int64_t n_background = 0;   // 0: path-dependent
  std::vector<double> background = {};
  bool among_pairs = false;   // interactions; without a background
};
// One of the three, by the cuts of the trees.
std::vector<double> tree_contributions(const ShapTrees& trees, const AskedCells& asked);

}   // namespace kedge::engine
