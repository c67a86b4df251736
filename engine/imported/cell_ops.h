// The operations of a program on a block of rows, but for trees.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/imported/cell_program.h"

namespace kedge::engine {

// Columns of a block of rows, each of them together.
struct CellBlock {
  std::int64_t n_rows = 0;
  std::vector<double> cells;
  double* column(std::int64_t j) { return cells.data() + j * n_rows; }
};

// Columns out, out + 1, ... from the operation's inputs. Its numbers fit (columns_added()). Errors: kBadData.
void run_cells(const CellOp& op, CellBlock& block, std::int64_t out);

}   // namespace kedge::engine
