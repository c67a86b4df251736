// Running rows through a forest on the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/trees.h"

namespace kedge::engine {

// proba[i, :] = mean class shares of row i over the trees, summed in the order of the trees.
void predict_codes(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows, MatrixView<double> proba,
                   int n_threads);
template <class T>
void predict_values(const Forest& forest, MatrixView<const T> X, MatrixView<double> proba, int n_threads);

// votes (n x n_classes) receives summed shares of the trees that did not draw the row at that position of `rows`.
void predict_out_of_bag(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                        const ForestOptions& options, std::vector<double>& votes, int n_threads);

}  // namespace kedge::engine
