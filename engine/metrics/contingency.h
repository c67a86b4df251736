// Which clusters of one labelling meet which of another, and how often.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kedge::engine {

// Labels renumbered 0, 1, ... in ascending order; any integers, noise (-1) is a label like the others.
struct Groups {
  std::vector<std::int32_t> of_row;
  std::vector<std::int64_t> sizes;   // rows of each
  std::int64_t n_groups() const { return static_cast<std::int64_t>(sizes.size()); }
};
// Linear where the labels span few integers, otherwise a sort.
Groups group_rows(std::span<const std::int32_t> labels);

// The pairs that occur, ordered by (true, pred).
struct Contingency {
  struct Cell {
    std::int32_t in_true, in_pred;
    std::int64_t rows;
  };
  std::vector<Cell> cells;
  std::vector<std::int64_t> true_sizes, pred_sizes;
  std::int64_t n_rows = 0;
};
// Memory: cells that occur; time linear in rows and in n_true x n_pred where that is small, otherwise a sort.
Contingency contingency(std::span<const std::int32_t> labels_true, std::span<const std::int32_t> labels_pred);

}  // namespace kedge::engine
