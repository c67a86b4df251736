// Running rows through a forest on the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// out[i, :] = mean outputs of the trees for row i, summed in the order of the trees.
void predict_codes(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows, MatrixView<double> out,
                   int n_threads);
template <class T>
void predict_values(const Forest& forest, MatrixView<const T> X, MatrixView<double> out, int n_threads);

// As TreeOps::out_of_bag().
OutOfBag predict_out_of_bag(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                            const ForestOptions& options, int n_threads);

}  // namespace kedge::engine
