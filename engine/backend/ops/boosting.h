// Boosting on a device that has memory of its own: it keeps what grows with the rows and grows the trees itself.
#pragma once

#include <memory>
#include <span>

#include "engine/backend/host/boost_forest.h"
#include "engine/backend/host/boost_loss.h"
#include "engine/backend/host/boost_node.h"
#include "engine/backend/host/boost_table.h"
#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// What trees are fitted to, in host memory, borrowed.
struct BoostFit {
  const BoostTable* table = nullptr;
  const BoostRules* rules = nullptr;
  BoostTarget target;
  std::span<const double> baseline;         // by output: where raw predictions begin
  const BoostTable* validation = nullptr;   // codes of the rows that validate, by the same bins; null: none do
  BoostTarget validation_target;
};

// Mean losses of the rows that are fitted, and of those that validate: 0 without.
struct BoostLosses {
  double fitted = 0, validation = 0;
};

// Boosting under way. Not thread safe.
class BoostRun {
 public:
  virtual ~BoostRun() = default;
  // One iteration more: appends a tree for each output, whose leaves may have no values before finish(). Errors:
  // kBadData where derivatives are not finite; kCancelled.
  virtual void step(BoostForest& forest) = 0;
  virtual BoostLosses losses() = 0;
  // Writes the values of leaves that step() left open.
  virtual void finish(BoostForest& forest) = 0;
};

// Beside the TreeOps of a device that has memory of its own. Thread safety: one caller at a time.
class BoostOps {
 public:
  virtual ~BoostOps() = default;
  // Whether it takes such a fit. Left to the host: up to kFewBoostRows rows, losses without curvature, and trees of so
  // many leaves that their histograms would fill the device.
  virtual bool takes(BoostLoss loss, std::int64_t n_rows, std::int64_t n_cols, const BoostRules& rules) const = 0;
  // The trees of host/booster.h, bit for bit. Borrows the rules; copies the table and the targets to the device.
  virtual std::unique_ptr<BoostRun> start(const BoostFit& fit) = 0;
};

// Null where trees grow in the host's memory by its own code.
inline BoostOps* boost_ops(TreeOps& trees) {
  return dynamic_cast<BoostOps*>(&trees);
}

}   // namespace kedge::engine
