// The trees of histogram gradient boosting as a device walks them itself.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/backend/host/boost_forest.h"
#include "engine/backend/ops/tree_shap.h"
#include "engine/backend/ops/tree_walk.h"
#include "engine/estimators/boosting/hist_columns.h"

namespace kedge::engine {

// On the device that `ops` is of, for rows of one type; sums begin with the baseline. O(nodes).
std::unique_ptr<const ReadyWalk> ready_walk(TreeWalkOps& ops, const BoostForest& forest,
                                            std::span<const double> baseline, WalkCells cells);

// The same as contributions read them.
ShapTrees shap_trees(const BoostForest& forest, const std::vector<double>& baseline);

// How the cells of X become codes of the forest's categories: by their numbers, or, where a column is nominal, by the
// names of its categories.
template <class T>
CellKeys category_keys(const Samples<T>& X, const HistCategories& fitted, const BoostForest& forest);
// Cells of rows (row-major) by their codes, as a device reads them.
void read_codes(const CellKeys& keys, std::int64_t n_cols, std::vector<double>& cells);

}   // namespace kedge::engine
