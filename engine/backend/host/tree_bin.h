// Binning on the host: values to bytes. Also used by the devices that leave binning to the host.
#pragma once

#include <vector>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// Fills codes (column-major, X.rows * X.cols bytes, host) and gives the edges. Columns with at most 256 distinct values are kept
// exactly, others are cut at 256 quantiles. Errors: kBadData on NaN, naming the cell.
template <class T>
BinEdges bin_columns(MatrixView<const T> X, std::uint8_t* codes, int n_threads);

}  // namespace kedge::engine
