// Columns as ranks: what exact trees are grown on.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// A "bin" for every distinct value (edges.low = edges.high), and for each cell the bin of its value, column-major.
struct RankedTable {
  BinEdges edges;
  std::vector<std::uint32_t> ranks;
};

// X in host memory, fewer than 2^31 rows. O(rows log(rows)) a column. Errors: kBadData on NaN, naming the cell.
template <class T>
RankedTable rank_columns(MatrixView<const T> X, int n_threads);

}  // namespace kedge::engine
