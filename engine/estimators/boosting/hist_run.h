// The iterations of histogram gradient boosting, on the device where it takes them, else on the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/backend/host/boost_node.h"
#include "engine/backend/host/boost_table.h"
#include "engine/backend/ops/boosting.h"
#include "engine/core/context.h"
#include "engine/estimators/boosting/hist_columns.h"

namespace kedge::engine {

// Rows that are fitted, and those that validate, with what belongs to them.
template <class T>
struct HistFit {
  HistRows<T>* X = nullptr;
  std::span<const std::int32_t> rows, validation;   // of X; rows: empty: all; validation: empty: none
  BoostBinning binning;
  const std::vector<std::vector<double>>* categories = nullptr;   // by column
  BoostTarget target, validation_target;
};

// Starts boosting; the same trees wherever they grow. Borrows the rows of X, what the targets view, and the rules.
// Errors: kCancelled.
template <class T>
std::unique_ptr<BoostRun> start_run(const Context& ctx, const HistFit<T>& fit, const BoostRules& rules,
                                    std::span<const double> baseline);

}   // namespace kedge::engine
