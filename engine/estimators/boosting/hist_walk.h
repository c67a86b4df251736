// The trees of histogram gradient boosting as a device walks them itself.
#pragma once

#include <memory>
#include <span>

#include "engine/backend/host/boost_forest.h"
#include "engine/backend/ops/tree_walk.h"
#include "engine/estimators/boosting/hist_columns.h"

namespace kedge::engine {

// On the device that `ops` is of, for rows of one type; sums begin with the baseline. O(nodes).
std::unique_ptr<const ReadyWalk> ready_walk(TreeWalkOps& ops, const BoostForest& forest,
                                            std::span<const double> baseline, WalkCells cells);

// How the cells of X become codes of the forest's categories: by their numbers, or, where a column is nominal, by the
// names of its categories.
template <class T>
CellKeys category_keys(const Samples<T>& X, const HistCategories& fitted, const BoostForest& forest);

}   // namespace kedge::engine
